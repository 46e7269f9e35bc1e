#include "results/compare.h"
#include "base/console.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "output/emit.h"
#include "program/database.h"
#include "program/help.h"
#include "program/shapes.h"
#include "program/table_options.h"

namespace hgemm::cli {
namespace {

struct CompareOptions {
  std::string a, b;
  ShapeOptions problems;
  std::string format = "table";
  TableOptions tables;
  bool fail_on_regression = false;
};

std::vector<RecordedRace> races_of(const std::string& path) {
  require_database(path);
  return Store::open(path, Store::Mode::kReadOnly).races();
}

int run_compare(const CompareOptions& options) {
  const Style style = style_of(options.tables, parse_format(options.format));
  check_comparison_columns(style);
  std::vector<GemmProblem> problems;
  if (!options.problems.empty()) problems = chosen_problems(options.problems);
  const Comparison comparison = compare(races_of(options.a), races_of(options.b), problems);
  if (comparison.rows.empty() && comparison.lost.empty()) {
    throw Error(fmt::format(
        "there is nothing to compare: no shape{} has a winner in the same regime in both {} and "
        "{}; `hgemm-tune best --db` lists what each of them has",
        problems.empty() ? "" : " of these", options.a, options.b));
  }
  fmt::print("{}", format_comparison(comparison, style));
  const auto slower =
      std::ranges::count(comparison.rows, ComparedRow::Verdict::kSlower, &ComparedRow::verdict);
  const auto lost = comparison.lost.size();
  if (!options.fail_on_regression || (slower == 0 && lost == 0)) return 0;
  say("hgemm-tune: {} of {} rows are slower in {} than in {}, {} have no winner left\n", slower,
      comparison.rows.size() + lost, options.b, options.a, lost);
  return 1;
}

}  // namespace

void add_compare(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = add_command(program, "compare");
  command->add_option("A.db", options->a, help_text("compare", "A.db"))->required()->type_name("");
  command->add_option("B.db", options->b, help_text("compare", "B.db"))->required()->type_name("");
  add_shapes(*command, options->problems);
  command->add_option("--format", options->format, help_text("common", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_table_options(*command, options->tables);
  command->add_flag("--fail-on-regression", options->fail_on_regression,
                    help_text("compare", "--fail-on-regression"));
  command->callback([&chosen, options] { chosen = [options] { return run_compare(*options); }; });
}

}  // namespace hgemm::cli
