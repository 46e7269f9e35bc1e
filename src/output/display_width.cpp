#include "output/display_width.h"

#include <locale.h>
#include <clocale>
#include <cwchar>

#include <algorithm>

namespace hgemm {
namespace {

bool is_ascii(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return (c & 0x80) != 0; });
}

/// The C library knows the widths of characters only in a UTF-8 locale. This locale is part of it,
/// and its use has no effect outside this file. ASCII does not need it.
class Utf8 {
 public:
  explicit Utf8(std::string_view text) {
    if (is_ascii(text)) return;
    utf8_ = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8_ != nullptr) before_ = uselocale(utf8_);
  }
  ~Utf8() {
    if (utf8_ == nullptr) return;
    uselocale(before_);
    freelocale(utf8_);
  }
  Utf8(const Utf8&) = delete;
  Utf8& operator=(const Utf8&) = delete;

 private:
  locale_t utf8_ = nullptr;
  locale_t before_ = nullptr;
};

bool goes_on(char c) { return (c & 0xC0) == 0x80; }

struct Character {
  std::size_t bytes;
  std::size_t width;
};

/// The first character. A character that the locale does not know counts as one cell.
Character first_of(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && goes_on(text[bytes])) ++bytes;
  if (bytes == 1) return {1, 1};
  wchar_t wide = 0;
  std::mbstate_t state{};
  if (std::mbrtowc(&wide, text.data(), bytes, &state) != bytes) return {bytes, 1};
  const int width = wcwidth(wide);
  return {bytes, width < 0 ? 1 : static_cast<std::size_t>(width)};
}

/// Number of bytes on the first line of a text that is too wide.
std::size_t break_of(std::string_view text, std::size_t width) {
  std::size_t fits = 0;
  std::size_t used = 0;
  while (fits < text.size()) {
    const Character next = first_of(text.substr(fits));
    if (used + next.width > width && fits > 0) break;
    used += next.width;
    fits += next.bytes;
  }
  if (fits == text.size() || text[fits] == ' ') return fits;
  if (const auto space = text.rfind(' ', fits); space != text.npos && space > 0) return space;
  for (std::size_t at = fits; at > fits / 2; --at) {
    if (text[at] == '.' || text[at - 1] == ',' || text[at - 1] == '/') return at;
  }
  return fits;
}

std::vector<std::string> broken(std::string_view text, std::size_t first, std::size_t others) {
  std::vector<std::string> lines;
  std::size_t width = std::max<std::size_t>(first, 1);
  while (display_width(text) > width) {
    const std::size_t end = break_of(text, width);
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    width = std::max<std::size_t>(others, 1);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::size_t widest_word(std::string_view line) {
  std::size_t widest = 0;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    widest = std::max(widest, display_width(word));
    line.remove_prefix(std::min(line.size(), word.size() + 1));
  }
  return widest;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  if (is_ascii(text)) return text.size();
  const Utf8 locale(text);
  std::size_t width = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    width += next.width;
    text.remove_prefix(next.bytes);
  }
  return width;
}

std::vector<std::string> lines_of(std::string_view text, std::size_t width) {
  const Utf8 locale(text);
  return broken(text, width, width);
}

std::string wrapped(std::string_view text, std::size_t width) {
  const Utf8 locale(text);
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const bool ended = line.size() < text.size();
    text.remove_prefix(line.size() + (ended ? 1 : 0));
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    std::size_t hanging = std::min(indent + 2, width / 2);
    const std::size_t longest = widest_word(line);
    if (longest + indent <= width) hanging = std::min(hanging, width - longest);
    const std::string more(hanging, ' ');
    const auto lines = broken(line, width, width - std::min(width, more.size()));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      out += (i > 0 ? "\n" + more : "") + lines[i];
    }
    if (ended) out += '\n';
  }
  return out;
}

}  // namespace hgemm
