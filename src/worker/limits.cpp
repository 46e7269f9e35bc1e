#include "worker/limits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace hgemm {
namespace {

using std::chrono::milliseconds;

constexpr double kStepFactor = 10;  ///< times what the worker expects of a step
/// Where it does not know yet: far slower than any launch. The slowest config of results/h200 (64x8
/// at 16384^3) does 38e12.
constexpr double kLeastFlopsPerSecond = 1e12;
constexpr double kDayMs = 86'400'000;

/// Of any number: none is too large to be counted, and what is no time is none.
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
