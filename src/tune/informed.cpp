#include "tune/informed.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "families/family.h"
#include "results/lessons.h"
#include "tune/rematch.h"

namespace hgemm {
namespace {

/// One of so many problems is a pilot. With fewer than kFewProblems, all are.
constexpr std::size_t kPilotPart = 4;
constexpr std::size_t kFewProblems = 16;

/// The least and the most problems to return to, as parts of all.
constexpr std::size_t kLeastPart = 8, kMostPart = 2;
/// A race of a problem that is behind may have so many times the configs that are enough for others
/// (time_plan.h): those were not enough.
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

/// The rows to return to, the farthest behind first.
std::vector<BestRow> behind(std::vector<BestRow> rows) {
  std::ranges::stable_sort(rows, {}, ratio_of);
  const auto count = static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const BestRow& row) { return ratio_of(row) < 1; }));
  const auto part = [&](std::size_t of) { return (rows.size() + of - 1) / of; };
  rows.resize(std::clamp(count, part(kLeastPart), part(kMostPart)));
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
    rows_ = finished_rows(plan, races_, kernels);
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
  std::optional<Missing> race_at(const Place& place) const {
    auto outset =
        outset_of(candidates_.at(place.problem, place.regime), place.problem, place.regime, plan_);
    if (!outset) return std::nullopt;
    const Lessons& lessons = lessons_.at(place.regime);
    const std::map<std::string, double> speeds = lessons.speeds_at(place.problem);
    const auto proposed = outset->search->second(
        [&](const KernelConfig& config) -> std::optional<double> {
          const auto found = speeds.find(label(config));
          return found == speeds.end() ? std::nullopt : std::optional(found->second);
        },
        lessons.for_search_at(place.problem));
    Missing race = std::move(outset->race);
    if (place.row != nullptr) race.configs = close_configs(*place.row, races_);
    race.is_rematch = !race.configs.empty();
    const std::size_t old = race.configs.size();
    std::ranges::copy_if(
        proposed, std::back_inserter(race.configs),
        [&](const KernelConfig& config) { return !speeds.contains(label(config)); });
    if (race.configs.size() == old) return std::nullopt;
    return race;
  }

  const TunePlan& plan_;
  const CandidatesAhead& candidates_;
  std::vector<RecordedRace> races_;
  std::map<Regime, Lessons> lessons_;
  std::vector<BestRow> rows_;
};

}  // namespace

Waves waves_of(std::span<const GemmProblem> problems) {
  std::vector<GemmProblem> sorted(problems.begin(), problems.end());
  if (sorted.size() < kFewProblems) return {std::move(sorted), {}};
  std::ranges::stable_sort(sorted, {},
                           [](const GemmProblem& p) { return std::tuple(p.n, p.k, p.m); });
  Waves waves;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    (i % kPilotPart == 0 ? waves.pilots : waves.others).push_back(std::move(sorted[i]));
  }
  return waves;
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
                                 CurrentKernels& kernels) {
  const Known known(plan, candidates, store, environment, kernels);
  std::vector<Place> places;
  for (const Regime regime : plan.regimes) {
    for (const GemmProblem& problem : plan.problems) {
      if (known.row_of(problem, regime) == nullptr) places.push_back({problem, regime});
    }
  }
  const std::vector<BestRow> rows = behind(known.rows());
  for (const BestRow& row : rows) places.push_back({row.problem, row.regime, &row});
  std::vector<Missing> races = known.races_at(places);
  for (Missing& race : races) {
    if (race.is_rematch) race.space *= kMoreConfigs;
  }
  return races;
}

}  // namespace hgemm
