#include "base/cpp_text.h"

#include <algorithm>
#include <cctype>

namespace hgemm {

std::string without_comments(std::string_view text) {
  std::string result;
  bool gap = false;  // white space or a comment was read since the last character
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const char c = rest.front();
    if (rest.starts_with("//")) {
      at += std::min(rest.find('\n'), rest.size());
      gap = true;
    } else if (rest.starts_with("/*")) {
      const auto end = rest.find("*/", 2);
      at += end == rest.npos ? rest.size() : end + 2;
      gap = true;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      // A directive ends with its line.
      if (c == '\n' && !result.empty() && result.back() != '\n') result += '\n';
      gap = c != '\n';
      ++at;
    } else {
      if (gap && !result.empty() && result.back() != '\n') result += ' ';
      gap = false;
      std::size_t end = 1;
      // A quote after a digit separates digits.
      const bool quotes =
          c == '"' ||
          (c == '\'' && !(at > 0 && std::isalnum(static_cast<unsigned char>(text[at - 1]))));
      if (quotes) {
        while (end < rest.size() && rest[end] != c) end += rest[end] == '\\' ? 2 : 1;
        end = std::min(end + 1, rest.size());
      }
      result += rest.substr(0, end);
      at += end;
    }
  }
  return result;
}

std::vector<std::string> included_by(std::string_view text) {
  constexpr std::string_view kInclude = "#include \"";
  const std::string code = without_comments(text);
  std::vector<std::string> names;
  for (auto at = code.find(kInclude); at != code.npos; at = code.find(kInclude, at)) {
    at += kInclude.size();
    names.emplace_back(code.substr(at, code.find('"', at) - at));
  }
  return names;
}

}  // namespace hgemm
