// How a command's answer is laid out: the format, and for people the width, columns, order, colour.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

enum class Format { kTable, kMarkdown, kJson, kCsv };
Format parse_format(std::string_view text);  ///< table | md | json | csv; throws InputError

/// Whether a program reads the format: then stdout is for the rows alone.
bool for_programs(Format format);

/// A column that rows are sorted by.
struct SortKey {
  std::string column;
  bool descending = false;
};

/// "COLUMN[:asc|desc][,...]", the first column decides first. Throws InputError.
std::vector<SortKey> parse_sort(std::string_view text);

struct Style {
  Style(Format format = Format::kTable) : format(format) {}

  bool markdown() const { return format == Format::kMarkdown; }

  Format format;
  /// Of the terminal, in characters: no line of a table or of prose is longer. None: whoever reads
  /// it has no such limit. Markdown has none.
  std::optional<std::size_t> width;
  bool all_columns = false;          ///< tables may be wider than `width`
  bool color = false;                ///< of tables for people; never in Markdown
  std::vector<std::string> columns;  ///< which, in this order; empty: all that there is room for
  std::vector<SortKey> sort;         ///< empty: the order of the answer
};

}  // namespace hgemm
