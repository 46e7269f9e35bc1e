// Statistics of samples that were measured in turns.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/statistics.h"
#include "record/trial.h"

namespace hgemm {

std::vector<double> times_us(std::span<const Sample> samples);

/// The time of `other` over that of `ours` in the same round; above 1 ours is faster.
struct RoundsRatio {
  double value = 0;   ///< median
  Interval interval;  ///< 95 %
  int rounds = 0;     ///< number of rounds in which both have a sample
};
/// nullopt if they have no round in common.
std::optional<RoundsRatio> ratio_by_round(std::span<const Sample> other,
                                          std::span<const Sample> ours);

}  // namespace hgemm
