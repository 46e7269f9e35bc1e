// Words and numbers in text that people write.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hgemm {

/// Decimal digits and nothing else; nullopt also if the number does not fit.
std::optional<std::int64_t> find_number(std::string_view text);
/// The same for a number of at most four digits: every number of a config has at most four.
std::optional<int> find_small_number(std::string_view text);

/// ASCII letters and digits only, whatever the locale.
constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// `text` in double quotes, fit for one line of an error message.
std::string in_quotes(std::string_view text);

/// `text` with "?" for each byte that is not UTF-8 and for each control character except line
/// breaks and tabs: safe to show on a terminal.
std::string printable(std::string_view text);
/// The same on one line: line breaks and tabs become "?" too.
std::string one_line(std::string_view text);
/// Whether `text` can be shown unchanged on one line: UTF-8 without control characters.
bool is_one_line(std::string_view text);

/// A value of an enumeration with its spelling.
template <class Value>
struct Word {
  std::string_view text;
  Value value;
};
template <class Value>
Word(std::string_view, Value) -> Word<Value>;  // clang 16 does not deduce it without this guide
/// The value whose spelling is `text`, or nullopt.
template <class Words>
auto find_word(const Words& words, std::string_view text)
    -> std::optional<decltype(std::begin(words)->value)> {
  for (const auto& word : words) {
    if (word.text == text) return word.value;
  }
  return std::nullopt;
}
/// The spelling of a value; "?" for a value outside its enumeration.
template <class Words, class Value>
std::string_view word_of(const Words& words, const Value& value) {
  for (const auto& word : words) {
    if (word.value == value) return word.text;
  }
  return "?";
}

}  // namespace hgemm
