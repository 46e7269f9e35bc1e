#include "results/best.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using namespace test;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

BestRow only_row(const std::vector<RecordedRace>& races, Objective objective = Objective::kTime) {
  const auto rows = best_rows(races, {}, objective);
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
  EXPECT_THAT(*row.tflops, DoubleNear(kProblem.flops() / *row.time_us / 1e6, 1e-9));
  EXPECT_THAT(row.cublas->value, DoubleNear(100.0 / 98, 0.002));
  EXPECT_LE(row.cublas->interval.low, row.cublas->value);
  EXPECT_GE(row.cublas->interval.high, row.cublas->value);
  EXPECT_LT(row.cublas->interval.high - row.cublas->interval.low, 0.004) << "drift is not noise";
  EXPECT_EQ(row.cublaslt_label, "cublaslt.1");
  EXPECT_THAT(row.cublaslt->value, DoubleNear(97.0 / 98, 0.002));
  EXPECT_THAT(*row.cublaslt_time_us, DoubleNear(97 * 1.17, 0.3));
  EXPECT_THAT(*row.cublas_time_us, DoubleNear(100 * 1.17, 0.3)) << "final rounds only";
  EXPECT_EQ(row.sm_mhz, 1500);
  // 132 SMs x 4096 FLOPs x 1.5 GHz.
  EXPECT_THAT(*row.peak_fraction, DoubleNear(*row.tflops / 811.008, 1e-9));
  EXPECT_FALSE(row.joules.has_value());
  EXPECT_EQ(row.trials, 2);
  EXPECT_EQ(row.failed, 0);
}

TEST(Fastest, IsTheLibraryOfTheLowestRatioBelowOne) {
  const auto row_of = [](double cublas, double cublaslt) {
    Trial lt = ok("cublaslt.1", samples(cublaslt, 0, 12));
    lt.message = "the algorithm";
    return only_row({race({ok("cublas", samples(cublas, 0, 12)), lt, ok(kA, samples(98, 0, 12))})});
  };
  EXPECT_EQ(fastest_of(row_of(100, 99)), Fastest::kConfig);
  EXPECT_EQ(fastest_of(row_of(98, 98)), Fastest::kConfig) << "a library must be faster";
  EXPECT_EQ(fastest_of(row_of(100, 97)), Fastest::kCublasLt);
  EXPECT_EQ(fastest_of(row_of(96, 97)), Fastest::kCublas);
  EXPECT_EQ(fastest_of(BestRow{}), Fastest::kConfig);

  std::vector<BestRow> rows = {row_of(100, 99), row_of(100, 97), row_of(96, 97)};
  EXPECT_EQ(rows[1].cublaslt_algorithm, "the algorithm");
  for (const BestRow& row : rows) EXPECT_EQ(row.library, "");
  name_libraries(rows);
  EXPECT_EQ(rows[0].library, "");
  EXPECT_EQ(rows[1].library, "cublaslt.1");
  EXPECT_EQ(rows[2].library, "cublas");
}

TEST(Best, AFinalistThatCannotBeToldFromTheWinnerIsATie) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 20)), ok(kA, samples(98.005, 0, 20, 1)),
                      ok(kB, samples(98, 0, 20, 2)), ok(kC, samples(99.5, 0, 20, 3))})});
  // The first two differ by less than their noise, the third by fifteen times as much.
  EXPECT_EQ(row.ties, std::vector{row.label == kA ? kB : kA});
}

TEST(Best, ADifferenceBelowTheMarginIsATieHoweverSure) {
  // All three have the same noise: their ratios are exact.
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 20)), ok(kA, samples(90, 0, 20)),
                      ok(kB, samples(90 * 1.004, 0, 20)), ok(kC, samples(90 * 1.006, 0, 20))})});
  EXPECT_EQ(row.label, kA);
  EXPECT_THAT(row.ties, ElementsAre(kB));
}

TEST(Best, FinalistsStandBesideTheWinnerBestFirst) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 12)), ok(kA, samples(99, 3, 9)),
                      ok(kB, samples(90, 3, 9)), ok(kC, samples(10, 3, 2), Stage::kScreen)})});
  ASSERT_THAT(row.finalists, SizeIs(2)) << "who was eliminated in the final is none";
  EXPECT_EQ(row.finalists[0].label, kB);
  EXPECT_EQ(row.finalists[0].winner->value, 1);
  EXPECT_EQ(row.finalists[1].label, kA);
  EXPECT_THAT(row.finalists[1].winner->value, DoubleNear(90.0 / 99, 1e-9));
  EXPECT_THAT(row.finalists[1].cublas->value, DoubleNear(100.0 / 99, 1e-9));
}

TEST(Best, ADriftOfTheClockThatAllSeeChangesNoRatio) {
  auto calm = race({ok("cublas", samples(100, 0, 12)), ok("cublaslt.0", samples(97, 0, 12, 1)),
                    ok(kA, samples(95, 3, 9, 2)), ok(kB, samples(96, 3, 9, 3))});
  auto stormy = calm;
  for (Trial& trial : stormy.race.trials) {
    for (Sample& sample : trial.samples) {
      const double slowdown = 1 + 0.3 * (sample.round % 4);
      sample.time_us *= slowdown;
      sample.sm_mhz /= slowdown;
    }
  }
  const BestRow a = only_row({calm}), b = only_row({stormy});
  EXPECT_EQ(a.label, b.label);
  EXPECT_EQ(a.ties, b.ties);
  EXPECT_THAT(b.cublas->value, DoubleNear(a.cublas->value, 1e-9));
  EXPECT_THAT(b.cublas->interval.low, DoubleNear(a.cublas->interval.low, 1e-9));
  EXPECT_THAT(b.cublaslt->value, DoubleNear(a.cublaslt->value, 1e-9));
  EXPECT_THAT(*b.cublas_cycles, DoubleNear(*a.cublas_cycles, 1e-9));
  EXPECT_GT(*b.time_us, 1.2 * *a.time_us);
}

TEST(Best, OnlySamplesOfOnePaceAreCompared) {
  // Screening was rested, and rested samples are twice as fast; so was one round of the final.
  auto cublas = samples(50, 0, 3, 0, Pace::kRested) + samples(100, 3, 9, 0, Pace::kOwn);
  cublas[6].pace = Pace::kRested;
  cublas[6].time_us /= 2;
  const BestRow row =
      only_row({race({ok("cublas", cublas), ok(kA, samples(90, 2, 10, 0, Pace::kOwn))})});
  EXPECT_EQ(row.pace, Pace::kOwn);
  EXPECT_THAT(row.rounds.cublas, SizeIs(8));
  EXPECT_THAT(row.rounds.cublas, Each(DoubleNear(100.0 / 90, 1e-9)));
  EXPECT_THAT(row.rounds.time_us, SizeIs(10));
}

TEST(Best, CyclesTellAKernelFromItsClock) {
  auto trials = std::vector{ok("cublas", samples(100, 0, 9)), ok(kA, samples(105, 0, 9))};
  for (Sample& sample : trials[1].samples) sample.sm_mhz = 1300;  // it draws more power
  BestRow row = only_row({race(trials)});
  EXPECT_THAT(row.cublas->value, DoubleNear(100.0 / 105, 1e-9));
  EXPECT_THAT(*row.cublas_cycles, DoubleNear(100.0 * 1500 / (105 * 1300), 1e-9));
  EXPECT_THAT(row.rounds.cycles, SizeIs(9));

  for (Sample& sample : trials[0].samples) sample.sm_mhz = 0;
  row = only_row({race(trials)});
  EXPECT_FALSE(row.cublas_cycles.has_value()) << "no clock was read";
  EXPECT_TRUE(row.cublas.has_value());
}

TEST(Best, WithoutAClockThereIsNoShareOfThePeakAndThereAreNoCycles) {
  auto trials = std::vector{ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9))};
  for (Sample& sample : trials[1].samples) sample.sm_mhz = 0;
  BestRow row = only_row({race(trials)});
  EXPECT_EQ(row.label, kA);
  EXPECT_EQ(row.sm_mhz, std::nullopt);
  EXPECT_EQ(row.peak_fraction, std::nullopt);
  EXPECT_EQ(row.cublas_cycles, std::nullopt);
  EXPECT_THAT(row.rounds.cycles, IsEmpty());

  RecordedRace unknown = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9))});
  unknown.environment.sm_count = 0;
  row = only_row({unknown});
  EXPECT_EQ(row.sm_mhz, 1500);
  EXPECT_EQ(row.peak_fraction, std::nullopt) << "of a GPU whose size nobody recorded";
}

TEST(Best, OfEqualsTheFirstIsNamedAndTheOtherIsATie) {
  const BestRow row =
      only_row({race({ok("cublas", samples(100, 0, 9)), ok("cublaslt.0", samples(95, 0, 9)),
                      ok("cublaslt.1", samples(95, 0, 9)), ok(kA, samples(90, 0, 9)),
                      ok(kB, samples(90, 0, 9))})});
  EXPECT_EQ(row.label, kA);
  EXPECT_THAT(row.ties, ElementsAre(kB));
  EXPECT_EQ(row.cublaslt_label, "cublaslt.0");

  const BestRow alone = only_row({race({ok(kA, samples(90, 0, 9)), ok(kB, samples(90, 0, 9))})});
  EXPECT_EQ(alone.label, kA) << "without cuBLAS, too";
}

TEST(Best, ClockEventsAreThoseOfTheSamplesCompared) {
  auto trials = std::vector{ok("cublas", samples(100, 0, 12)), ok(kA, samples(90, 3, 9)),
                            ok(kB, samples(99, 3, 9))};
  EXPECT_EQ(only_row({race(trials)}).clock_events, 0u) << "no NVML";
  trials[0].samples[1].clock_events = clock_event::kIdle;  // in screening
  trials[0].samples[5].clock_events = clock_event::kPowerCap;
  trials[1].samples[0].clock_events = clock_event::kThermal;
  trials[1].samples[8].clock_events = clock_event::kPowerCap;
  trials[2].samples[4].clock_events = clock_event::kPowerBrake;  // of a loser
  EXPECT_EQ(only_row({race(trials)}).clock_events, clock_event::kPowerCap | clock_event::kThermal);
}

TEST(Best, AnAlgorithmThatWasEliminatedIsNotTheFastestOne) {
  // It left the final after three rounds, in which it was lucky.
  const auto cublas = ok("cublas", samples(100, 0, 12));
  const auto eliminated = ok("cublaslt.0", samples(80, 0, 6), Stage::kScreen);
  const auto ours = ok(kA, samples(90, 3, 9));
  BestRow row = only_row({race({cublas, eliminated, ok("cublaslt.1", samples(95, 0, 12)), ours})});
  EXPECT_EQ(row.cublaslt_label, "cublaslt.1");
  EXPECT_THAT(row.cublaslt->value, DoubleNear(95.0 / 90, 1e-9));

  row = only_row({race({cublas, eliminated, ours})});
  EXPECT_EQ(row.cublaslt_label, "cublaslt.0") << "better than none";
  EXPECT_TRUE(std::isnan(row.cublaslt->interval.low)) << "three rounds";

  // The GPU got slower all the time: who left early has the shorter times.
  row = only_row({race({cublas, ok("cublaslt.0", samples(98, 0, 6), Stage::kScreen),
                        ok("cublaslt.1", samples(95, 0, 12), Stage::kScreen), ours})});
  EXPECT_EQ(row.cublaslt_label, "cublaslt.1");
}

TEST(Best, ByEnergyTheConfigWithTheFewestJoulesWins) {
  auto fast = weighed(kA, 90, 0.050), thrifty = weighed(kB, 94, 0.040),
       close = weighed(kC, 95, 0.0401);
  auto lt = weighed("cublaslt.0", 98, 0.055);
  const std::vector races = {race({weighed("cublas", 100, 0.060), lt, fast, thrifty, close})};

  const BestRow by_time = only_row(races);
  EXPECT_EQ(by_time.label, kA);
  EXPECT_THAT(*by_time.joules, DoubleNear(0.050, 1e-9));
  EXPECT_THAT(by_time.ties, IsEmpty());

  const BestRow by_energy = only_row(races, Objective::kEnergy);
  EXPECT_EQ(by_energy.label, kB);
  EXPECT_THAT(*by_energy.joules, DoubleNear(0.040, 1e-9));
  EXPECT_THAT(*by_energy.cublas_joules, DoubleNear(0.060, 1e-9));
  EXPECT_THAT(*by_energy.cublaslt_joules, DoubleNear(0.055, 1e-9));
  EXPECT_THAT(by_energy.cublas->value, DoubleNear(100.0 / 94, 1e-9)) << "ratios stay of time";
  EXPECT_THAT(by_energy.ties, ElementsAre(kC)) << "0.25 % more joules";
}

TEST(Best, ByEnergyTimeDecidesWhereNothingWasWeighed) {
  const auto cublas = ok("cublas", samples(100, 0, 12));
  const BestRow row = only_row(
      {race({cublas, ok(kA, samples(95, 3, 9)), ok(kB, samples(90, 3, 9))})}, Objective::kEnergy);
  EXPECT_EQ(row.label, kB);
  EXPECT_FALSE(row.joules.has_value());

  // A faster one that was not weighed may draw anything.
  EXPECT_EQ(only_row({race({cublas, weighed(kA, 95, 0.05), ok(kB, samples(90, 3, 9))})},
                     Objective::kEnergy)
                .label,
            kA);
}

TEST(Best, ByEnergyRacesArePooledByJoulesOverThoseOfCublas) {
  // In the second race everything took more: a hotter chip.
  const std::vector races = {race({weighed("cublas", 100, 0.050), weighed(kA, 90, 0.045)}),
                             race({weighed("cublas", 100, 0.060), weighed(kB, 92, 0.048)})};
  EXPECT_EQ(only_row(races).label, kA);
  EXPECT_EQ(only_row(races, Objective::kEnergy).label, kB);
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

// The GPU rests before a screening sample: as in burst, not as at full load.
TEST(Best, TimesOfScreeningAreThoseOfBurstOnly) {
  const std::vector<Trial> trials = {ok("cublas", samples(100, 0, 8)),
                                     ok(kA, samples(90, 0, 8), Stage::kScreen)};
  const BestRow burst = only_row({race(trials, "580", kProblem, Regime::kBurst)});
  EXPECT_THAT(burst.cublas_time_us.value_or(0) / burst.time_us.value_or(1),
              DoubleNear(100.0 / 90, 0.004));
  const BestRow sustained = only_row({race(trials, "580", kProblem, Regime::kSustained)});
  EXPECT_EQ(sustained.time_us, std::nullopt);
  EXPECT_EQ(sustained.cublas_time_us, std::nullopt);
}

TEST(Best, TooFewRoundsGiveNoIntervalAndTellNothingApart) {
  const BestRow row = only_row({race(
      {ok("cublas", samples(100, 0, 5)), ok(kA, samples(90, 0, 5)), ok(kB, samples(110, 0, 5))})});
  EXPECT_EQ(row.label, kA);
  EXPECT_TRUE(std::isnan(row.cublas->interval.low));
  EXPECT_THAT(row.ties, ElementsAre(kB));
}

TEST(Best, AProblemThatNoConfigComputedHasARowWithoutALabel) {
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
  second.run.git_revision = "newer";
  const BestRow row = only_row({first, second});
  EXPECT_EQ(row.label, kB);
  EXPECT_THAT(row.cublas->value, DoubleNear(120.0 / 114, 0.002));
  EXPECT_THAT(row.ties, IsEmpty()) << "another race's finalist is not comparable";
  EXPECT_EQ(row.run.git_revision, "newer");
  EXPECT_EQ(row.trials, 3);
  EXPECT_EQ(row.failed, 1);
}

TEST(Best, WhereNothingWasFoundItSaysWhoLooked) {
  auto looked = race({ok("cublas", samples(100, 0, 12)), failed(kA, Status::kCrashed)});
  looked.run.git_revision = "abc";
  const BestRow row = only_row({looked});
  EXPECT_EQ(row.label, std::nullopt);
  EXPECT_EQ(row.run.git_revision, "abc");
  EXPECT_EQ(row.started_utc, looked.started_utc);
}

TEST(Best, OfAConfigThatWasMeasuredAgainTheNewestCounts) {
  // For its energy, say; the first time it was lucky.
  const auto cublas = ok("cublas", samples(100, 0, 12));
  auto again = race({weighed("cublas", 100, 0.06), weighed(kA, 95, 0.05)});
  again.started_utc = "2026-11-21T10:00:00Z";
  BestRow row = only_row({race({cublas, ok(kA, samples(90, 3, 9))}), again});
  EXPECT_THAT(row.cublas->value, DoubleNear(100.0 / 95, 1e-9));
  EXPECT_TRUE(row.joules.has_value());
  EXPECT_EQ(row.started_utc, again.started_utc);
  EXPECT_THAT(row.finalists, SizeIs(1));
  EXPECT_EQ(row.trials, 1);

  // A race that was interrupted in screening takes nothing back.
  row = only_row({again, race({cublas, ok(kA, samples(99, 0, 2), Stage::kScreen)})});
  EXPECT_EQ(row.stage, Stage::kFinal);
}

TEST(Best, AConfigThatWasFoundWrongLaterIsNone) {
  const auto first = race(
      {ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9)), ok(kB, samples(95, 0, 9, 1))});
  const auto verify = race({failed(kA, Status::kWrongResult)});
  EXPECT_EQ(only_row({first}).label, kA);
  BestRow row = only_row({first, verify});
  EXPECT_EQ(row.label, kB);
  EXPECT_EQ(row.trials, 2);
  EXPECT_EQ(row.failed, 1);
  for (const Finalist& finalist : row.finalists) EXPECT_NE(finalist.label, kA);

  row = only_row({first, verify, race({failed(kB, Status::kTimedOut)})});
  EXPECT_FALSE(row.label.has_value());
  EXPECT_EQ(row.failed, 2);
}

TEST(Best, RegimesHaveRowsOfTheirOwnSustainedFirst) {
  const GemmProblem small{.m = 16, .n = 4096, .k = 4096, .tag = "small"};
  const auto cublas = ok("cublas", samples(100, 0, 9));
  const std::vector races = {
      race({cublas, ok(kB, samples(80, 0, 9))}, "580", kProblem, Regime::kBurst),
      race({cublas, ok(kC, samples(85, 0, 9))}, "580", small, Regime::kBurst),
      race({cublas, ok(kA, samples(90, 0, 9))}, "580", kProblem, Regime::kSustained)};
  const auto rows = best_rows(races, std::vector{kProblem, small});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].regime, Regime::kSustained);
  EXPECT_EQ(rows[0].label, kA) << "the burst race is not pooled with it";
  EXPECT_EQ(rows[1].regime, Regime::kBurst);
  EXPECT_EQ(rows[1].label, kB);
  EXPECT_TRUE(rows[2].problem.same_problem(small));
  EXPECT_EQ(rows[2].regime, Regime::kBurst);
  EXPECT_EQ(rows[2].label, kC);
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

TEST(Best, RowsFollowTheProblemsAskedForWithTheirTags) {
  const GemmProblem small{.m = 16, .n = 4096, .k = 4096, .tag = "recorded"};
  const std::vector<RecordedRace> races = {race({ok(kA, samples(9, 0, 9))}, "580", small),
                                           race({ok(kB, samples(50, 0, 9))})};
  EXPECT_THAT(best_rows(races), SizeIs(2));
  EXPECT_EQ(best_rows(races)[0].problem.tag, "recorded");

  GemmProblem renamed = small;
  renamed.tag = "decode/o";
  const GemmProblem never{.m = 7, .n = 8, .k = 8, .tag = "x"};
  const auto rows = best_rows(races, std::vector{kProblem, never, renamed});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0].label, kB);
  EXPECT_TRUE(rows[1].problem.same_problem(never));
  EXPECT_EQ(rows[1].trials, 0);
  EXPECT_EQ(rows[1].started_utc, "");
  EXPECT_FALSE(rows[1].label.has_value());
  EXPECT_EQ(rows[2].label, kA);
  EXPECT_EQ(rows[2].problem.tag, "decode/o");
}

TEST(Best, OfNothingIsNothing) { EXPECT_THAT(best_rows({}), IsEmpty()); }

// ---- Swapped operands ----

const std::string kSwapped = label(SwapAbConfig{.bm = 16, .bn = 64});

TEST(MeasuredSwaps, CompareTheBestOfEachWayThroughCublas) {
  const std::string slower = label(SwapAbConfig{.bm = 16, .bn = 128});
  const auto swap = measured_swap(
      std::vector{
          race({ok("cublas", samples(100, 0, 15)), ok(kA, samples(95, 0, 3), Stage::kScreen),
                ok(kB, samples(90, 0, 3), Stage::kScreen), ok(kSwapped, samples(75, 3, 12)),
                ok(slower, samples(80, 3, 12))})},
      kProblem);
  ASSERT_TRUE(swap);
  EXPECT_EQ(swap->swapped, kSwapped);
  EXPECT_EQ(swap->as_is, kB);
  EXPECT_THAT(swap->speedup, DoubleNear(90.0 / 75, 0.005)) << "though the GPU drifted meanwhile";
}

TEST(MeasuredSwaps, AreOfTheNewestRaceThatTriedBothWays) {
  auto older = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9)),
                     ok(kSwapped, samples(45, 0, 9))});
  auto newer = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9)),
                     ok(kSwapped, samples(60, 0, 9))});
  newer.started_utc = "2026-11-21T10:00:00Z";
  auto one_way = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9)),
                       failed(kSwapped, Status::kWrongResult)});
  one_way.started_utc = "2026-11-22T10:00:00Z";
  const auto swap = measured_swap(std::vector{newer, older, one_way}, kProblem);
  ASSERT_TRUE(swap);
  EXPECT_THAT(swap->speedup, DoubleNear(1.5, 0.01));
  EXPECT_FALSE(measured_swap(std::vector{one_way}, kProblem));
  GemmProblem other = kProblem;
  other.m = 8;
  EXPECT_FALSE(measured_swap(std::vector{newer}, other));
}

TEST(MeasuredSwaps, OfRacesOfOneSecondTheLaterRecordedCounts) {
  const auto first = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9)),
                           ok(kSwapped, samples(45, 0, 9))});
  const auto second = race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(90, 0, 9)),
                            ok(kSwapped, samples(60, 0, 9))});
  EXPECT_THAT(measured_swap(std::vector{first, second}, kProblem)->speedup, DoubleNear(1.5, 0.01));
}

TEST(Best, BriefRacesAnswerOnlyWhereNoneOfFullEffortDoes) {
  RecordedRace brief = race({ok("cublas", samples(100, 0, 15)), ok(kA, samples(80, 0, 15, 1))});
  brief.race.timing.brief = true;
  EXPECT_TRUE(only_row({brief}).brief);
  const RecordedRace full =
      race({ok("cublas", samples(100, 0, 15)), ok(kB, samples(90, 0, 15, 1))});
  const BestRow row = only_row({full, brief});
  EXPECT_EQ(row.label, kB) << "though the other is faster in the brief race";
  EXPECT_FALSE(row.brief);
  const RecordedRace both = race({ok("cublas", samples(100, 0, 15)), ok(kA, samples(85, 0, 15, 1)),
                                  ok(kB, samples(90, 0, 15, 1))});
  EXPECT_EQ(only_row({both, brief}).label, kA) << "a newer brief race does not hide it";
}

}  // namespace
}  // namespace hgemm
