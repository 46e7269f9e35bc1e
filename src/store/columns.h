// Checked values of a row. Anyone who can write to a file can put any value into it, and these
// values go into scripts, headers and terminals. Internal to store.
//
// The readers throw InputError that names the column ("sample.time_us holds -5, ..."), but not the
// database: Store adds its name.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace hgemm::sql {

/// What a TEXT column may hold.
enum class Form : std::uint8_t {
  kName,   ///< at most 300 letters, digits, spaces and -_.+*/:,%=@#()[]: harmless wherever it goes
  kLabel,  ///< the same, and not empty
  kUid,    ///< 32 hexadecimal digits
  kTime,   ///< UTC, ISO 8601: 2026-01-31T12:00:00Z
  kLine,   ///< printable UTF-8 on one line
  kText,   ///< the same with line breaks and tabs
};
/// The largest size of a text of that form, in bytes.
std::size_t most_bytes(Form form);

/// Free text (kLine, kText) that fits its column: characters that may not be shown become "?", and
/// the rest is cut. Texts are recorded through this function, so that they can be read again.
std::string fitting(std::string_view text, Form form);
/// Returns `text` if its column may hold it. Names cannot be made to fit: throws Error that names
/// the column.
const std::string& recordable(const std::string& text, const char* column, Form form);

/// Numbers from `least` to `most`, both included.
template <class Number>
struct Range {
  Number least;
  Number most;
};
inline constexpr Range<int> kCount{0, std::numeric_limits<int>::max()};
inline constexpr Range<std::int64_t> kLongCount{0, std::int64_t{1} << 53};
inline constexpr Range<std::int64_t> kAnyInteger{std::numeric_limits<std::int64_t>::min(),
                                                 std::numeric_limits<std::int64_t>::max()};
inline constexpr Range<double> kTimeUs{1e-4, 1e12};  // to 11 days
inline constexpr Range<double> kSmMhz{0, 1e5};
inline constexpr Range<double> kPowerW{0, 1e5};
inline constexpr int kMostCalls = 1'000'000;  // that are timed one by one, and kernels of one

// ---- Readers of a row's values; `column` is "table.column" for messages ----

std::int64_t row_id(const SQLite::Statement& row, int index);
bool is_null(const SQLite::Statement& row, int index);

std::string text(const SQLite::Statement& row, int index, const char* column, Form form);
bool flag(const SQLite::Statement& row, int index, const char* column);
int integer(const SQLite::Statement& row, int index, const char* column, Range<int> range);
std::int64_t integer64(const SQLite::Statement& row, int index, const char* column,
                       Range<std::int64_t> range);
double real(const SQLite::Statement& row, int index, const char* column, Range<double> range);

std::optional<std::int64_t> integer_or_none(const SQLite::Statement& row, int index,
                                            const char* column, Range<std::int64_t> range);
std::optional<double> real_or_none(const SQLite::Statement& row, int index, const char* column,
                                   Range<double> range);
double real_or_nan(const SQLite::Statement& row, int index, const char* column,
                   Range<double> range);

/// The value that `parse` makes of a text. `parse` throws InputError for a text that it does not
/// know.
template <class Parse>
auto word(const SQLite::Statement& row, int index, const char* column, const Parse& parse) {
  const std::string value = text(row, index, column, Form::kName);
  try {
    return parse(value);
  } catch (const InputError& error) {
    throw InputError(std::string(column) + " holds " + in_quotes(value) + " (" + error.what() +
                     ")");
  }
}

}  // namespace hgemm::sql
