#include "search/racing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/statistics.h"

namespace hgemm {
namespace {

/// Share of deviations that may be outliers. It is not half, as in a MAD: that would overlook a
/// second mode that is visited now and then, and two visits in a row would look like a slow
/// candidate.
constexpr double kOutliers = 0.1;
/// Quantile of the absolute value of a standard normal variable, at 1 - kOutliers.
constexpr double kNormalQuantile = 1.6449;
/// With fewer deviations the estimate is too often far too small. Two rounds of nine candidates
/// suffice; with fewer candidates it takes more rounds, but there is also less to save.
constexpr std::size_t kMinDeviations = 8;
/// Lower bound of the noise: two rounds that agree by chance do not prove a quieter GPU than any
/// measured.
constexpr double kLeastNoise = 0.001;

/// More than the 2 or 3 standard errors of a single comparison, because the leader is the luckiest
/// of several and the test is repeated after every round. At 1 % noise, four rounds still detect 5
/// %; tests/search/simulation_test.cpp measures both error rates.
constexpr double kStandardErrors = 4;
/// Standard error of a median, in units of the standard deviation over the root of the count.
constexpr double kMedianError = 1.2533;

}  // namespace

double ratio_noise(std::span<const std::vector<double>> times_us) {
  if (times_us.size() < 2) return std::numeric_limits<double>::infinity();
  // Changes from round to round do not depend on a candidate's speed. Subtracting the median over
  // candidates removes drift that all share (clock, temperature).
  const std::size_t rounds = times_us[0].size();
  std::vector<double> deviations;
  for (std::size_t round = 1; round < rounds; ++round) {
    std::vector<double> steps;
    for (const auto& times : times_us) steps.push_back(std::log(times[round] / times[round - 1]));
    const double common = median(steps);
    for (double& step : steps) step = std::abs(step - common);
    // The candidate in the middle (or one of two) gave the median, so its deviation is no
    // information.
    steps.erase(std::ranges::min_element(steps));
    deviations.insert(deviations.end(), steps.begin(), steps.end());
  }
  if (deviations.size() < kMinDeviations) return std::numeric_limits<double>::infinity();
  const auto outliers =
      static_cast<std::size_t>(kOutliers * static_cast<double>(deviations.size()));
  const auto quantile = deviations.begin() + static_cast<std::ptrdiff_t>(outliers);
  std::ranges::nth_element(deviations, quantile, std::greater<>());
  return std::max(*quantile / kNormalQuantile, kLeastNoise);
}

bool is_clearly_slower(std::span<const double> ratios, double noise, double margin) {
  // The lower median, not the mean of the middle two: of two rounds both must agree, because one
  // sample may be an outlier of several percent, which no estimate predicts.
  std::vector<double> sorted(ratios.begin(), ratios.end());
  std::ranges::sort(sorted);
  const double lower_median = sorted[(sorted.size() - 1) / 2];
  const double error = kMedianError * noise / std::sqrt(static_cast<double>(sorted.size()));
  return lower_median > 1 + margin + kStandardErrors * error;
}

}  // namespace hgemm
