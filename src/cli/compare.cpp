#include "compare/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "emit/emit.h"

namespace hgemm::cli {
namespace {

struct CompareOptions {
  std::string a, b;
  std::string shapes;
  std::string format = "table";
  bool fail_on_regression = false;
};

std::vector<RecordedRace> races_of(const std::string& path) {
  require_database(path);
  return Store::open(path, Store::Mode::kReadOnly).races();
}

int run_compare(const CompareOptions& options) {
  const Format format = parse_format(options.format);
  std::vector<Shape> shapes;
  if (!options.shapes.empty()) shapes = chosen_shapes(options.shapes);
  const Comparison comparison = compare(races_of(options.a), races_of(options.b), shapes);
  if (comparison.rows.empty() && comparison.lost.empty()) {
    throw Error(fmt::format(
        "there is nothing to compare: no shape{} has a winner in the same regime in both {} and "
        "{}; `hgemm-tune best --db` lists what each of them has",
        shapes.empty() ? "" : " of these", options.a, options.b));
  }
  fmt::print("{}", format_comparison(comparison, format));
  const auto slower =
      std::ranges::count(comparison.rows, ComparedRow::Verdict::kSlower, &ComparedRow::verdict);
  const auto lost = comparison.lost.size();
  if (!options.fail_on_regression || (slower == 0 && lost == 0)) return 0;
  fmt::print(stderr,
             "hgemm-tune: {} of {} rows are slower in {} than in {}, {} have no winner left\n",
             slower, comparison.rows.size() + lost, options.b, options.a, lost);
  return 1;
}

}  // namespace

void add_compare(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command =
      program.add_subcommand("compare", help::kCompare)->footer(help::kCompareExamples);
  command->add_option("A.db", options->a, help::kCompareA)->required()->type_name("");
  command->add_option("B.db", options->b, help::kCompareB)->required()->type_name("");
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  command->add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->add_flag("--fail-on-regression", options->fail_on_regression, help::kFailOnRegression);
  command->callback([&chosen, options] { chosen = [options] { return run_compare(*options); }; });
}

}  // namespace hgemm::cli
