#include "base/text.h"

#include <algorithm>
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

namespace {

/// Number of bytes of the UTF-8 character at the start of `text`; 0 if there is no valid one, or if
/// it is a control character.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f;
  const std::size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < size) return 0;
  char32_t code = byte(0) & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_control = code < 0xa0;
  // Bidirectional control characters: they would make a line read differently from its bytes.
  const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  const bool is_character = code >= kLeast[size] && code <= 0x10ffff && !is_surrogate;
  return is_character && !is_control && !turns ? size : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const bool breaks = text[0] == '\n' || text[0] == '\t';
    const std::size_t size = breaks ? 1 : character_bytes(text);
    if (size == 0) {
      result += '?';
      text.remove_prefix(1);
    } else {
      result += text.substr(0, size);
      text.remove_prefix(size);
    }
  }
  return result;
}

std::string one_line(std::string_view text) {
  std::string line = printable(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, '?');
  return line;
}

bool is_one_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = character_bytes(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  return '"' + one_line(text.substr(0, kLongest)) + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace hgemm
