// The bounds of every wait for a worker, as numbers: one that is 50 times too long is no bound.
#include "worker/limits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hgemm {
namespace {

using namespace std::chrono_literals;

constexpr double kLargestFlops = 2.0 * 16384 * 16384 * 16384;

TEST(WorkerLimits, AreWhatPeopleWaitAtMost) {
  const WorkerLimits limits;
  EXPECT_EQ(limits.start, 1min);
  EXPECT_EQ(limits.open, 30s);
  EXPECT_EQ(limits.step, 4s);
  EXPECT_EQ(limits.longest_step, 10min);
  EXPECT_EQ(limits.request, 1h);
  EXPECT_EQ(limits.end, 5s);
  EXPECT_EQ(Child::kReapLimit, 30s);
}

TEST(WorkerLimits, AnUnknownLaunchMayBeFarSlowerThanAnySeen) {
  EXPECT_EQ(launch_limit(1e12), 1s);
  EXPECT_EQ(launch_limit(kLargestFlops), 8796ms);
  EXPECT_EQ(launch_limit(2.0 * 512 * 512 * 512), 0ms);
  EXPECT_EQ(launch_limit(0), 0ms);
}

TEST(WorkerLimits, AStepMayTakeTenTimesWhatIsExpectedOfIt) {
  const WorkerLimits limits;
  EXPECT_EQ(step_limit(limits, 100, 8s), 4s + 1s);
  EXPECT_EQ(step_limit(limits, 3000, 0s), 4s + 30s);
  EXPECT_EQ(step_limit(limits, 0, 8s), 4s + 8s) << "nothing is known of it";
}

TEST(WorkerLimits, NoWordOfTheWorkerMakesAStepEndless) {
  const WorkerLimits limits;
  for (const double expected : {1e9, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(step_limit(limits, expected, 0s), limits.longest_step) << expected;
  }
  for (const double expected : {-1.0, -1e300, std::nan("")}) {
    EXPECT_EQ(step_limit(limits, expected, 8s), 4s + 8s) << expected;
  }
  EXPECT_EQ(launch_limit(1e300), 24h);
  EXPECT_EQ(launch_limit(std::nan("")), 0ms);
}

}  // namespace
}  // namespace hgemm
