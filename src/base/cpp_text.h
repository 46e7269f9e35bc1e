// C++ sources as text: removes what a compiler ignores, and finds what they include.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// The text without comments and with each run of white space as one space, except in string and
/// character literals. The compiler makes the same code of it, apart from line tables.
std::string without_comments(std::string_view text);

/// Names in #include "...", in the order of the text. An include inside a comment does not count.
std::vector<std::string> included_by(std::string_view text);

}  // namespace hgemm
