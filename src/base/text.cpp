#include "base/text.h"

#include <charconv>

namespace hgemm {

std::optional<std::int64_t> find_number(std::string_view text) {
  if (text.empty() || text[0] == '-') return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> find_small_number(std::string_view text) {
  constexpr std::int64_t kMost = 9999;
  const auto number = find_number(text);
  if (!number || *number > kMost) return std::nullopt;
  return static_cast<int>(*number);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace hgemm
