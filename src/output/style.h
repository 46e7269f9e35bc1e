// Layout of a command's answer: the format, and for people also width, columns, order and colour.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

enum class Format { kTable, kMarkdown, kJson, kCsv };
Format parse_format(std::string_view text);  ///< table | md | json | csv; throws InputError

/// Whether the format is for programs. If so, stdout has nothing but the rows.
bool for_programs(Format format);

/// A column that rows are sorted by.
struct SortKey {
  std::string column;
  bool descending = false;
};

/// Parses "COLUMN[:asc|desc][,...]". The first column decides first. Throws InputError.
std::vector<SortKey> parse_sort(std::string_view text);

struct Style {
  Style(Format format = Format::kTable) : format(format) {}

  bool markdown() const { return format == Format::kMarkdown; }

  Format format;
  /// Width of the terminal in characters: no line of a table or of prose is longer. nullopt: no
  /// limit. Markdown ignores it.
  std::optional<std::size_t> width;
  bool all_columns = false;          ///< tables may be wider than `width`
  bool color = false;                ///< colour in tables for people; never in Markdown
  std::vector<std::string> columns;  ///< columns to show, in this order; empty: all that fit
  std::vector<SortKey> sort;         ///< empty: the order of the answer
};

}  // namespace hgemm
