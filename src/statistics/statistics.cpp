#include "statistics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace hgemm {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool has_nan(std::span<const double> values) {
  return std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
}

/// Reorders `values`, which must be neither empty nor hold a NaN.
double median_in_place(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return std::midpoint(*std::max_element(values.begin(), middle), *middle);
}

}  // namespace

double median(std::span<const double> values) {
  if (values.empty() || has_nan(values)) return kNaN;
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

Interval median_interval(std::span<const double> values, double confidence, std::uint64_t seed,
                         int resamples) {
  if (values.empty() || has_nan(values)) return {kNaN, kNaN};

  // The generator's output and this scaling are fixed by the standard and by us, unlike
  // std::uniform_int_distribution: the same interval everywhere. Bias < size / 2^32.
  std::mt19937_64 generator(seed);
  const auto pick = [&] { return values[(generator() >> 32) * values.size() >> 32]; };

  std::vector<double> resample(values.size());
  std::vector<double> medians(static_cast<std::size_t>(std::max(resamples, 1)));
  for (double& result : medians) {
    std::generate(resample.begin(), resample.end(), pick);
    result = median_in_place(resample);
  }
  std::sort(medians.begin(), medians.end());
  const double tail = (1 - confidence) / 2 * static_cast<double>(medians.size() - 1);
  const auto cut = static_cast<std::size_t>(std::clamp(tail, 0.0, tail));  // rounds outwards
  return {medians[cut], medians[medians.size() - 1 - cut]};
}

double geomean(std::span<const double> values) {
  if (values.empty()) return kNaN;
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0)) return kNaN;
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace hgemm
