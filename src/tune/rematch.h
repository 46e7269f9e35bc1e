// Chooses the races that are repeated: on a second GPU, or against peers. Private to the module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/current.h"
#include "store/store.h"
#include "tune/choice.h"

namespace hgemm {

/// A winner leads a close race if another finalist is at most this much slower. Recorded truth had
/// an effect of 2.5 % on one card that was absent on another.
inline constexpr double kCloseMargin = 0.025;

/// One race for each problem and regime of the plan whose race was close and that no second card
/// has repeated: its configs are the winner and the finalists near it, at most four. `gpus`: UUIDs
/// in the order of the list that tune() got. The GPU of the winner's race is to be avoided; if it
/// is the only one, there is no race.
std::vector<Missing> find_unconfirmed(const TunePlan& plan, const Store& store,
                                      const Environment& environment, CurrentKernels& kernels,
                                      const std::vector<std::string>& gpus);

/// One race for each problem and regime of the plan whose winner has not met all peers of the plan
/// in its race: its configs are the winner and the finalists near it.
std::vector<Missing> find_unmet(const TunePlan& plan, const Store& store,
                                const Environment& environment, CurrentKernels& kernels);

}  // namespace hgemm
