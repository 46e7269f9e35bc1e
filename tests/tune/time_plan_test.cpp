// What a race does with the time it is given.
#include "tune/time_plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace hgemm {
namespace {

/// Prefill, at the power cap; decode of one row; decode, where the cap may be reached.
const RaceToCome kRaces[] = {
    {{.m = 2048, .n = 4096, .k = 4096, .tag = ""}, Regime::kSustained, 100, 3000, 3000},
    {{.m = 2048, .n = 4096, .k = 4096, .tag = ""}, Regime::kBurst, 90, 3000, 3000},
    {{.m = 1, .n = 4096, .k = 4096, .tag = ""}, Regime::kSustained, 9, 900, 900},
    {{.m = 64, .n = 4096, .k = 4096, .tag = ""}, Regime::kSustained, 11, 700, 700},
    {{.m = 16384, .n = 16384, .k = 16384, .tag = ""}, Regime::kSustained, 12000, 3000, 3000}};

TEST(TimePlan, TakesNoMoreThanItIsGivenUnlessThatIsTooLittleForAnyRace) {
  for (const RaceToCome& race : kRaces) {
    const double least_s = duration_s(race, terms_for(race, 0));
    for (double seconds = 0.1; seconds < 3600; seconds *= 1.3) {
      const Terms terms = terms_for(race, seconds);
      EXPECT_LE(duration_s(race, terms), std::max(seconds, least_s))
          << to_string(race.problem) << " in " << seconds << " s";
      EXPECT_GE(terms.configs, 1u);
      EXPECT_LE(terms.configs, race.configs);
    }
  }
}

TEST(TimePlan, MoreTimeIsUsed) {
  for (const RaceToCome& race : kRaces) {
    SCOPED_TRACE(to_string(race.problem) + " " + std::string(to_string(race.regime)));
    EXPECT_EQ(terms_for(race, 0.2).effort, Effort::kBrief);
    EXPECT_EQ(terms_for(race, 3600).effort, Effort::kFull);
    EXPECT_EQ(terms_for(race, 3600).configs, race.configs);
    Terms before = terms_for(race, 0.1);
    for (double seconds = 0.1; seconds < 3600; seconds *= 1.3) {
      const Terms terms = terms_for(race, seconds);
      EXPECT_GE(terms.effort == Effort::kFull, before.effort == Effort::kFull);
      if (terms.effort == before.effort) {
        EXPECT_GE(terms.configs, before.configs);
        EXPECT_GE(terms.visits, before.visits);
      }
      before = terms;
    }
  }
}

TEST(TimePlan, AFullRaceScreensWhatASearchNeeds) {
  for (const RaceToCome& race : kRaces) {
    double seconds = 0.1;
    while (terms_for(race, seconds).effort == Effort::kBrief) seconds *= 1.1;
    const auto configs = static_cast<double>(terms_for(race, seconds).configs);
    EXPECT_GE(configs + 1, kEnough * static_cast<double>(race.space)) << to_string(race.problem);
  }
}

TEST(TimePlan, WhatMustBeCompiledBeforeLeavesTimeToRaceIt) {
  constexpr double kCompileS = 0.03;  // of 16 cores
  for (const RaceToCome& race : kRaces) {
    for (const double seconds : {20.0, 60.0, 600.0}) {
      const Terms terms = terms_for(race, seconds, kCompileS);
      EXPECT_LE(static_cast<double>(terms.configs) * kCompileS + duration_s(race, terms), seconds)
          << to_string(race.problem);
      EXPECT_LE(terms.configs, terms_for(race, seconds).configs);
    }
  }
}

TEST(TimePlan, PartsFollowOneAnotherAndTogetherAreTheRace) {
  for (RaceToCome race : kRaces) {
    race.weighed = Weighed::kFinalists;
    for (const Effort effort : {Effort::kBrief, Effort::kFull}) {
      const RaceParts parts = parts_of(race, {.effort = effort, .configs = 100});
      std::vector<double> when{parts.when_prepared(0.5), parts.when_prepared(1),
                               parts.when_raced(Stage::kScreen, 0.5)};
      const int screened = parts.screening_rounds + parts.semifinal_rounds;
      for (int i = 1; i <= screened; ++i) when.push_back(parts.when_raced(Stage::kScreen, i));
      for (int i = 1; i <= parts.final_rounds; ++i) {
        when.push_back(parts.when_raced(Stage::kFinal, i));
      }
      when.push_back(parts.when_weighed(0.5));
      when.push_back(parts.when_weighed(1));
      for (std::size_t i = 1; i < when.size(); ++i) {
        EXPECT_LT(when[i - 1], when[i]) << to_string(race.problem) << " step " << i;
      }
      EXPECT_DOUBLE_EQ(when.back(), parts.sum());
      EXPECT_DOUBLE_EQ(parts.when_raced(Stage::kFinal, 1000), parts.when_weighed(0));
      EXPECT_DOUBLE_EQ(parts.sum(), duration_s(race, {.effort = effort, .configs = 100}));
      race.weighed = Weighed::kNothing;
      EXPECT_LT(duration_s(race, {.effort = effort, .configs = 100}), parts.sum());
      race.weighed = Weighed::kFinalists;
    }
  }
}

TEST(TimePlan, OnlyARaceAtFullEffortSettlesAtThePowerCap) {
  const RaceToCome& prefill = kRaces[0];
  const RaceParts brief = parts_of(prefill, {.effort = Effort::kBrief, .configs = 40, .visits = 2});
  const RaceParts full = parts_of(prefill, {.effort = Effort::kFull, .configs = 40});
  EXPECT_EQ(brief.final_rounds, 12);
  EXPECT_LT(brief.final_s, 1);
  EXPECT_GT(full.final_s, 10);
}

TEST(TimePlan, WhatWasNotPredictedIsGuessed) {
  for (RaceToCome race : {kRaces[0], kRaces[4]}) {
    const double predicted_s = duration_s(race, {.configs = 1000});
    race.launch_us = 0;
    EXPECT_NEAR(duration_s(race, {.configs = 1000}), predicted_s, 0.2 * predicted_s);
  }
}

TEST(TimePlan, WhatIsLeftOfASpaceIsRacedWhole) {
  RaceToCome few = kRaces[2];
  few.configs = 3;
  EXPECT_EQ(terms_for(few, 0.1).configs, 3u);
  EXPECT_EQ(terms_for(few, 60).configs, 3u);
  EXPECT_EQ(terms_for(few, 60).effort, Effort::kFull);
}

}  // namespace
}  // namespace hgemm
