// C++ sources as text: what a compiler does not see of them, and what they include.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// The text without comments and with each run of white space as one space, but for what is quoted:
/// what the compiler makes of it, line tables apart, is the same.
std::string without_comments(std::string_view text);

/// Names in #include "...", in the order of the text; a comment may show an include, which counts
/// for nothing.
std::vector<std::string> included_by(std::string_view text);

}  // namespace hgemm
