// Width of text on a terminal, and breaking of text into lines that fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// Width in terminal cells: 2 for wide characters (CJK), 0 for combining ones. The text must be
/// UTF-8 without control characters (base/text.h: one_line).
std::size_t display_width(std::string_view text);

/// Breaks the text into lines of at most `width` cells (at least 1). It breaks at a space, which is
/// dropped. A longer word is broken before a dot or after a comma or slash, or else anywhere.
/// Returns at least one line.
std::vector<std::string> lines_of(std::string_view text, std::size_t width);

/// Breaks every line that is too long, as lines_of() does. Continuation lines have the indentation
/// of their line plus two, or less where a word, as a label, would not fit otherwise.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace hgemm
