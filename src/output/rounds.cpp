#include "output/rounds.h"

#include <algorithm>

namespace hgemm {

std::vector<double> times_us(std::span<const Sample> samples) {
  std::vector<double> times;
  for (const Sample& sample : samples) times.push_back(sample.time_us);
  return times;
}

std::optional<RoundsRatio> ratio_by_round(std::span<const Sample> other,
                                          std::span<const Sample> ours) {
  std::vector<double> ratios;
  for (const Sample& sample : ours) {
    const auto beside = std::ranges::find(other, sample.round, &Sample::round);
    if (beside != other.end()) ratios.push_back(beside->time_us / sample.time_us);
  }
  if (ratios.empty()) return std::nullopt;
  return RoundsRatio{median(ratios), median_interval(ratios), static_cast<int>(ratios.size())};
}

}  // namespace hgemm
