#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
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

Interval median_interval(std::span<const double> values, double confidence) {
  if (values.empty() || has_nan(values)) return {kNaN, kNaN};
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);

  // The true median lies below the value of this rank (from 0) if at most `rank` values lie below
  // it. Each value does so with probability 1/2. Computed in logs, because 2^-n underflows, and
  // from one rank to the next, because lgamma() writes to a global of the C library.
  const auto n = static_cast<double>(sorted.size());
  const std::size_t innermost = (sorted.size() - 1) / 2;
  std::size_t rank = 0;
  double log_probability = -n * std::numbers::ln2;  // that exactly `rank` values lie below
  double miss = std::exp(log_probability);
  while (rank < innermost) {
    const auto below = static_cast<double>(rank);
    log_probability += std::log((n - below) / (below + 1));
    miss += std::exp(log_probability);
    if (miss > (1 - confidence) / 2) break;
    ++rank;
  }
  return {sorted[rank], sorted[sorted.size() - 1 - rank]};
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
