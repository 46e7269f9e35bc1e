// A table of text cells, laid out for a terminal or as Markdown.
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/style.h"

namespace hgemm {

enum class Tone { kPlain, kGood, kBad };

struct Cell {
  Cell(std::string text = "", Tone tone = Tone::kPlain) : text(std::move(text)), tone(tone) {}
  Cell(std::string_view text) : text(text) {}
  Cell(const char* text) : text(text) {}

  std::string text;
  Tone tone = Tone::kPlain;
};

struct Table {
  using Row = std::vector<Cell>;

  /// How a column gives way where a row is too long for the terminal.
  enum class Fit {
    kWhole,    ///< it is there or left out
    kWrapped,  ///< its cells may go on in further lines
    kBelow,    ///< its cells may have a line of their own below the row
  };

  /// Ranks below this one are what the table is for: before one of them is left out, columns go
  /// below their rows.
  static constexpr int kOptional = 10;
  static constexpr int kByPlace = -1;

  struct Column {
    std::string name;
    bool right = true;
    Fit fit = Fit::kWhole;
    int rank = kByPlace;     ///< the highest is left out first, 0 never; kByPlace: from the right
    std::string key = "";    ///< for --columns and --sort; empty: the name's letters and digits
    std::string group = "";  ///< a heading over neighbouring columns of the same group
  };

  /// A row about others, set apart below them. Its title has the room of the cells that are empty.
  struct Summary {
    std::string title{};
    Row cells{};
  };

  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Summary> summaries{};
};

/// What --columns and --sort call a column: its key, or its name as "time_us" of "time us".
std::string column_key(const Table::Column& column);

/// Throws InputError that names the nearest known one, and all. `option` is "--columns".
[[noreturn]] void throw_unknown_column(std::string_view option, const std::string& name,
                                       std::span<const std::string> known);

/// As people read them: "8x8" before "16x16".
std::strong_ordering in_natural_order(std::string_view a, std::string_view b);

/// Prose, or a table that is laid out already.
struct Piece {
  Piece(std::string prose) : text(std::move(prose)) {}
  Piece(const char* prose) : text(prose) {}

  std::string text;
  bool is_table = false;
  std::vector<std::string> left_out{};  ///< keys of columns that there was no room for
};

/// Cells may be free text (output/escape.h); Markdown shows it as it is, but for `code`. With
/// columns or a sort that the table does not have: InputError.
Piece render(const Table& table, const Style& style);

/// What people read, piece by piece; each ends with a newline. Markdown separates them by blank
/// lines. Elsewhere no line is longer than the style's width, and a last one says which columns
/// are left out.
std::string joined(std::span<const Piece> pieces, const Style& style);

}  // namespace hgemm
