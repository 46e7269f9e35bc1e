#include "replay/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "best/best.h"
#include "cli/commands.h"
#include "cli/database.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/recorded.h"
#include "cli/search.h"
#include "cli/shapes.h"
#include "emit/replay.h"
#include "model/calibration.h"
#include "model/cost.h"

namespace hgemm::cli {
namespace {

struct ReplayOptions {
  std::string db;
  std::string shapes;
  std::vector<std::string> strategies = {"model"};
  std::string budget = "3%";
  std::vector<std::string> found;
  int seeds = 10;
  std::string format = "table";
};

/// Those that calibrate the cost model, where a tune would have had them.
std::vector<RecordedStudy> studies_of(const ReplayOptions& options) {
  if (options.db.empty()) return {};
  return Store::open(options.db, Store::Mode::kReadOnly).studies(StudyKind::kMicro);
}

std::vector<RecordedRace> races_of(const ReplayOptions& options) {
  if (!options.db.empty()) {
    require_database(options.db);
    return Store::open(options.db, Store::Mode::kReadOnly).races();
  }
  return recorded_races("truth.db");
}

std::vector<double> predictions(const Truth& truth, std::span<const Device> devices,
                                std::span<const RecordedStudy> studies) {
  const CostFigures figures = calibrated_figures(devices, truth.environment, truth.regime, studies);
  std::vector<double> predicted_us;
  for (const Truth::Entry& entry : truth.entries) {
    predicted_us.push_back(predict_cost(figures, entry.config, truth.shape).us());
  }
  return predicted_us;
}

/// The winners of tunes, by the truths of the GPU that they ran on.
std::vector<ReplayRow> judged(const ReplayOptions& options, std::span<const Truth> known) {
  std::vector<ReplayRow> rows;
  for (const std::string& path : options.found) {
    require_database(path);
    const auto races = Store::open(path, Store::Mode::kReadOnly).races();
    const auto is_namesake = [stem = std::filesystem::path(path).stem()](const std::string& other) {
      return std::filesystem::path(other).stem() == stem;
    };
    const std::string name = std::ranges::count_if(options.found, is_namesake) > 1
                                 ? path
                                 : std::filesystem::path(path).stem().string();
    const std::size_t before = rows.size();
    std::vector<std::string> unjudged;
    for (const BestRow& winner : best_rows(races)) {
      if (!winner.label) continue;
      std::optional<ReplayRow> row;
      for (const Truth& truth : known) {
        if (truth.regime != winner.regime || !truth.shape.same_problem(winner.shape) ||
            truth.environment.gpu_name != winner.environment.gpu_name) {
          continue;
        }
        row = judge(truth, name, *winner.label, static_cast<std::size_t>(winner.trials));
      }
      if (row) {
        rows.push_back(*row);
      } else {
        unjudged.push_back(fmt::format("{} {}", to_string(winner.shape), to_string(winner.regime)));
      }
    }
    if (!unjudged.empty()) {
      fmt::print(stderr, "{}: the recorded spaces do not have {}, or its winner there\n", path,
                 fmt::join(unjudged, ", "));
    }
    if (rows.size() == before) {
      throw Error(
          fmt::format("{}: it has no winner at a shape, in a regime and on a GPU of which "
                      "the whole space was recorded",
                      path));
    }
  }
  return rows;
}

int run_replay(const ReplayOptions& options) {
  const Format format = parse_format(options.format);
  const Budget budget = parse_budget(options.budget);
  std::vector<StrategyKind> strategies;
  for (const std::string& name : options.strategies) {
    const StrategyKind kind = parse_strategy(name);
    if (std::ranges::find(strategies, kind) == strategies.end()) strategies.push_back(kind);
  }
  std::vector<Shape> shapes;
  if (!options.shapes.empty()) shapes = chosen_shapes(options.shapes);

  const std::vector<Device> devices = known_devices();
  std::vector<Truth> known = truths(races_of(options));
  keep_shapes(known, shapes);
  if (known.empty()) {
    throw Error(fmt::format(
        "there is nothing to replay: no race{} in {} was measured to the end; record one with "
        "`hgemm-tune --shapes {} --budget all --db truth.db`",
        shapes.empty() ? "" : " of these shapes",
        options.db.empty() ? "the recorded truth" : options.db,
        shapes.empty() ? "square" : options.shapes));
  }
  if (!options.found.empty()) {
    fmt::print("{}", format_replay(judged(options, known), format));
    return 0;
  }
  const std::vector<RecordedStudy> studies = studies_of(options);
  std::vector<std::vector<double>> predicted_us;
  for (const Truth& truth : known) predicted_us.push_back(predictions(truth, devices, studies));
  std::vector<ReplayRow> rows;
  for (const StrategyKind strategy : strategies) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      rows.push_back(replay(known[i], predicted_us[i], strategy, budget, options.seeds));
    }
  }
  fmt::print("{}", format_replay(rows, format));
  return 0;
}

}  // namespace

void add_replay(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command =
      program.add_subcommand("replay", help::kReplay)->footer(help::kReplayExamples);
  command->add_option("--db", options->db, help::kReplayDb)->type_name("FILE");
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  CLI::Option* strategy =
      command->add_option("--strategy", options->strategies, help::kReplayStrategy)
          ->type_name("NAME[,NAME...]")
          ->delimiter(',')
          ->capture_default_str();
  CLI::Option* budget = command->add_option("--budget", options->budget, help::kReplayBudget)
                            ->type_name("P%|N")
                            ->capture_default_str();
  CLI::Option* found = command->add_option("--found", options->found, help::kReplayFound)
                           ->type_name("DB[,DB...]")
                           ->delimiter(',')
                           ->excludes(strategy)
                           ->excludes(budget);
  command->add_option("--seeds", options->seeds, help::kReplaySeeds)
      ->check(CLI::Range(1, 1000))
      ->excludes(found)
      ->capture_default_str();
  command->add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_replay(*options); }; });
}

}  // namespace hgemm::cli
