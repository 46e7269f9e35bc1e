// The sections made from races of whole spaces: tile sizes, and replayed searches.
#include <algorithm>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/statistics.h"
#include "families/family.h"
#include "output/report_parts.h"
#include "results/replay.h"
#include "search/figures.h"
#include "search/space.h"

namespace hgemm::report {
namespace {

constexpr double kShares[] = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4};
constexpr int kSeeds = 5;
/// Number of seeds; 0 skips the search. A search that learns looks at every config for each result
/// that it is told, so its cost grows with the square of the budget. Larger budgets, where chance
/// matters less, get fewer seeds. The largest get none, because little is left to find.
int seeds_of(StrategyKind strategy, double share) {
  if (!learns(strategy)) return kSeeds;
  return share <= 0.01 ? 3 : share <= 0.03 ? 1 : 0;
}

/// A race with fewer configs was itself a search, or its space is so small that 1 % of it is
/// nothing.
constexpr std::size_t kSearched = 200;

void add_races(Source& source, std::span<const RecordedRace> races, const Truth& truth) {
  for (const RecordedRace& race : races) {
    if (race.race.regime == truth.regime && race.race.problem.same_problem(truth.problem) &&
        race.environment == truth.environment && race.run.kernel_sources == truth.kernel_sources) {
      source.add(race);
    }
  }
}

using Tile = std::pair<int, int>;  // bm, bn

/// All configs that the space has for such a problem.
std::vector<KernelConfig> configs_for(const GemmProblem& problem,
                                      std::span<const KernelConfig> space) {
  std::vector<KernelConfig> configs;
  std::ranges::copy_if(space, std::back_inserter(configs),
                       [&problem](const KernelConfig& config) { return suits(config, problem); });
  return configs;
}

/// nullopt for kernels without tiles.
std::optional<Tile> tile_of(const KernelConfig& config) {
  return std::visit(
      [](const auto& c) -> std::optional<Tile> {
        if constexpr (requires { Tile{c.bm, c.bn}; }) return Tile{c.bm, c.bn};
        return std::nullopt;
      },
      config);
}

/// One cell for each tile that was measured or that `valid` has.
Json cells_json(const Truth& truth, std::span<const KernelConfig> valid) {
  struct Cell {
    const Truth::Entry* best = nullptr;
    int configs = 0;
  };
  std::map<Tile, Cell> cells;
  for (const KernelConfig& config : valid) {
    if (const auto tile = tile_of(config)) cells[*tile];
  }
  for (const Truth::Entry& entry : truth.entries) {
    const auto tile = tile_of(entry.config);
    if (!tile) continue;
    Cell& cell = cells[*tile];
    ++cell.configs;
    if (cell.best == nullptr || entry.speed > cell.best->speed) cell.best = &entry;
  }
  const double best = truth.best();
  Json list = Json::array();
  for (const auto& [tile, cell] : cells) {
    const bool timed = cell.best != nullptr && cell.best->speed > 0;
    list.push_back({{"bm", tile.first},
                    {"bn", tile.second},
                    {"fraction", timed ? Json(cell.best->speed / best) : Json()},
                    {"label", timed ? Json(label(cell.best->config)) : Json()},
                    {"configs", cell.configs}});
  }
  return list;
}

}  // namespace

Json tiles_section(const Known& known) {
  if (known.truths.empty()) {
    return missing("No race of a whole space was recorded.",
                   "hgemm-tune --shapes square.yaml --space full --budget all");
  }
  std::vector<const Truth*> largest_first;
  for (const Truth& truth : known.truths) largest_first.push_back(&truth);
  std::ranges::stable_sort(largest_first, std::greater(),
                           [](const Truth* truth) { return truth->entries.size(); });
  const std::vector<KernelConfig> space = enumerate(known.space).valid;
  Source source;
  Json list = Json::array();
  for (const Truth* one : largest_first) {
    const Truth& truth = *one;
    add_races(source, known.spaces, truth);
    const auto best = std::ranges::max_element(truth.entries, {}, &Truth::Entry::speed);
    const std::vector<KernelConfig> valid = configs_for(truth.problem, space);
    list.push_back({{"shape", to_string(truth.problem)},
                    {"m", truth.problem.m},
                    {"n", truth.problem.n},
                    {"k", truth.problem.k},
                    {"dtype", types_text(truth.problem)},
                    {"group", group_of(truth.problem)},
                    {"regime", to_string(truth.regime)},
                    {"configs", truth.entries.size()},
                    {"valid", valid.size()},
                    {"best", label(best->config)},
                    {"cells", cells_json(truth, valid)}});
  }
  return {{"source", source.json()}, {"space", known.space.name}, {"spaces", list}};
}

namespace {

/// Results of searches by one strategy on all of `truths`, at every budget.
Json points_of(StrategyKind strategy, std::span<const Truth> truths,
               std::span<const std::vector<double>> predicted_us) {
  Json points = Json::array();
  for (const double share : kShares) {
    const int seeds = seeds_of(strategy, share);
    if (seeds == 0) continue;
    std::vector<double> fractions;
    double measured = 0;
    for (std::size_t i = 0; i < truths.size(); ++i) {
      const ReplayRow row = replay(truths[i], predicted_us[i], strategy, {.share = share}, seeds);
      fractions.push_back(row.best_fraction);
      measured += row.measured_fraction();
    }
    points.push_back({{"budget", share},
                      {"seeds", seeds},
                      {"measured", measured / static_cast<double>(truths.size())},
                      {"geomean", number(geomean(fractions))},
                      {"least", std::ranges::min(fractions)}});
  }
  return points;
}

}  // namespace

Json search_section(const Known& known) {
  std::vector<Truth> all(known.truths.begin(), known.truths.end());
  std::erase_if(all, [](const Truth& truth) { return truth.entries.size() < kSearched; });
  if (all.empty()) {
    return missing("No race of a whole space was recorded, on which a search could be replayed.",
                   "hgemm-tune --shapes square.yaml --space full --budget all");
  }
  Source source;
  std::vector<std::vector<double>> predicted_us;
  for (const Truth& truth : all) {
    add_races(source, known.spaces, truth);
    const CostFigures figures = cost_figures(known.devices, truth.environment, truth.regime);
    std::vector<double>& predicted = predicted_us.emplace_back();
    for (const Truth::Entry& entry : truth.entries) {
      predicted.push_back(predict_cost(figures, entry.config, truth.problem).us());
    }
  }
  std::vector<std::pair<StrategyKind, std::future<Json>>> points;  // seconds each: side by side
  for (const std::string_view name : strategy_names()) {
    const StrategyKind strategy = *find_strategy(name);
    if (strategy == StrategyKind::kExhaustive) continue;  // has no budget, and finds the best
    points.emplace_back(strategy, std::async(std::launch::async, [&all, &predicted_us, strategy] {
                          return points_of(strategy, all, predicted_us);
                        }));
  }
  Json strategies = Json::array();
  for (auto& [strategy, of_it] : points) {
    strategies.push_back({{"name", to_string(strategy)}, {"points", of_it.get()}});
  }
  return {{"source", source.json()}, {"rows", all.size()}, {"strategies", strategies}};
}

}  // namespace hgemm::report
