#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "best/best.h"
#include "cli/aim.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/recorded.h"
#include "cli/report.h"
#include "cli/shapes.h"
#include "emit/replay.h"

namespace hgemm::cli {
namespace {

struct BestOptions {
  std::string db = kDefaultDatabase;
  bool recorded = false;
  std::string shapes;
  AimOptions aim;
  int max_kernels = 0;
  std::string format = "table";
};

std::vector<RecordedRace> races_for_portfolio(const BestOptions& options) {
  if (!options.recorded) return Store::open(options.db, Store::Mode::kReadOnly).races();
  return recorded_races("truth.db");
}

/// Few kernels for all shapes, from all that was measured of each config and not from winners
/// alone.
int run_portfolio(const BestOptions& options, const Aim& aim, std::span<const Shape> shapes,
                  Format format) {
  auto known = truths(races_for_portfolio(options));
  std::erase_if(known, [&](const Truth& truth) {
    return std::ranges::find(aim.regimes, truth.regime) == aim.regimes.end() ||
           (!shapes.empty() && std::ranges::none_of(shapes, [&](const Shape& shape) {
             return shape.same_problem(truth.shape);
           }));
  });
  if (known.empty()) {
    throw Error(fmt::format("--max-kernels: no shape was measured to the end in {}",
                            in_words(aim.regimes)));
  }
  fmt::print("{}", format_portfolio(choose_portfolio(known, options.max_kernels), format));
  return 0;
}

int run_best(const BestOptions& options) {
  const Format format = parse_format(options.format);
  const Aim aim = parse_aim_of_recorded(options.aim);
  std::vector<Shape> shapes;
  if (!options.shapes.empty()) shapes = chosen_shapes(options.shapes);
  if (!options.recorded && !std::filesystem::exists(options.db)) {
    throw InputError(
        fmt::format("there is no database {}; name one with --db, create it by tuning, or ask the "
                    "results that ship with the program with --recorded",
                    options.db));
  }
  if (options.max_kernels > 0) return run_portfolio(options, aim, shapes, format);
  auto races =
      options.recorded ? shipped_races() : Store::open(options.db, Store::Mode::kReadOnly).races();
  const bool has_races = !races.empty();
  auto rows = best_for(aim, races, shapes);
  if (has_races && races.empty() && !for_programs(format)) {
    fmt::print(
        "Nothing is recorded in {} yet. To measure on a Hopper GPU: hgemm-tune --shapes "
        "llama7b.yaml --regime {}\n",
        in_words(aim.regimes), to_string(aim.regimes.front()));
    return 0;
  }
  if (const int missing = without_energy(rows);
      aim.objective == Objective::kEnergy && missing > 0) {
    fmt::print(stderr,
               "energy was not measured for the best of {} shapes, which is by time; hgemm-tune "
               "--shapes ... --objective energy measures it\n",
               missing);
  }
  print_best(std::move(rows), format);
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
  add_aim(*command, options->aim, "all that is recorded");
  command->add_option("--max-kernels", options->max_kernels, help::kMaxKernels)
      ->type_name("K")
      ->check(CLI::Range(1, 1000));
  command->add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_best(*options); }; });
}

}  // namespace hgemm::cli
