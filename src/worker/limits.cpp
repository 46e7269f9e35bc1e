#include "worker/limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hgemm {
namespace {

using std::chrono::milliseconds;

constexpr double kStepFactor = 10;  ///< times the duration that the worker expects of a step
/// For a step of unknown duration: slower than any launch. The slowest config of results/h200 (64x8
/// at 16384^3) reaches 38e12.
constexpr double kLeastFlopsPerSecond = 1e12;
constexpr double kDayMs = 86'400'000;

/// Converts any number: large ones are capped; negative numbers and NaN count as 0.
milliseconds milliseconds_of(double ms) {
  if (!(ms > 0)) return milliseconds(0);
  return milliseconds(static_cast<std::int64_t>(std::min(ms, kDayMs)));
}

}  // namespace

milliseconds launch_limit(double flops) {
  return milliseconds_of(flops / kLeastFlopsPerSecond * 1e3);
}

milliseconds step_limit(const WorkerLimits& limits, double expected_ms, milliseconds launch) {
  const milliseconds work = expected_ms > 0 ? milliseconds_of(kStepFactor * expected_ms) : launch;
  return std::min(limits.step + work, limits.longest_step);
}

}  // namespace hgemm
