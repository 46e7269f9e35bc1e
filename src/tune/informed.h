// Chooses the races of a tune within a time. Each learns from the races before it. Private to the
// module.
#pragma once

#include <span>
#include <vector>

#include "results/current.h"
#include "store/store.h"
#include "tune/candidates_ahead.h"
#include "tune/choice.h"

namespace hgemm {

/// The problems of a tune in two waves.
struct Waves {
  std::vector<GemmProblem> pilots;  ///< a quarter of the problems, spread over their sizes
  std::vector<GemmProblem> others;  ///< learn from the pilots; none if there are few problems
};
Waves waves_of(std::span<const GemmProblem> problems, std::size_t gpus);

/// The plan's problems that have no winner yet in one of its regimes.
std::vector<GemmProblem> without_winner(const TunePlan& plan, const Store& store,
                                        const Environment& environment, CurrentKernels& kernels);

/// The plan's problems where the winner is behind a baseline in one of its regimes.
std::vector<GemmProblem> where_behind(const TunePlan& plan, const Store& store,
                                      const Environment& environment, CurrentKernels& kernels);

/// Races of these problems, all in one regime, then in the next, with the configs that the search
/// proposes after it has learned from what the store has of each problem and of its nearest
/// problems. It learns from brief races too: the model errs more about kinds of kernels than brief
/// races do. If a problem has a winner, the winner races again, with the new configs. Races without
/// a new config are left out. `candidates`: those of the plan's problems.
std::vector<Missing> find_informed(const TunePlan& plan, std::span<const GemmProblem> problems,
                                   const CandidatesAhead& candidates, const Store& store,
                                   const Environment& environment, CurrentKernels& kernels);

/// The same for the problems that have no winner yet, and for those where the winner is behind a
/// baseline, or the least ahead of it: all that are behind, but at least an eighth of those with a
/// winner and at most half of them, and one for each GPU. They are in this order, the farthest
/// behind first.
std::vector<Missing> find_behind(const TunePlan& plan, const CandidatesAhead& candidates,
                                 const Store& store, const Environment& environment,
                                 CurrentKernels& kernels, std::size_t gpus);

}  // namespace hgemm
