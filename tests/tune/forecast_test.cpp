// What a sweep is predicted to take.
#include "tune/forecast.h"

#include <numeric>

#include "support.h"

namespace hgemm {
namespace {

using testing::DoubleNear;
using testing::SizeIs;

TEST(Makespan, IsTheSumOnOneGpuAndTheLongestRaceOnMany) {
  const std::vector<double> races = {3, 1, 4, 1, 5, 9, 2, 6};
  EXPECT_DOUBLE_EQ(makespan_s(races, 1), 31);
  EXPECT_DOUBLE_EQ(makespan_s(races, 8), 9);
  EXPECT_DOUBLE_EQ(makespan_s(races, 100), 9);
  EXPECT_DOUBLE_EQ(makespan_s({}, 3), 0);
}

TEST(Makespan, TheLongestRacesBeginFirst) {
  // 9, 6 and 5 begin; then 4 at 5, 3 at 6, and so on: no GPU ends more than a race after another.
  EXPECT_DOUBLE_EQ(makespan_s({3, 1, 4, 1, 5, 9, 2, 6}, 3), 11);
}

TuneOutcome tuned(const TunePlan& plan, FakeMeasurer& gpu) {
  const std::filesystem::path file =
      fast_folder() / ("hgemm_forecast_test." + std::to_string(getpid()));
  FakeCompiler fake;
  QuietListener listener;
  TuneOutcome outcome;
  {
    Store store = Store::open(file, Store::Mode::kReadWrite);
    outcome = tune(plan, gpu, store, fake.compiler(), listener, nullptr);
  }
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) {
    std::filesystem::remove(file.string() + suffix);
  }
  return outcome;
}

TEST(Forecast, HasTheRacesAndTheKernelsThatATuneHas) {
  TunePlan plan;
  plan.problems = {kSmall, kLarge, kOddK};  // for the last one no config fits
  plan.configs = configs(20);
  plan.search.emplace();
  plan.search->budget = {.share = 0.25};
  plan.policy.min_rounds = plan.policy.max_rounds = 3;
  FakeMeasurer gpu;
  const auto races = forecast(plan, gpu.where.environment);
  const TuneOutcome outcome = tuned(plan, gpu);
  std::size_t configs = 0;
  for (const RaceForecast& race : races) {
    EXPECT_GT(race.seconds, 0);
    configs += race.kernels;
  }
  EXPECT_EQ(static_cast<std::int64_t>(configs), outcome.recorded);
  EXPECT_EQ(static_cast<std::size_t>(gpu.opened), races.size());
}

TEST(Forecast, ASweepOnMoreGpusTakesTheSameGpuHours) {
  TunePlan plan;
  for (int i = 1; i <= 16; ++i) {
    plan.problems.push_back({.m = 512 * i, .n = 4096, .k = 4096, .tag = ""});
  }
  plan.configs = configs(10);
  const Environment gpu = fake_machine().environment;
  const SweepForecast one = forecast_sweep(plan, gpu, 1);
  const SweepForecast four = forecast_sweep(plan, gpu, 4);
  EXPECT_EQ(one.by_race.size(), forecast(plan, gpu).size());
  EXPECT_EQ(one.races, 16u);
  EXPECT_DOUBLE_EQ(one.gpu_hours, one.hours);
  EXPECT_DOUBLE_EQ(four.gpu_hours, one.gpu_hours);
  EXPECT_THAT(4 * four.hours, DoubleNear(one.hours, 0.1 * one.hours));
  EXPECT_DOUBLE_EQ(one.kwh, one.gpu_hours * 0.7);
}

}  // namespace
}  // namespace hgemm
