#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "best/best.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/recorded.h"
#include "cli/report.h"
#include "cli/shapes.h"

namespace hgemm::cli {
namespace {

struct BestOptions {
  std::string db = kDefaultDatabase;
  bool recorded = false;
  std::string shapes;
  std::string format = "table";
};

int run_best(const BestOptions& options) {
  const Format format = parse_format(options.format);
  std::vector<Shape> shapes;
  if (!options.shapes.empty()) shapes = chosen_shapes(options.shapes);
  if (!options.recorded && !std::filesystem::exists(options.db)) {
    throw InputError(
        fmt::format("there is no database {}; name one with --db, create it by tuning, or ask the "
                    "results that ship with the program with --recorded",
                    options.db));
  }
  const auto races =
      options.recorded ? shipped_races() : Store::open(options.db, Store::Mode::kReadOnly).races();
  print_best(best_rows(races, shapes), format);
  return 0;
}

}  // namespace

void add_best(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<BestOptions>();
  CLI::App* command = program.add_subcommand("best", help::kBest)->footer(help::kBestExamples);
  CLI::Option* db =
      command->add_option("--db", options->db, help::kDb)->type_name("FILE")->capture_default_str();
  command->add_flag("--recorded", options->recorded, help::kRecorded)->excludes(db);
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  command->add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_best(*options); }; });
}

}  // namespace hgemm::cli
