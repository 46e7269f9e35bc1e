// Which kernels races wait for within a time, and in which order they run.
#include "tune/time_shares.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "families/family.h"
#include "tune/race_queue.h"
#include "tune/stage.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;
using testing::SizeIs;
using namespace std::chrono_literals;

/// Races of `configs` kernels each, all different: of 64, 128, 192... rows.
std::vector<Missing> races_of(std::size_t races, std::size_t configs) {
  std::vector<Missing> result;
  for (std::size_t i = 1; i <= races; ++i) {
    Missing race{{.m = static_cast<std::int64_t>(64 * i), .n = 4096, .k = 4096, .tag = ""},
                 Regime::kBurst,
                 {},
                 1000};
    race.launch_us = 20;
    for (std::size_t j = 0; j < configs; ++j) {
      TiledConfig config{.bm = 128, .bn = 128, .bk = 64, .stages = 4, .fixed = true};
      config.group = static_cast<int>(j + 1);
      config.order = TileOrder::kGroupedRows;
      race.configs.emplace_back(config);
    }
    result.push_back(race);
  }
  return result;
}

TimeShares shares_of(std::chrono::seconds time) {
  return {std::chrono::steady_clock::now() + time, 10, 1};
}

// 60 s of 10 processes are some 1,000 kernels.
TEST(TimeShares, WhatIsCompilableFollowsFromTimeAndProcesses) {
  EXPECT_EQ(shares_of(60s).compilable(160), 1);
  EXPECT_GT(shares_of(60s).compilable(4000), 0.1);
  EXPECT_LT(shares_of(60s).compilable(4000), 0.4);
  EXPECT_NEAR(shares_of(60s).compilable(8000), shares_of(30s).compilable(4000), 0.02);
}

TEST(TimeShares, ARaceBeginsWithAsManyKernelsAsThereIsTimeToRace) {
  const std::vector<Missing> races = races_of(20, 40);
  double all_s = 0;
  for (const Missing& race : races) {
    all_s += duration_s(race.to_come(), {.effort = Effort::kBrief, .configs = 40});
  }
  const auto enough = [&](double share_of_time, double busy_s) {
    const auto ms = std::chrono::milliseconds(static_cast<long long>(1e3 * share_of_time * all_s));
    const TimeShares shares{std::chrono::steady_clock::now() + ms, 10, 1};
    return shares.enough_ready(races, busy_s);
  };
  EXPECT_EQ(enough(2, 0), 1);
  EXPECT_LT(enough(1, 0), 1);
  EXPECT_GT(enough(1, 0), 0.5);
  EXPECT_LT(enough(0.8, 0), enough(1, 0));
  EXPECT_LT(enough(1, 0.2 * all_s), enough(1, 0)) << "another race takes a part of it";
  EXPECT_EQ(enough(0.05, 0), 0);
}

TEST(TimeShares, GpusBeyondTheNumberOfRacesDoNotPutOffTheLastOne) {
  const std::vector<Missing> last = races_of(1, 40);
  const double all_s =
      duration_s(last.front().to_come(), {.effort = Effort::kBrief, .configs = 40});
  const auto ms = std::chrono::milliseconds(static_cast<long long>(1e3 * all_s));
  const auto deadline = std::chrono::steady_clock::now() + ms;
  const double one = TimeShares(deadline, 10, 1).enough_ready(last, 0);
  EXPECT_LT(one, 1);
  EXPECT_NEAR(TimeShares(deadline, 10, 8).enough_ready(last, 0), one, 0.05);
}

TEST(NeededKernels, AShareOfEachRaceComesRaceByRaceThenTheOthersByRank) {
  const std::vector<Missing> races = races_of(2, 5);
  std::vector<std::pair<std::int64_t, int>> order;
  for (const Kernel& kernel : needed_kernels(races, 0.5)) {
    const auto& tiled = std::get<TiledKernel>(kernel);
    order.emplace_back(tiled.gemm.m, tiled.group);
  }
  EXPECT_THAT(order,
              ElementsAre(std::pair(64, 1), std::pair(64, 2), std::pair(128, 1), std::pair(128, 2),
                          std::pair(64, 3), std::pair(128, 3), std::pair(64, 4), std::pair(128, 4),
                          std::pair(64, 5), std::pair(128, 5)));
  EXPECT_THAT(needed_kernels(races_of(2, 5), 0.01), SizeIs(10));
}

/// The number of rows of the race that is taken.
std::optional<std::int64_t> taken(RaceQueue& queue, const std::vector<double>& ready,
                                  double enough) {
  const auto fraction = [&](const Missing& race) {
    return ready.at(static_cast<std::size_t>(race.problem.m / 64 - 1));
  };
  const std::optional<Missing> race = queue.take(0, fraction, enough);
  if (!race) return std::nullopt;
  return race->problem.m;
}

TEST(RaceQueue, TakesTheFirstReadyRaceElseTheReadiestIfThatIsEnough) {
  RaceQueue queue(races_of(4, 2), 1);
  EXPECT_EQ(taken(queue, {0.2, 0.5, 0.4, 0}, 0.6), std::nullopt);
  EXPECT_EQ(taken(queue, {0, 0, 0, 0}, 0), std::nullopt);
  EXPECT_THAT(taken(queue, {0.2, 0.5, 1, 1}, 0.1), Optional(Eq(192)));
  EXPECT_THAT(taken(queue, {0.2, 0.5, 1, 0.4}, 0.4), Optional(Eq(128)));
}

TEST(RaceQueue, SeveralGpusTakeTheLongestFirstAndProblemsWithAWinnerLast) {
  std::vector<Missing> races = races_of(4, 2);
  for (Missing& race : races) race.launch_us = static_cast<double>(race.problem.m);
  races[3].again = 1;  // the longest
  RaceQueue queue(std::move(races), 2);
  for (const std::int64_t rows : {192, 128, 64, 256}) {
    EXPECT_THAT(taken(queue, {1, 1, 1, 1}, 1), Optional(Eq(rows)));
  }
}

}  // namespace
}  // namespace hgemm
