#include "results/replay.h"
#include "base/console.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "cli/commands.h"
#include "gemm/codec.h"
#include "output/replay.h"
#include "program/configs.h"
#include "program/current.h"
#include "program/database.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/recorded.h"
#include "program/search.h"
#include "program/shapes.h"
#include "program/table_options.h"
#include "results/best.h"
#include "search/calibration.h"
#include "search/figures.h"
#include "studies/micro/points.h"

namespace hgemm::cli {
namespace {

struct ReplayOptions {
  std::string db;
  ShapeOptions problems;
  std::optional<std::string> space;
  std::vector<std::string> strategies = {"model"};
  std::optional<std::string> budget;
  std::vector<std::string> found;
  int seeds = 10;
  std::string format = "table";
  TableOptions tables = {.only_tables = true};
};

/// The microbenchmarks that calibrate the cost model, if a tune would have had them.
std::vector<RecordedStudy> studies_of(const ReplayOptions& options) {
  if (options.db.empty()) return {};
  return Store::open(options.db, Store::Mode::kReadOnly).studies(kMicroStudy);
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
    predicted_us.push_back(predict_cost(figures, entry.config, truth.problem).us());
  }
  return predicted_us;
}

/// Replays of searches in the whole space.
std::vector<ReplayRow> replayed_whole(const ReplayOptions& options, std::span<const Truth> known,
                                      std::span<const StrategyKind> strategies) {
  const std::string text = options.budget.value_or(default_configs(kWholeSpace));
  const Budget budget = parse_budget(text);
  if (budget.share != 0 ||
      std::ranges::find(strategies, StrategyKind::kExhaustive) != strategies.end()) {
    throw InputError(fmt::format(
        "--space {}: it has some 10^10 points, of which a search measures a number (--budget "
        "100configs), not a share or all",
        kWholeSpace));
  }
  const auto count = static_cast<std::size_t>(budget.trials);
  const std::vector<Device> devices = known_devices();
  const std::vector<RecordedStudy> studies = studies_of(options);
  // By strategy, then by truth, as without a space.
  std::vector<ReplayRow> rows;
  for (const StrategyKind strategy : strategies) {
    make_in_parallel(
        known.size(),
        [&](std::size_t i) {
          const Truth& truth = known[i];
          const Scope scope{
              .problem = truth.problem,
              .figures = calibrated_figures(devices, truth.environment, truth.regime, studies)};
          return replay_whole(truth, candidates_in_whole_space(scope, strategy, count), strategy,
                              count, options.seeds);
        },
        [&](ReplayRow row) { rows.push_back(std::move(row)); });
  }
  return rows;
}

/// Judges the winners of tunes by the truths of the GPU on which they ran.
std::vector<ReplayRow> judged(const ReplayOptions& options, std::span<const Truth> known) {
  std::vector<ReplayRow> rows;
  for (const std::string& path : options.found) {
    require_database(path);
    const Store store = Store::open(path, Store::Mode::kReadOnly);
    const auto races = store.races();
    const auto is_namesake = [stem = std::filesystem::path(path).stem()](const std::string& other) {
      return std::filesystem::path(other).stem() == stem;
    };
    const std::string name = std::ranges::count_if(options.found, is_namesake) > 1
                                 ? path
                                 : std::filesystem::path(path).stem().string();
    const std::size_t before = rows.size();
    std::vector<std::string> unjudged;
    for (const BestRow& winner :
         best_rows(races, {}, Objective::kTime, current_among(store.builds()))) {
      if (!winner.label) continue;
      std::optional<ReplayRow> row;
      for (const Truth& truth : known) {
        if (truth.regime != winner.regime || !truth.problem.same_problem(winner.problem) ||
            truth.environment.gpu_name != winner.environment.gpu_name) {
          continue;
        }
        row = judge(truth, name, *winner.label, static_cast<std::size_t>(winner.trials));
      }
      if (row) {
        rows.push_back(*row);
      } else {
        unjudged.push_back(
            fmt::format("{} {}", to_string(winner.problem), to_string(winner.regime)));
      }
    }
    if (!unjudged.empty()) {
      say("{}: the recorded spaces do not have {}, or its winner there\n", path,
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
  const Style style = style_of(options.tables, parse_format(options.format));
  std::vector<StrategyKind> strategies;
  for (const std::string& name : options.strategies) {
    const StrategyKind kind = parse_strategy(name);
    if (std::ranges::find(strategies, kind) == strategies.end()) strategies.push_back(kind);
  }
  std::vector<GemmProblem> problems;
  if (!options.problems.empty()) problems = chosen_problems(options.problems);

  std::vector<Truth> known = truths(races_of(options));
  keep_problems(known, problems);
  if (known.empty()) {
    throw Error(fmt::format(
        "there is nothing to replay: no race{} in {} was measured to the end; record one with "
        "`hgemm-tune {} --space full --budget all --db truth.db`",
        problems.empty() ? "" : " of these shapes",
        options.db.empty() ? "the recorded truth" : options.db,
        problems.empty() ? "--shapes square" : options.problems.arguments()));
  }
  if (!options.found.empty()) {
    fmt::print("{}", format_replay(judged(options, known), style));
    return 0;
  }
  if (options.space) {
    fmt::print("{}", format_replay(replayed_whole(options, known, strategies), style));
    return 0;
  }
  const Budget budget = parse_budget(options.budget.value_or("3%"));
  const std::vector<Device> devices = known_devices();
  const std::vector<RecordedStudy> studies = studies_of(options);
  std::vector<std::vector<double>> predicted_us;
  for (const Truth& truth : known) predicted_us.push_back(predictions(truth, devices, studies));
  std::vector<ReplayRow> rows;
  for (const StrategyKind strategy : strategies) {
    for (std::size_t i = 0; i < known.size(); ++i) {
      rows.push_back(replay(known[i], predicted_us[i], strategy, budget, options.seeds));
    }
  }
  fmt::print("{}", format_replay(rows, style));
  return 0;
}

}  // namespace

void add_replay(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<ReplayOptions>();
  CLI::App* command = add_command(program, "replay");
  command->add_option("--db", options->db, help_text("replay", "--db"))->type_name("FILE");
  add_shapes(*command, options->problems);
  CLI::Option* strategy =
      command->add_option("--strategy", options->strategies, help_text("replay", "--strategy"))
          ->type_name("NAME[,NAME...]")
          ->delimiter(',')
          ->capture_default_str();
  CLI::Option* space =
      command->add_option("--space", options->space, help_text("replay", "--space"))
          ->type_name(kWholeSpace)
          ->check(CLI::IsMember({kWholeSpace}));
  CLI::Option* budget =
      command->add_option("--budget", options->budget, help_text("replay", "--budget"))
          ->type_name("P%|Nconfigs")
          ->default_str("3%");
  CLI::Option* found =
      command->add_option("--found", options->found, help_text("replay", "--found"))
          ->type_name("DB[,DB...]")
          ->delimiter(',')
          ->excludes(strategy)
          ->excludes(budget)
          ->excludes(space);
  command->add_option("--seeds", options->seeds, help_text("replay", "--seeds"))
      ->check(CLI::Range(1, 1000))
      ->excludes(found)
      ->capture_default_str();
  command->add_option("--format", options->format, help_text("common", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_table_options(*command, options->tables);
  command->callback([&chosen, options] { chosen = [options] { return run_replay(*options); }; });
}

}  // namespace hgemm::cli
