#include "results/compare.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using namespace test;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Verdict = ComparedRow::Verdict;
using Recording = std::vector<RecordedRace>;

const GemmProblem kSmall{.m = 16, .n = 4096, .k = 4096, .tag = "small"};
const GemmProblem kWide{.m = 2048, .n = 32000, .k = 4096, .tag = "wide"};

/// A race of cublas, at 100 us, and configs; the noise of each `day` is another.
RecordedRace day(int phase, const std::vector<std::pair<std::string, double>>& configs,
                 const GemmProblem& problem = kProblem, Regime regime = Regime::kSustained) {
  std::vector<Trial> trials = {ok("cublas", samples(100, 0, 15, phase))};
  for (const auto& [label, time_us] : configs) {
    trials.push_back(ok(label, samples(time_us, 3, 12, ++phase)));
  }
  return race(std::move(trials), "580", problem, regime);
}

Comparison compared(const Recording& a, const Recording& b) { return compare(a, b); }

ComparedRow only_row(const Recording& a, const Recording& b) {
  const Comparison comparison = compare(a, b);
  EXPECT_THAT(comparison.rows, SizeIs(1));
  return comparison.rows.at(0);
}

TEST(Compare, ARecordingWithItselfIsTheSameEverywhere) {
  const Recording recording = {day(1, {{kA, 95}, {kB, 97}}), day(5, {{kB, 60}}, kSmall),
                               day(9, {{kC, 80}}, kProblem, Regime::kBurst)};
  const Comparison comparison = compared(recording, recording);
  ASSERT_THAT(comparison.rows, SizeIs(3));
  for (const ComparedRow& row : comparison.rows) {
    EXPECT_EQ(row.verdict, Verdict::kSame);
    EXPECT_TRUE(row.same_winner && row.tied);
    for (const auto& change : {row.ratio, row.time, row.cycles}) {
      EXPECT_EQ(change->value, 1);
      EXPECT_LT(change->interval.low, 1) << "both have noise, and neither knows the other's";
      EXPECT_GT(change->interval.high, 1);
    }
  }
  ASSERT_THAT(comparison.repeatability, SizeIs(2));
  const Repeatability& sustained = comparison.repeatability[0];
  EXPECT_EQ(sustained.regime, Regime::kSustained);
  EXPECT_EQ(sustained.problems, 2);
  EXPECT_EQ(sustained.same_winner, 2);
  EXPECT_EQ(sustained.agreeing, 2);
  EXPECT_EQ(sustained.candidates, 3);
  EXPECT_EQ(sustained.largest_moved, 0);
  EXPECT_EQ(sustained.largest_winner_moved, 0);
  EXPECT_EQ(comparison.repeatability[1].regime, Regime::kBurst);
  EXPECT_EQ(comparison.repeatability[1].problems, 1);
  EXPECT_THAT(comparison.only_in_a, IsEmpty());
  EXPECT_THAT(comparison.only_in_b, IsEmpty());
  EXPECT_THAT(comparison.environment_changes, IsEmpty());
}

/// kProblem unchanged, kSmall 4 % and kWide 8 % slower, and kSmall in burst 5 % faster.
const Recording kBefore = {day(1, {{kA, 95}}), day(2, {{kA, 50}}, kSmall),
                           day(3, {{kA, 80}}, kWide), day(4, {{kA, 50}}, kSmall, Regime::kBurst)};
const Recording kAfter = {day(11, {{kA, 95}}), day(12, {{kA, 52}}, kSmall),
                          day(13, {{kB, 86.4}}, kWide),
                          day(14, {{kA, 47.6}}, kSmall, Regime::kBurst)};

TEST(Compare, RegressionsComeFirstTheWorstAtTheTop) {
  const Comparison comparison = compared(kBefore, kAfter);
  ASSERT_THAT(comparison.rows, SizeIs(4));
  std::vector<Verdict> verdicts;
  for (const ComparedRow& row : comparison.rows) verdicts.push_back(row.verdict);
  EXPECT_THAT(verdicts,
              ElementsAre(Verdict::kSlower, Verdict::kSlower, Verdict::kSame, Verdict::kFaster));
  EXPECT_EQ(comparison.rows[0].a.problem.tag, "wide");
  EXPECT_FALSE(comparison.rows[0].same_winner);
  EXPECT_THAT(comparison.rows[0].ratio->value, DoubleNear(80 / 86.4, 0.002));
  EXPECT_EQ(comparison.rows[1].a.problem.tag, "small");
  EXPECT_EQ(comparison.rows[1].a.regime, Regime::kSustained);
  EXPECT_EQ(comparison.rows[3].a.regime, Regime::kBurst);
}

TEST(Compare, SwappedArgumentsInvertTheChange) {
  const Comparison there = compared(kBefore, kAfter), back = compared(kAfter, kBefore);
  ASSERT_EQ(there.rows.size(), back.rows.size());
  for (const ComparedRow& row : there.rows) {
    const auto other = std::ranges::find_if(back.rows, [&row](const ComparedRow& r) {
      return r.a.problem.same_problem(row.a.problem) && r.a.regime == row.a.regime;
    });
    ASSERT_NE(other, back.rows.end());
    for (const auto change : {&ComparedRow::ratio, &ComparedRow::time, &ComparedRow::cycles}) {
      const Change &a = *(row.*change), &b = *((*other).*change);
      EXPECT_THAT(a.value * b.value, DoubleNear(1, 1e-12));
      EXPECT_THAT(a.interval.low * b.interval.high, DoubleNear(1, 0.005));
      EXPECT_THAT(a.interval.high * b.interval.low, DoubleNear(1, 0.005));
    }
    const Verdict inverted = row.verdict == Verdict::kSlower   ? Verdict::kFaster
                             : row.verdict == Verdict::kFaster ? Verdict::kSlower
                                                               : row.verdict;
    EXPECT_EQ(other->verdict, inverted);
  }
  EXPECT_EQ(there.repeatability[0].agreeing, back.repeatability[0].agreeing);
}

TEST(Compare, AClockThatAllSeeIsNoChange) {
  Recording hotter = kBefore;
  for (RecordedRace& race : hotter) {
    for (Trial& trial : race.race.trials) {
      for (Sample& sample : trial.samples) {
        sample.time_us *= 1.1;
        sample.sm_mhz /= 1.1;
      }
    }
  }
  for (const ComparedRow& row : compared(kBefore, hotter).rows) {
    EXPECT_EQ(row.verdict, Verdict::kSame);
    EXPECT_THAT(row.ratio->value, DoubleNear(1, 1e-9));
    EXPECT_THAT(row.time->value, DoubleNear(1 / 1.1, 1e-9));
    EXPECT_THAT(row.cycles->value, DoubleNear(1, 1e-9));
  }
}

TEST(Compare, AChangeBelowTheMarginIsNoneHoweverSure) {
  const Recording before = {day(1, {{kA, 95}})};
  const auto with_ratio = [](double factor) { return Recording{day(1, {{kA, 95 * factor}})}; };
  ComparedRow row = only_row(before, with_ratio(1.004));
  ASSERT_LT(row.ratio->interval.high, 1);
  EXPECT_EQ(row.verdict, Verdict::kSame);
  EXPECT_EQ(only_row(before, with_ratio(1.008)).verdict, Verdict::kSlower);
  EXPECT_EQ(only_row(before, with_ratio(0.992)).verdict, Verdict::kFaster);
}

TEST(Compare, NothingIsSaidOfAWideScatter) {
  // The medians differ by 3 %, the rounds by 20 %.
  auto scattered = [](double time_us) {
    Trial trial = ok(kA, samples(time_us, 0, 9));
    for (Sample& sample : trial.samples) sample.time_us *= 1 + 0.05 * (sample.round % 5 - 2);
    return Recording{race({ok("cublas", samples(100, 0, 9)), trial})};
  };
  const ComparedRow row = only_row(scattered(90), scattered(92.7));
  EXPECT_THAT(row.ratio->value, DoubleNear(90 / 92.7, 1e-9));
  EXPECT_EQ(row.verdict, Verdict::kSame);
}

TEST(Compare, FewRoundsAndScreeningLeaveTheVerdictOpen) {
  const Recording full = {day(1, {{kA, 95}})};
  const Recording few = {race({ok("cublas", samples(100, 0, 5)), ok(kA, samples(190, 0, 5))})};
  const Recording screened = {
      race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(190, 0, 9), Stage::kScreen)})};
  for (const Recording& other : {few, screened}) {
    const ComparedRow row = only_row(full, other);
    EXPECT_EQ(row.verdict, Verdict::kUnknown);
    EXPECT_THAT(row.ratio->value, DoubleNear(0.5, 0.002));
    EXPECT_TRUE(std::isnan(row.ratio->interval.low));
  }
}

TEST(Compare, WithoutCublasTimeDecides) {
  const auto alone = [](double time_us) {
    return Recording{race({ok(kA, samples(time_us, 0, 9))})};
  };
  const ComparedRow row = only_row(alone(90), alone(180));
  EXPECT_FALSE(row.ratio.has_value());
  EXPECT_THAT(row.time->value, DoubleNear(0.5, 1e-9));
  EXPECT_EQ(row.verdict, Verdict::kSlower);
}

TEST(Compare, WinnersOfOneTieSetAgree) {
  // A and B swap places within the margin; C is far behind, and moved by 2 %.
  const Recording before = {day(1, {{kA, 90}, {kB, 90.1}, {kC, 100}})};
  const Recording after = {day(5, {{kA, 90.1}, {kB, 89.9}, {kC, 98}})};
  const Comparison comparison = compared(before, after);
  EXPECT_EQ(*comparison.rows[0].a.label, kA);
  EXPECT_EQ(*comparison.rows[0].b.label, kB);
  EXPECT_FALSE(comparison.rows[0].same_winner);
  EXPECT_TRUE(comparison.rows[0].tied);
  const Repeatability& repeats = comparison.repeatability.at(0);
  EXPECT_EQ(repeats.same_winner, 0);
  EXPECT_EQ(repeats.agreeing, 1);
  EXPECT_EQ(repeats.candidates, 3);
  EXPECT_LT(repeats.median_moved, 0.004);
  EXPECT_THAT(repeats.largest_moved, DoubleNear(100.0 / 98 - 1, 0.003));
  EXPECT_LT(repeats.largest_winner_moved, 0.004);
  ASSERT_THAT(comparison.candidates, SizeIs(3));
  for (const RepeatedCandidate& candidate : comparison.candidates) {
    EXPECT_THAT(candidate.moved(), DoubleNear(candidate.label == kC ? 0.02 : 0, 0.004));
  }

  const Recording apart = {day(5, {{kA, 93}, {kB, 89.9}})};
  EXPECT_EQ(compared(before, apart).repeatability.at(0).agreeing, 0)
      << "a tie of the first winner, but not the other way round";
}

TEST(Compare, SaysWhatOnlyOneHasAndHowEnvironmentsDiffer) {
  Recording before = {day(1, {{kA, 95}}), day(2, {{kA, 50}}, kSmall)};
  Recording after = {day(1, {{kA, 95}}), day(2, {{kA, 50}}, kWide)};
  after.push_back(race({failed(kA, Status::kCrashed)}, "590.2", kSmall));
  for (RecordedRace& race : after) {
    race.environment.driver = "590.2";
    race.run = {.gpu_uuid = "GPU-2",
                .host = "node2",
                .git_revision = "abc",
                .kernel_sources = std::string(64, 'k')};
    for (Trial& trial : race.race.trials) {
      for (Sample& sample : trial.samples) sample.pace = Pace::kOwn;
    }
  }
  const Comparison comparison = compared(before, after);
  EXPECT_THAT(comparison.only_in_a, IsEmpty());
  ASSERT_THAT(comparison.lost, SizeIs(1)) << "in b no config is ok there";
  EXPECT_TRUE(comparison.lost[0].problem.same_problem(kSmall));
  EXPECT_THAT(compared(before, before).lost, IsEmpty());
  ASSERT_THAT(comparison.only_in_b, SizeIs(1));
  EXPECT_TRUE(comparison.only_in_b[0].same_problem(kWide));
  EXPECT_THAT(comparison.environment_changes,
              ElementsAre("driver 580 -> 590.2", "GPU uuid GPU-1 -> GPU-2",
                          "kernel sources k1 -> kkkkkkkkkkkk", "revision (none) -> abc",
                          "pace of sustained samples shared -> own"));

  EXPECT_THAT(compare(before, after, std::vector{kWide}).rows, IsEmpty());
  EXPECT_THAT(compare(before, after, std::vector{kWide}).only_in_a, IsEmpty());
}

TEST(Compare, OfNothingIsNothing) {
  const Comparison comparison = compared({}, {});
  EXPECT_THAT(comparison.rows, IsEmpty());
  EXPECT_THAT(comparison.repeatability, IsEmpty());
}

}  // namespace
}  // namespace hgemm
