#include "tune/informed.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "families/family.h"
#include "results/lessons.h"
#include "tune/rematch.h"

namespace hgemm {
namespace {

/// One of so many problems is a pilot. With fewer than kFewProblems, or fewer pilots than GPUs, all
/// are.
constexpr std::size_t kPilotPart = 4;
constexpr std::size_t kFewProblems = 16;

/// The least and the most problems to return to, as parts of all.
constexpr std::size_t kLeastPart = 8, kMostPart = 2;
/// A race of a problem that has a winner may have so many times the configs that are enough for
/// others (time_plan.h): those may not have been enough.
constexpr std::size_t kMoreConfigs = 4;

/// Ratio of the fastest baseline's time to the winner's.
double ratio_of(const BestRow& row) {
  double ratio = std::numeric_limits<double>::infinity();
  for (const auto& one : {row.cublas, row.cublaslt}) {
    if (one) ratio = std::min(ratio, one->value);
  }
  for (const PeerResult& peer : row.peers) {
    if (peer.winner) ratio = std::min(ratio, peer.winner->value);
  }
  return ratio;
}

/// The rows to return to, the farthest behind first; one for each GPU at least.
std::vector<BestRow> behind(std::vector<BestRow> rows, std::size_t gpus) {
  std::ranges::stable_sort(rows, {}, ratio_of);
  const auto count = static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const BestRow& row) { return ratio_of(row) < 1; }));
  const auto part = [&](std::size_t of) { return (rows.size() + of - 1) / of; };
  const std::size_t chosen = std::clamp(count, part(kLeastPart), part(kMostPart));
  rows.resize(std::min(std::max(chosen, gpus), rows.size()));
  return rows;
}

/// A problem in a regime, with its row if something was measured to the end.
struct Place {
  GemmProblem problem;
  Regime regime;
  const BestRow* row = nullptr;
};

/// What is known when races are chosen.
class Known {
 public:
  Known(const TunePlan& plan, const CandidatesAhead& candidates, const Store& store,
        const Environment& environment, CurrentKernels& kernels)
      : plan_(plan), candidates_(candidates), races_(races_of(plan, store, environment)) {
    const auto is_current = [&](const Trial& trial, const GemmProblem& problem) {
      return kernels.is_current(trial, problem);
    };
    for (const Regime regime : plan.regimes) {
      const CostFigures& figures = candidates.figures(regime);
      lessons_.try_emplace(regime, races_, regime, is_current,
                           [&](const KernelConfig& config, const GemmProblem& problem) {
                             return predict_cost(figures, config, problem).us();
                           });
    }
    of_all_regimes_ = finished_rows_of_all_regimes(plan, races_, kernels);
    std::ranges::copy_if(of_all_regimes_, std::back_inserter(rows_), [&](const BestRow& row) {
      return std::ranges::find(plan.regimes, row.regime) != plan.regimes.end();
    });
  }

  const std::vector<BestRow>& rows() const { return rows_; }
  const BestRow* row_of(const GemmProblem& problem, Regime regime) const {
    const auto row = std::ranges::find_if(rows_, [&](const BestRow& one) {
      return one.regime == regime && one.problem.same_problem(problem);
    });
    return row == rows_.end() ? nullptr : &*row;
  }

  std::vector<Missing> races_at(std::span<const Place> places) const {
    std::vector<Missing> all;
    make_in_parallel(
        places.size(), [&](std::size_t i) { return race_at(places[i]); },
        [&](std::optional<Missing> race) {
          if (race) all.push_back(std::move(*race));
        });
    return all;
  }

 private:
  /// The candidates, and what earlier races took from elsewhere.
  Candidates candidates_at(const Place& place, const std::map<std::string, double>& speeds) const {
    Candidates candidates = candidates_.at(place.problem, place.regime);
    if (!candidates.scope) return candidates;
    std::set<std::string> labels;
    for (const KernelConfig& config : candidates.configs) labels.insert(label(config));
    for (const auto& [name, speed] : speeds) {
      if (labels.contains(name)) continue;
      const KernelConfig config = parse_label(name);
      if (why_not(config, place.problem)) continue;
      candidates.configs.push_back(config);
      candidates.predicted_us.push_back(
          predict_cost(candidates_.figures(place.regime), config, place.problem).us());
    }
    return candidates;
  }

  std::optional<Missing> race_at(const Place& place) const {
    const Lessons& lessons = lessons_.at(place.regime);
    const std::map<std::string, double> speeds = lessons.speeds_at(place.problem);
    auto outset = outset_of(candidates_at(place, speeds), place.problem, place.regime, plan_);
    if (!outset) return std::nullopt;
    const Elsewhere elsewhere = lessons.for_search_at(place.problem);
    const auto proposed = outset->search->second(
        [&](const KernelConfig& config) -> std::optional<double> {
          const auto found = speeds.find(label(config));
          return found == speeds.end() ? std::nullopt : std::optional(found->second);
        },
        elsewhere);
    Missing race = std::move(outset->race);
    std::set<std::string> raced;
    const auto add_new = [&](const KernelConfig& config) {
      const std::string name = label(config);
      if (!speeds.contains(name) && raced.insert(name).second) race.configs.push_back(config);
    };
    if (place.row != nullptr) {
      race.space *= kMoreConfigs;
      race.configs = close_configs(*place.row, races_);
      race.again = race.configs.size();
      for (const KernelConfig& config : race.configs) raced.insert(label(config));
      // The winner of burst was the best at 365x4096x4096 sustained, too, where the search had not
      // found it (rows-to-512.db).
      for (const BestRow& row : of_all_regimes_) {
        const bool is_here = row.regime != place.regime && row.problem.same_problem(place.problem);
        if (is_here) add_new(parse_label(*row.label));
      }
      // A return may have time for a few configs only, and the model's order has failed here once.
      // At 4096x4096 sustained, 365 and 366 rows were 3 % behind after two returns, while 364 and
      // 367 rows had a kernel at 0.99 that was never tried there (rows-to-512.db).
      for (const KernelConfig& config : elsewhere.fastest) {
        if (std::ranges::find(proposed, config) != proposed.end()) add_new(config);
      }
    }
    std::ranges::for_each(proposed, add_new);
    if (race.configs.size() == race.again) return std::nullopt;
    return race;
  }

  const TunePlan& plan_;
  const CandidatesAhead& candidates_;
  std::vector<RecordedRace> races_;
  std::map<Regime, Lessons> lessons_;
  std::vector<BestRow> of_all_regimes_;
  std::vector<BestRow> rows_;  ///< of the plan's regimes
};

}  // namespace

Waves waves_of(std::span<const GemmProblem> problems, std::size_t gpus) {
  std::vector<GemmProblem> sorted(problems.begin(), problems.end());
  if (sorted.size() < std::max(kFewProblems, kPilotPart * gpus)) return {std::move(sorted), {}};
  std::ranges::stable_sort(sorted, {},
                           [](const GemmProblem& p) { return std::tuple(p.n, p.k, p.m); });
  Waves waves;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    (i % kPilotPart == 0 ? waves.pilots : waves.others).push_back(std::move(sorted[i]));
  }
  return waves;
}

std::vector<GemmProblem> without_winner(const TunePlan& plan, const Store& store,
                                        const Environment& environment, CurrentKernels& kernels) {
  const std::vector<RecordedRace> races = races_of(plan, store, environment);
  const std::vector<BestRow> rows = finished_rows(plan, races, kernels);
  std::vector<GemmProblem> without;
  for (const GemmProblem& problem : plan.problems) {
    const auto known = static_cast<std::size_t>(std::ranges::count_if(
        rows, [&](const BestRow& row) { return row.problem.same_problem(problem); }));
    if (known < plan.regimes.size()) without.push_back(problem);
  }
  return without;
}

std::vector<GemmProblem> where_behind(const TunePlan& plan, const Store& store,
                                      const Environment& environment, CurrentKernels& kernels) {
  std::vector<GemmProblem> found;
  for (const BestRow& row : finished_rows(plan, races_of(plan, store, environment), kernels)) {
    const auto is_same = [&](const GemmProblem& one) { return one.same_problem(row.problem); };
    if (ratio_of(row) < 1 && std::ranges::none_of(found, is_same)) found.push_back(row.problem);
  }
  return found;
}

std::vector<Missing> find_informed(const TunePlan& plan, std::span<const GemmProblem> problems,
                                   const CandidatesAhead& candidates, const Store& store,
                                   const Environment& environment, CurrentKernels& kernels) {
  const Known known(plan, candidates, store, environment, kernels);
  std::vector<Place> places;
  for (const Regime regime : plan.regimes) {
    for (const GemmProblem& problem : problems) {
      places.push_back({problem, regime, known.row_of(problem, regime)});
    }
  }
  return known.races_at(places);
}

std::vector<Missing> find_behind(const TunePlan& plan, const CandidatesAhead& candidates,
                                 const Store& store, const Environment& environment,
                                 CurrentKernels& kernels, std::size_t gpus) {
  const Known known(plan, candidates, store, environment, kernels);
  std::vector<Place> places;
  for (const Regime regime : plan.regimes) {
    for (const GemmProblem& problem : plan.problems) {
      if (known.row_of(problem, regime) == nullptr) places.push_back({problem, regime});
    }
  }
  const std::vector<BestRow> rows = behind(known.rows(), gpus);
  for (const BestRow& row : rows) places.push_back({row.problem, row.regime, &row});
  return known.races_at(places);
}

}  // namespace hgemm
