// How much room text takes on a terminal, and lines that fit one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// Cells of a terminal: 2 for wide characters (CJK), 0 for combining ones. The text is UTF-8
/// without control characters (base/text.h: one_line).
std::size_t display_width(std::string_view text);

/// The text in lines of at most `width` cells (at least 1): broken at a space, which is left out;
/// in a word that is longer, before a dot or after a comma or slash; and else anywhere. At least
/// one line.
std::vector<std::string> lines_of(std::string_view text, std::size_t width);

/// Every line of the text that is too long, broken in the same way; what goes on in the next line
/// is indented as the line is, and two more.
std::string wrapped(std::string_view text, std::size_t width);

}  // namespace hgemm
