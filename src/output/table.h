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

  /// What happens to a column if a row is too long for the terminal.
  enum class Fit {
    kWhole,    ///< shown as it is or left out
    kWrapped,  ///< its cells may wrap to further lines
    kBelow,    ///< its cells may move to a line of their own below the row
  };

  /// Ranks below this one mark the main columns of the table. Before one of them is left out,
  /// columns move below their rows.
  static constexpr int kOptional = 10;
  static constexpr int kByPlace = -1;

  struct Column {
    std::string name;
    bool right = true;
    Fit fit = Fit::kWhole;
    /// The highest rank is left out first, rank 0 never; kByPlace: from the right.
    int rank = kByPlace;
    std::string key = "";    ///< for --columns and --sort; empty: the name's letters and digits
    std::string group = "";  ///< a heading over neighbouring columns of the same group
  };

  /// A row that summarises others, set apart below them. Its title takes the space of the empty
  /// cells.
  struct Summary {
    std::string title{};
    Row cells{};
  };

  std::vector<Column> columns;
  std::vector<Row> rows;
  std::vector<Summary> summaries{};
};

/// Name of a column in --columns and --sort: its key, or else its name in the form "time_us" for
/// "time us".
std::string column_key(const Table::Column& column);

/// Throws InputError that names the nearest known name and lists all. `option` is the option's
/// name, e.g. "--columns".
[[noreturn]] void throw_unknown_column(std::string_view option, const std::string& name,
                                       std::span<const std::string> known);

/// Natural order: "8x8" before "16x16".
std::strong_ordering in_natural_order(std::string_view a, std::string_view b);

/// Prose, or a table with finished layout.
struct Piece {
  Piece(std::string prose) : text(std::move(prose)) {}
  Piece(const char* prose) : text(prose) {}

  std::string text;
  bool is_table = false;
  std::vector<std::string> left_out{};  ///< keys of the columns that did not fit
};

/// Lays out a table. Cells may be free text (output/escape.h). Markdown shows it literally, except
/// `code`. Throws InputError if the style names columns or a sort key that the table does not have.
Piece render(const Table& table, const Style& style);

/// Joins pieces to the text of an answer for people; each piece ends with a newline. Markdown
/// separates pieces by blank lines. In other formats no line is longer than the width of the style,
/// and a last line names the columns that are left out.
std::string joined(std::span<const Piece> pieces, const Style& style);

}  // namespace hgemm
