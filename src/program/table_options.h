// How tables are shown: --columns, --sort, --wide, --color.
#pragma once

#include <string>
#include <vector>

#include "output/style.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

struct TableOptions {
  std::vector<std::string> columns{};
  std::string sort{};
  bool wide = false;
  std::string color = "auto";
  /// --columns and --sort name headings of tables; else fields, which JSON and CSV have too.
  bool only_tables = false;
};

/// --wide and --color.
void add_width_options(CLI::App& command, TableOptions& options);
/// The same, --columns and --sort.
void add_table_options(CLI::App& command, TableOptions& options);

/// The style of what goes to stdout: as wide as $COLUMNS says, or the terminal that stdout is; in
/// colour on a terminal, unless $NO_COLOR is set, or elsewhere where $CLICOLOR_FORCE asks for it.
/// --color comes before both. Throws InputError.
Style style_of(const TableOptions& options, Format format);

}  // namespace hgemm::cli
