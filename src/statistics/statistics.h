// Order statistics and the bootstrap: pure functions of numbers.
#pragma once

#include <cstdint>
#include <span>

namespace hgemm {

/// NaN for an empty input; the mean of the middle two for an even count.
double median(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};
/// Percentile-bootstrap interval of the median (Efron 1979), 95 % by default. Deterministic for a
/// seed. One value gives [value, value]; none gives NaNs.
Interval median_interval(std::span<const double> values, double confidence = 0.95,
                         std::uint64_t seed = 1, int resamples = 2000);

/// exp of the mean of logs; NaN for an empty input or any value <= 0.
double geomean(std::span<const double> values);

}  // namespace hgemm
