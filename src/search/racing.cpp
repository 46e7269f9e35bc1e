#include "search/racing.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/statistics.h"

namespace hgemm {
namespace {

/// Deviations beyond this share may be outliers. Not half, as in a MAD: that overlooks a second
/// mode which is visited now and then, and two visits in a row would look like a slow candidate.
constexpr double kOutliers = 0.1;
/// Of the absolute value of a standard normal, at 1 - kOutliers.
constexpr double kNormalQuantile = 1.6449;
/// With fewer the estimate is too often far too small. Two rounds of nine candidates suffice; fewer
/// candidates take more rounds, but then there is less to save.
constexpr std::size_t kMinDeviations = 8;
/// Two rounds that happen to agree do not prove a quieter GPU than was ever measured.
constexpr double kLeastNoise = 0.001;

/// The leader is the luckiest of several, and there is a look after every round: so more than the 2
/// or 3 of a single comparison. At 1 % noise, four rounds still tell 5 %; both rates are measured
/// in tests/search/simulation_test.cpp.
constexpr double kStandardErrors = 4;
/// Of a median, over the standard deviation and the root of the count.
constexpr double kMedianError = 1.2533;

}  // namespace

double ratio_noise(std::span<const std::vector<double>> times_us) {
  if (times_us.size() < 2) return std::numeric_limits<double>::infinity();
  // From round to round: a candidate's speed drops out, whatever it is. Then the median over
  // candidates: what drifts for all (clock, temperature) drops out.
  const std::size_t rounds = times_us[0].size();
  std::vector<double> deviations;
  for (std::size_t round = 1; round < rounds; ++round) {
    std::vector<double> steps;
    for (const auto& times : times_us) steps.push_back(std::log(times[round] / times[round - 1]));
    const double common = median(steps);
    for (double& step : steps) step = std::abs(step - common);
    // The candidate in the middle, or one of two, gave the median and so has no deviation.
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
  // The lower median, not the mean of the middle two: of two rounds both must say so, since one
  // sample may be an outlier of several percent, which no estimate foresees.
  std::vector<double> sorted(ratios.begin(), ratios.end());
  std::ranges::sort(sorted);
  const double lower_median = sorted[(sorted.size() - 1) / 2];
  const double error = kMedianError * noise / std::sqrt(static_cast<double>(sorted.size()));
  return lower_median > 1 + margin + kStandardErrors * error;
}

}  // namespace hgemm
