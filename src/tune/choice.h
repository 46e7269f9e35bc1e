// Which configs a tune races at each problem. Private to the module.
#pragma once

#include <cstdint>
#include <vector>

#include "results/current.h"
#include "store/store.h"
#include "tune/time_plan.h"
#include "tune/tune.h"

namespace hgemm {

/// A race, and the configs that the store has no trial of, those to be raced first in front.
struct Missing {
  GemmProblem problem;
  Regime regime;
  std::vector<KernelConfig> configs;
  std::size_t space = 0;  ///< configs that could be raced, measured or not
  double launch_us = 0;   ///< the least that was predicted, if anything was
  bool energy = false;    ///< is wanted of its finalists
  std::size_t later = 0;  ///< configs that the second stage will propose

  RaceToCome to_come() const { return {problem, regime, launch_us, configs.size(), space, energy}; }
};

/// A search that learns has two stages, each a race of its own: what it proposes before it knows
/// anything, and what it proposes when it was told how these did. All others have one.
enum class SearchStage : std::uint8_t { kFirst, kSecond };

/// All problems in one regime, then in the next; races that miss nothing are left out. The same for
/// the same plan, space and microbenchmarks in the store, whatever the seed of the data: a command
/// that is run again finds its trials. A trial counts if it is of the kernel that its config has
/// now.
///
/// kSecond: after the first stage's races. What they said is read from the store, of the configs
/// that the first stage proposes and of no others, so that it proposes the same again however much
/// of its own race is recorded by now. A race whose first stage has not ended has no second one.
std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment, CurrentKernels& kernels,
                                  SearchStage stage);

/// What a trial must have for its config to need no other: of one race.
Wanted wanted(const TunePlan& plan, Regime regime);

}  // namespace hgemm
