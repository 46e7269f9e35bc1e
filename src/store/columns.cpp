#include "store/columns.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace hgemm::sql {
namespace {

using SQLite::Statement;

bool is_name(std::string_view text) {
  constexpr std::string_view kMarks = " -_.+*/:,%=@#()[]";
  return std::ranges::all_of(text, [&](char c) {
    return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos;
  });
}

bool is_uid(std::string_view text) {
  return text.size() == 32 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

bool is_time(std::string_view text) {
  constexpr std::string_view kPattern = "dddd-dd-ddTdd:dd:ddZ";
  return std::ranges::equal(text, kPattern, [](char c, char pattern) {
    return pattern == 'd' ? c >= '0' && c <= '9' : c == pattern;
  });
}

bool fits(std::string_view text, Form form) {
  if (text.size() > most_bytes(form)) return false;
  switch (form) {
    case Form::kName:
      return is_name(text);
    case Form::kLabel:
      return !text.empty() && is_name(text);
    case Form::kUid:
      return is_uid(text);
    case Form::kTime:
      return is_time(text);
    case Form::kLine:
      return is_one_line(text);
    case Form::kText:
      return printable(text) == text;
  }
  return false;
}

std::string_view in_words(Form form) {
  switch (form) {
    case Form::kName:
    case Form::kLabel:
      return "a name (letters, digits and a few marks)";
    case Form::kUid:
      return "32 hexadecimal digits";
    case Form::kTime:
      return "a time such as 2026-01-31T12:00:00Z";
    case Form::kLine:
      return "one line of text without control characters";
    case Form::kText:
      return "text without control characters";
  }
  return "a text";
}

[[noreturn]] void refuse(const char* column, std::string_view value, std::string_view expected) {
  throw InputError(fmt::format("{} holds {}, which is not {}", column, value, expected));
}

/// A value as messages show it.
std::string shown(const Statement& row, int index) {
  const SQLite::Column value = row.getColumn(index);
  switch (value.getType()) {
    case SQLITE_NULL:
      return "nothing";
    case SQLITE_INTEGER:
      return fmt::format("{}", value.getInt64());
    case SQLITE_FLOAT:
      return fmt::format("{}", value.getDouble());
    case SQLITE_BLOB:
      return "a blob";
    default:
      return in_quotes(value.getString());
  }
}

int type_of(const Statement& row, int index) { return row.getColumn(index).getType(); }

}  // namespace

std::size_t most_bytes(Form form) {
  constexpr std::size_t kLongestLine = 64 << 10;   // a list of a thousand problems as arguments
  constexpr std::size_t kLongestText = 256 << 10;  // the output of a compiler for one kernel
  return form == Form::kLine ? kLongestLine : form == Form::kText ? kLongestText : 300;
}

std::string fitting(std::string_view text, Form form) {
  if (fits(text, form)) return std::string(text);
  // A character that is cut in half becomes "?".
  std::string fitted = printable(text.substr(0, most_bytes(form)));
  if (form == Form::kLine) {
    std::ranges::replace_if(
        fitted, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  }
  return fitted;
}

const std::string& recordable(const std::string& text, const char* column, Form form) {
  if (fits(text, form)) return text;
  throw Error(fmt::format("{} cannot be recorded as {}: it is not {}", in_quotes(text), column,
                          in_words(form)));
}

std::int64_t row_id(const Statement& row, int index) {
  return integer64(row, index, "an id", kAnyInteger);
}

bool is_null(const Statement& row, int index) { return row.getColumn(index).isNull(); }

std::string text(const Statement& row, int index, const char* column, Form form) {
  if (type_of(row, index) != SQLITE_TEXT) refuse(column, shown(row, index), in_words(form));
  std::string value = row.getColumn(index).getString();
  if (!fits(value, form)) {
    const bool is_long = value.size() > most_bytes(form);
    refuse(column, is_long ? fmt::format("{} bytes", value.size()) : in_quotes(value),
           is_long ? "text of that length" : in_words(form));
  }
  return value;
}

bool flag(const Statement& row, int index, const char* column) {
  return integer(row, index, column, {0, 1}) != 0;
}

int integer(const Statement& row, int index, const char* column, Range<int> range) {
  return static_cast<int>(integer64(row, index, column, {range.least, range.most}));
}

std::int64_t integer64(const Statement& row, int index, const char* column,
                       Range<std::int64_t> range) {
  const bool is_number = type_of(row, index) == SQLITE_INTEGER;
  const std::int64_t value = is_number ? row.getColumn(index).getInt64() : 0;
  if (!is_number || value < range.least || value > range.most) {
    refuse(column, shown(row, index),
           fmt::format("a whole number from {} to {}", range.least, range.most));
  }
  return value;
}

double real(const Statement& row, int index, const char* column, Range<double> range) {
  const int type = type_of(row, index);
  const bool is_number = type == SQLITE_FLOAT || type == SQLITE_INTEGER;
  const double value = is_number ? row.getColumn(index).getDouble() : 0;
  if (!is_number || !(value >= range.least && value <= range.most)) {
    refuse(column, shown(row, index),
           fmt::format("a number from {} to {}", range.least, range.most));
  }
  return value;
}

std::optional<std::int64_t> integer_or_none(const Statement& row, int index, const char* column,
                                            Range<std::int64_t> range) {
  if (is_null(row, index)) return std::nullopt;
  return integer64(row, index, column, range);
}

std::optional<double> real_or_none(const Statement& row, int index, const char* column,
                                   Range<double> range) {
  if (is_null(row, index)) return std::nullopt;
  return real(row, index, column, range);
}

double real_or_nan(const Statement& row, int index, const char* column, Range<double> range) {
  return real_or_none(row, index, column, range).value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace hgemm::sql
