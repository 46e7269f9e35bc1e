#include "families/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace hgemm {
namespace {

[[noreturn]] void fail(std::string_view domain, std::string_view word) {
  throw std::logic_error(fmt::format("domain \"{}\": \"{}\" is no word or range", domain, word));
}

/// Removes and returns what is before the next separator.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

std::vector<std::string> domain_words(std::string_view domain) {
  std::vector<std::string> words;
  for (std::string_view rest = domain; !rest.empty();) {
    std::string_view word = cut(rest, ',');
    while (word.starts_with(' ')) word.remove_prefix(1);
    if (word.empty()) fail(domain, word);
    if (word.find(':') == word.npos) {
      words.emplace_back(word);
      continue;
    }
    std::string_view range = word;
    const auto start = find_small_number(cut(range, ':'));
    const auto end = find_small_number(cut(range, ':'));
    const auto step = find_small_number(range);
    if (!start || !end || !step || *step == 0 || *end < *start) fail(domain, word);
    for (int value = *start; value <= *end; value += *step) words.push_back(fmt::to_string(value));
  }
  return words;
}

}  // namespace hgemm
