// Chooses the races that are repeated: on a second GPU, against peers, or for their energy. Private
// to the module.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/best.h"
#include "results/current.h"
#include "store/store.h"
#include "tune/choice.h"

namespace hgemm {

/// A winner leads a close race if another finalist is at most this much slower. Recorded truth had
/// an effect of 2.5 % on one card that was absent on another.
inline constexpr double kCloseMargin = 0.025;

/// The races with configs of the plan's space and the baselines only: what else is in the database,
/// as kernels that the plan does not allow, must not win.
std::vector<RecordedRace> races_of(const TunePlan& plan, const Store& store,
                                   const Environment& environment);
/// The rows of the plan's problems whose winner was measured to the end: in the plan's regimes, or
/// in all.
std::vector<BestRow> finished_rows_of_all_regimes(const TunePlan& plan,
                                                  std::span<const RecordedRace> races,
                                                  CurrentKernels& kernels);
std::vector<BestRow> finished_rows(const TunePlan& plan, std::span<const RecordedRace> races,
                                   CurrentKernels& kernels);
/// The winner, and the configs near it that it met in the final of its race; at most four.
std::vector<KernelConfig> close_configs(const BestRow& row, std::span<const RecordedRace> races);

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

/// Configs that a race for energy must have, if there are so many near the winner.
inline constexpr std::size_t kLeastWeighed = 2;

/// One race for each problem of the plan whose winner in the regime sustained has no energy: its
/// configs are the winner and the finalists near it, of whatever race, best first: at most
/// kLeastWeighed after brief races, and as many as a final has after races at full effort. It must
/// be at full effort (device/protocol.h, ENERGY).
std::vector<Missing> find_unweighed(const TunePlan& plan, const Store& store,
                                    const Environment& environment, CurrentKernels& kernels);

/// Predicted seconds of each such race with kLeastWeighed configs, for the problems of the plan
/// that have no energy yet.
std::vector<double> weighing_s(const TunePlan& plan, const Store& store,
                               const Environment& environment, CurrentKernels& kernels);

}  // namespace hgemm
