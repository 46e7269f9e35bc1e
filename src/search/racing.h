// Racing: decides which candidates leave the semifinal or the final early. Pure functions of times.
#pragma once

#include <span>
#include <vector>

namespace hgemm {

/// Relative standard deviation of one per-round ratio between two candidates. times_us[c][r] is the
/// time of candidate c in round r. There is one value for all candidates, because the few rounds of
/// one candidate are no estimate. Infinite while there are too few times.
double ratio_noise(std::span<const std::vector<double>> times_us);

/// Whether the rounds exclude that a candidate is within `margin` (relative) of the leader.
/// `ratios` are its times over the leader's, one per round; `noise` is the standard deviation of
/// one ratio.
bool is_clearly_slower(std::span<const double> ratios, double noise, double margin);

}  // namespace hgemm
