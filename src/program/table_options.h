// Options for tables: --columns, --sort, --wide, --color.
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
  /// True: --columns and --sort name headings of tables. False: they name fields, which JSON and
  /// CSV have, too.
  bool only_tables = false;
};

/// Adds --wide and --color.
void add_width_options(CLI::App& command, TableOptions& options);
/// Adds --wide, --color, --columns and --sort.
void add_table_options(CLI::App& command, TableOptions& options);

/// The style of stdout. The width is $COLUMNS, or else that of the terminal. Colour is on for a
/// terminal unless $NO_COLOR is set, and elsewhere if $CLICOLOR_FORCE asks for it. --color
/// overrides both variables. Throws InputError.
Style style_of(const TableOptions& options, Format format);

}  // namespace hgemm::cli
