// Racing: who leaves the semifinal or the final before its end. Pure functions of times.
#pragma once

#include <span>
#include <vector>

namespace hgemm {

/// Standard deviation of one per-round ratio between two candidates, relative, from times_us[c][r]
/// of candidate c in round r: one value for all, since a candidate's own few rounds are no
/// estimate. Infinite while the times are too few to tell.
double ratio_noise(std::span<const std::vector<double>> times_us);

/// Whether the rounds exclude that a candidate is within `margin` of the leader. `ratios` are its
/// times over the leader's, one a round, and `noise` is the standard deviation of one.
bool is_clearly_slower(std::span<const double> ratios, double noise, double margin);

}  // namespace hgemm
