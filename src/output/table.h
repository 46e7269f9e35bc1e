// A table of text cells, laid out for a terminal or as Markdown.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hgemm {

/// Text cells; the last `footer` rows are set apart.
struct Table {
  struct Column {
    std::string name;
    bool right = true;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
  std::size_t footer = 0;
};

/// Cells may be free text (output/escape.h); Markdown shows it as it is, but for `code`.
std::string render(const Table& table, bool markdown);

}  // namespace hgemm
