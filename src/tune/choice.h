// Chooses the configs that a tune races at each problem. Private to the module.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "families/cost.h"
#include "results/current.h"
#include "search/search.h"
#include "store/store.h"
#include "tune/time_plan.h"
#include "tune/tune.h"

namespace hgemm {

/// A race and its configs that the store has no trial of; configs to be raced first come first.
struct Missing {
  GemmProblem problem;
  Regime regime;
  std::vector<KernelConfig> configs;
  std::size_t space = 0;  ///< configs that could be raced, measured or not; or proposals
  double launch_us = 0;   ///< the shortest predicted time; 0 if there are no predictions
  Weighed weighed = Weighed::kNothing;  ///< in this race: whose energy is measured
  std::size_t later = 0;                ///< number of configs that the second stage will propose
  /// GPUs that must not run the race, by their position in the list that tune() got.
  std::set<int> avoids = {};
  std::size_t given_up = 0;  ///< GPUs that could not finish it
  bool is_rematch = false;   ///< races configs again that have ended, and no others
  /// The first configs, if the problem has a winner: they have ended, and race again with new ones.
  std::size_t again = 0;
  bool only_full = false;   ///< left out if there is no time for full effort
  bool to_the_end = false;  ///< no finalist leaves early, however slow

  bool has_winner() const { return is_rematch || again > 0; }
  RaceToCome to_come() const {
    return {problem, regime, launch_us, configs.size(), space, weighed, to_the_end};
  }
};

/// A search that learns has two stages, each with a race of its own: the first proposes configs
/// without any measurement, the second after it was told the times of the first. All other searches
/// have one stage.
enum class SearchStage : std::uint8_t { kFirst, kSecond };

/// All problems in one regime, then in the next; races that miss nothing are left out. The result
/// depends on the plan, the space and the microbenchmarks in the store, and not on the seed of the
/// data, so that a repeated command finds its trials. A trial counts only if it is of the kernel
/// that its config has now.
///
/// kSecond: call it after the first stage's races. Their results are read from the store, but only
/// for configs that the first stage proposes. So the second stage proposes the same again, however
/// much of its own race is recorded by now. A race whose first stage has not ended has no second
/// stage.
///
/// With a deadline, the first stage proposes all configs, of which some are raced, and the second
/// learns from whatever of them is recorded at full effort.
std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment, CurrentKernels& kernels,
                                  SearchStage stage);

/// The configs that the plan's search may choose from at a problem; without a search all of the
/// space.
Candidates candidates_for(const GemmProblem& problem, const TunePlan& plan,
                          const CostFigures& figures);

/// A race that the plan may have, with what a search knows without a measurement.
struct Outset {
  Missing race;  ///< without configs
  std::optional<Search> search;
  std::vector<KernelConfig> first;  ///< the first stage's configs; without a search all
};
/// None if there are no candidates.
std::optional<Outset> outset_of(const Candidates& candidates, const GemmProblem& problem,
                                Regime regime, const TunePlan& plan);

/// The races of the first stage, as a database without results would miss them.
std::vector<Missing> first_races(const TunePlan& plan, const Environment& environment);

/// What a trial of a race in this regime must have, so that its config need not be measured again.
Wanted wanted(const TunePlan& plan, Regime regime);

}  // namespace hgemm
