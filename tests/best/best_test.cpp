#include "best/best.h"

#include <gmock/gmock.h>

#include <cmath>

#include "space/label.h"

namespace hgemm {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Shape kShape{.m = 4096, .n = 4096, .k = 1024, .tag = "seeds"};
const std::string kA = label(KernelConfig{.bn = 64});
const std::string kB = label(KernelConfig{.bn = 128});
const std::string kC = label(KernelConfig{.bn = 256});

/// Drifts as a warming GPU does, so that only ratios within a round are clean.
double drift(int round) { return 1 + 0.02 * round; }
/// A part in a thousand, different for each phase, so that candidates are not exact multiples.
double noise(int round, int phase) { return 1 + 0.001 * std::sin(7.0 * round + phase); }

std::vector<Sample> samples(double time_us, int first_round, int rounds, int phase = 0) {
  std::vector<Sample> out;
  for (int r = first_round; r < first_round + rounds; ++r) {
    out.push_back({.round = r,
                   .launches = 20,
                   .time_us = time_us * drift(r) * noise(r, phase),
                   .sm_mhz = 1500});
  }
  return out;
}

Trial ok(const std::string& label, std::vector<Sample> samples, Stage stage = Stage::kFinal) {
  return {.label = label,
          .stage = stage,
          .status = Status::kOk,
          .message = "",
          .verdict = {.correct = true, .error = 0.001, .tolerance = 0.01, .message = ""},
          .samples = std::move(samples)};
}
Trial failed(const std::string& label, Status status) {
  return {.label = label,
          .stage = Stage::kNone,
          .status = status,
          .message = "",
          .verdict = {},
          .samples = {}};
}

RecordedRace race(std::vector<Trial> trials, const std::string& driver = "580",
                  const Shape& shape = kShape) {
  static std::int64_t id = 0;
  RecordedRace out;
  out.id = ++id;
  out.environment.gpu_name = "NVIDIA H200";
  out.environment.sm_count = 132;
  out.environment.driver = driver;
  out.started_utc = "2026-11-20T10:00:00Z";
  out.race = {.shape = shape, .regime = Regime::kSustained, .trials = std::move(trials)};
  return out;
}

BestRow only_row(const std::vector<RecordedRace>& races) {
  const auto rows = best_rows(races);
  EXPECT_THAT(rows, SizeIs(1));
  return rows.at(0);
}

TEST(Best, TheWinnerHasTheHighestRatioWithinRounds) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 15)), ok("cublaslt.0", samples(99, 3, 12, 4)),
                      ok("cublaslt.1", samples(97, 3, 12, 5)), ok(kA, samples(104, 3, 12, 1)),
                      ok(kB, samples(98, 3, 12, 2))})});
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.stage, Stage::kFinal);
  EXPECT_TRUE(row.verified);
  EXPECT_THAT(*row.time_us, DoubleNear(98 * 1.17, 0.3));
  EXPECT_THAT(*row.tflops, DoubleNear(kShape.flops() / *row.time_us / 1e6, 1e-9));
  EXPECT_THAT(row.cublas->value, DoubleNear(100.0 / 98, 0.002));
  EXPECT_LE(row.cublas->interval.low, row.cublas->value);
  EXPECT_GE(row.cublas->interval.high, row.cublas->value);
  EXPECT_LT(row.cublas->interval.high - row.cublas->interval.low, 0.004) << "drift is not noise";
  EXPECT_EQ(row.cublaslt_label, "cublaslt.1");
  EXPECT_THAT(row.cublaslt->value, DoubleNear(97.0 / 98, 0.002));
  EXPECT_THAT(*row.cublaslt_time_us, DoubleNear(97 * 1.17, 0.3));
  EXPECT_THAT(*row.cublas_time_us, DoubleNear(100 * 1.17, 0.3)) << "final rounds only";
  EXPECT_EQ(row.sm_mhz, 1500);
  // 132 SMs x 4096 FLOPs x 1.5 GHz = 811 TFLOP/s.
  EXPECT_THAT(*row.peak_fraction, DoubleNear(*row.tflops / 811.0, 1e-4));
  EXPECT_FALSE(row.joules.has_value());
  EXPECT_EQ(row.trials, 2);
  EXPECT_EQ(row.failed, 0);
}

TEST(Best, AFinalistThatCannotBeToldFromTheWinnerIsATie) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 20)), ok(kA, samples(98.005, 0, 20, 1)),
                      ok(kB, samples(98, 0, 20, 2)), ok(kC, samples(98.5, 0, 20, 3))})});
  // The first two differ by less than their noise, the third by five times as much.
  EXPECT_EQ(row.ties, std::vector{row.label == kA ? kB : kA});
}

TEST(Best, BaselinesThatFailedOrNeverRanAreNotCompared) {
  Trial broken = ok("cublaslt.0", samples(1, 0, 9));
  broken.status = Status::kWrongResult;
  const BestRow row = only_row({race({broken, ok(kA, samples(50, 0, 9))})});
  EXPECT_EQ(row.label, kA);
  EXPECT_FALSE(row.cublas.has_value());
  EXPECT_FALSE(row.cublaslt.has_value());
  EXPECT_EQ(row.cublaslt_label, "");
}

TEST(Best, OnlyOkFinalistsWin) {
  Trial wrong = ok(kA, samples(10, 3, 9));
  wrong.status = Status::kWrongResult;
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 12)), wrong,
                      ok(kB, samples(20, 0, 2), Stage::kScreen), ok(kC, samples(90, 3, 9))})});
  EXPECT_EQ(row.label, kC);
  EXPECT_EQ(row.trials, 3);
  EXPECT_EQ(row.failed, 1);
}

TEST(Best, WithoutFinalistsTheFastestScreenedIsShownAsSuch) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 8)), ok(kA, samples(90, 0, 8), Stage::kScreen),
                      ok(kB, samples(110, 0, 8), Stage::kScreen)})});
  EXPECT_EQ(row.label, kA);
  EXPECT_EQ(row.stage, Stage::kScreen);
  EXPECT_THAT(row.cublas->value, DoubleNear(100.0 / 90, 0.002));
  EXPECT_TRUE(std::isnan(row.cublas->interval.low));
  EXPECT_TRUE(std::isnan(row.cublas->interval.high));
  EXPECT_THAT(row.ties, IsEmpty());
}

TEST(Best, TooFewRoundsGiveNoIntervalAndTellNothingApart) {
  const BestRow row = only_row({race(
      {ok("cublas", samples(100, 0, 5)), ok(kA, samples(90, 0, 5)), ok(kB, samples(110, 0, 5))})});
  EXPECT_EQ(row.label, kA);
  EXPECT_TRUE(std::isnan(row.cublas->interval.low));
  EXPECT_THAT(row.ties, ElementsAre(kB));
}

TEST(Best, AShapeThatNoConfigComputedHasARowWithoutALabel) {
  const BestRow row =
      only_row({race({failed(kA, Status::kInvalidConfig), failed(kB, Status::kInvalidConfig),
                      failed(kC, Status::kTimedOut)})});
  EXPECT_FALSE(row.label.has_value());
  EXPECT_FALSE(row.time_us.has_value());
  EXPECT_EQ(row.stage, Stage::kNone);
  EXPECT_EQ(row.trials, 3);
  EXPECT_EQ(row.failed, 1);
  EXPECT_EQ(row.started_utc, "2026-11-20T10:00:00Z");
}

TEST(Best, RacesOfOneEnvironmentArePooledByRatioNotByTime) {
  // The second race ran on a hotter chip: everything slower, its config relatively better.
  auto first = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(99, 0, 9, 1))});
  auto second = race({ok("cublas", samples(120, 0, 9)), ok(kB, samples(114, 0, 9, 1)),
                      failed(kC, Status::kCrashed)});
  second.environment.git_revision = "newer";
  const BestRow row = only_row({first, second});
  EXPECT_EQ(row.label, kB);
  EXPECT_THAT(row.cublas->value, DoubleNear(120.0 / 114, 0.002));
  EXPECT_THAT(row.ties, IsEmpty()) << "another race's finalist is not comparable";
  EXPECT_EQ(row.environment.git_revision, "newer");
  EXPECT_EQ(row.trials, 3);
  EXPECT_EQ(row.failed, 1);
}

TEST(Best, TheNewestEnvironmentAnswersAlone) {
  const auto older = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(50, 0, 9))}, "570");
  const auto newer = race({ok("cublas", samples(100, 0, 9)), ok(kB, samples(99, 0, 9))}, "580");
  const BestRow row = only_row({older, newer});
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.environment.driver, "580");
  EXPECT_EQ(row.trials, 1);

  // A race that was interrupted before anything ended hides nothing.
  EXPECT_EQ(only_row({older, race({ok("cublas", samples(100, 0, 2))}, "580")}).label, kA);
}

TEST(Best, RowsFollowTheShapesAskedForWithTheirTags) {
  const Shape small{.m = 16, .n = 4096, .k = 4096, .tag = "recorded"};
  const std::vector<RecordedRace> races = {race({ok(kA, samples(9, 0, 9))}, "580", small),
                                           race({ok(kB, samples(50, 0, 9))})};
  EXPECT_THAT(best_rows(races), SizeIs(2));
  EXPECT_EQ(best_rows(races)[0].shape.tag, "recorded");

  Shape renamed = small;
  renamed.tag = "decode/o";
  const Shape never{.m = 7, .n = 8, .k = 8, .tag = "x"};
  const auto rows = best_rows(races, std::vector{kShape, never, renamed});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].label, kB);
  EXPECT_TRUE(rows[1].shape.same_problem(never));
  EXPECT_EQ(rows[1].trials, 0);
  EXPECT_EQ(rows[1].started_utc, "");
  EXPECT_FALSE(rows[1].label.has_value());
  EXPECT_EQ(rows[2].label, kA);
  EXPECT_EQ(rows[2].shape.tag, "decode/o");
}

TEST(Best, OfNothingIsNothing) { EXPECT_THAT(best_rows({}), IsEmpty()); }

}  // namespace
}  // namespace hgemm
