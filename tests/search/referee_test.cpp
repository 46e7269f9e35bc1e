#include "search/referee.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "simulated_race.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

/// The largest numbers of configs and algorithms in a recorded final at one pace, and the smallest
/// number of rounds of a finalist. (Baselines have been in screening too, which was
/// rested where the final was at the own pace: the pace of a trial is the first by its name.)
struct RecordedFinals {
  int configs = 0, algorithms = 0, rounds = 0;
};
RecordedFinals recorded_finals(const std::string& pace) {
  SQLite::Database db("file:" HGEMM_SOURCE_DIR "/results/h200/tune.db?immutable=1",
                      SQLite::OPEN_READONLY | SQLite::OPEN_URI);
  SQLite::Statement row(db, R"(
      SELECT MAX(configs), MAX(algorithms), MIN(rounds) FROM (
        SELECT SUM(label NOT LIKE 'cublas%') AS configs, SUM(label LIKE 'cublaslt.%') AS algorithms,
               MIN(samples) AS rounds
        FROM trial JOIN candidate ON candidate.id = candidate_id
             JOIN (SELECT trial_id, MIN(pace) AS pace, COUNT(*) AS samples FROM sample
                   GROUP BY trial_id) ON trial_id = trial.id
        WHERE stage = 'final' AND status = 'ok' AND pace = ? GROUP BY race_id))");
  row.bind(1, pace);
  row.executeStep();
  return {row.getColumn(0).getInt(), row.getColumn(1).getInt(), row.getColumn(2).getInt()};
}

TEST(RacePolicy, DefaultsAreTheProtocolOfTheRecordedResults) {
  // Results of other finals could not be compared with those.
  const RacePolicy policy;
  const RecordedFinals own = recorded_finals("own"), rested = recorded_finals("rested");
  EXPECT_EQ(policy.finalists, rested.configs);
  EXPECT_EQ(policy.lt_finalists, rested.algorithms);
  EXPECT_EQ(policy.min_rounds, rested.rounds);
  EXPECT_EQ(policy.own_finalists, own.configs);
  EXPECT_EQ(policy.own_lt_finalists, own.algorithms);
  EXPECT_EQ(policy.own_min_rounds, own.rounds);
}

TEST(Referee, VisitsEveryoneOnceARoundInAnOrderThatChanges) {
  Model model(field(20, 100, [](int) { return 100.0; }), normal_noise(0));
  RacePolicy policy;
  policy.screen_rounds = 300;
  Referee referee(model.labels(), policy);
  std::set<std::vector<std::string>> orders;
  double cublas_position = 0;
  for (int round = 0; round < 300 - 1; ++round) {
    const auto order = referee.next_round();
    ASSERT_THAT(order, UnorderedElementsAreArray(model.labels()));
    orders.insert(order);
    cublas_position += static_cast<double>(std::ranges::find(order, "cublas") - order.begin());
    end_round(referee, model.measure(order));
  }
  EXPECT_EQ(orders.size(), 299u);
  // 23 labels: the mean position is 11 with a standard error of 0.38.
  EXPECT_NEAR(cublas_position / 299, 11, 2);
}

TEST(Referee, OrderFollowsTheSeed) {
  const auto labels = Model(field(20, 100, [](int) { return 100.0; }), normal_noise(0)).labels();
  const auto first_order = [&](std::uint64_t seed) {
    RacePolicy policy;
    policy.seed = seed;
    return Referee(labels, policy).next_round();
  };
  EXPECT_EQ(first_order(7), first_order(7));
  EXPECT_NE(first_order(7), first_order(8));
}

TEST(Referee, ScreeningEliminatesWhatIsClearlySlowerWithinItsOwnKind) {
  // cublas leads by far, and one algorithm leads the others by far: neither costs a config its
  // place, nor a config an algorithm's, and cublas stays though all others are faster.
  const std::vector<std::string> labels{"cublas", "cublaslt.0", "cublaslt.1", "a", "b", "c"};
  Referee referee(labels, {});
  referee.next_round();
  EXPECT_THAT(end_round(referee, {{"cublas", 50},
                                  {"cublaslt.0", 30},
                                  {"cublaslt.1", 36},
                                  {"a", 100},
                                  {"b", 117},  // 100 / 0.85 = 117.6
                                  {"c", 118}}),
              UnorderedElementsAre("c", "cublaslt.1"));
  EXPECT_EQ(referee.standing().leader, "a");
  EXPECT_DOUBLE_EQ(referee.standing().ratio_cublas, 0.5);
  EXPECT_THAT(referee.next_round(), UnorderedElementsAre("cublas", "cublaslt.0", "a", "b"));
  // The median so far decides: b's is (117 + 121) / 2, above 117.6.
  EXPECT_THAT(end_round(referee, {{"cublas", 500}, {"cublaslt.0", 30}, {"a", 100}, {"b", 121}}),
              ElementsAre("b"));
  EXPECT_THAT(referee.next_round(), UnorderedElementsAre("cublas", "cublaslt.0", "a"));
}

TEST(Referee, WhatTakesJustAsLongAsIsAllowedStays) {
  Referee referee(std::vector<std::string>{"cublas", "a", "b"}, {});
  referee.next_round();
  EXPECT_THAT(end_round(referee, {{"cublas", 100}, {"a", 85}, {"b", 100}}),
              IsEmpty());  // 85 / 0.85
}

TEST(Referee, WhoIsFarSlowerThanTheFastestSoFarIsSureToLeaveTheFirstRound) {
  const auto samples = [](const Times& times_us) {
    std::map<std::string, Sample> samples;
    for (const auto& [label, time_us] : times_us) samples[label].time_us = time_us;
    return samples;
  };
  const Times part{{"cublas", 10}, {"cublaslt.0", 500}, {"a", 100}, {"b", 118}};
  const Times whole{{"cublas", 10}, {"cublaslt.0", 500}, {"a", 100},
                    {"b", 118},     {"c", 80},           {"d", 90}};
  Referee referee(std::vector<std::string>{"cublas", "cublaslt.0", "a", "b", "c", "d"}, {});
  referee.next_round();
  EXPECT_THAT(referee.sure_to_leave({}), IsEmpty());
  EXPECT_THAT(referee.sure_to_leave(samples(part)), UnorderedElementsAre("b"));
  const auto leaving = referee.sure_to_leave(samples(whole));
  EXPECT_THAT(leaving, UnorderedElementsAre("a", "b"));  // 80 / 0.85 = 94.1
  EXPECT_THAT(end_round(referee, whole), UnorderedElementsAreArray(leaving));
  // Later it is the median of rounds that counts.
  EXPECT_THAT(referee.sure_to_leave(samples({{"cublas", 10}, {"c", 80}, {"d", 200}})), IsEmpty());

  RacePolicy unscreened;
  unscreened.screen_rounds = 0;
  Referee final_only(std::vector<std::string>{"cublas", "a", "b"}, unscreened);
  final_only.next_round();
  EXPECT_THAT(final_only.sure_to_leave(samples(part)), IsEmpty());
}

TEST(Referee, OnlyFinalistsGoOn) {
  Times times = field(30, 100, [](int i) { return 100 + 0.1 * i; });
  for (int i = 2; i < 9; ++i) times[fmt::format("cublaslt.{}", i)] = 101;
  Model model(times, normal_noise(0));
  const Outcome outcome = race(model, {});
  EXPECT_THAT(outcome.finalists,
              UnorderedElementsAre("c000", "c001", "c002", "c003", "c004", "c005", "c006", "c007",
                                   "cublas", "cublaslt.0", "cublaslt.2", "cublaslt.3"));
  const auto in_screening =
      std::ranges::count(outcome.eliminated, 0, [](auto& e) { return e.second; });
  EXPECT_EQ(static_cast<std::size_t>(in_screening), times.size() - outcome.finalists.size());
  EXPECT_EQ(outcome.standing.leader, "c000");
}

/// Screening without noise; in some rounds, some take what `luck` says.
struct Screening {
  std::vector<std::vector<std::string>> asked;  ///< in each round
  std::vector<std::string> finalists;
};
Screening screening(const Times& times, RacePolicy policy = {},
                    const std::map<int, Times>& luck = {}) {
  std::vector<std::string> labels;
  for (const auto& [label, time] : times) labels.push_back(label);
  Referee referee(labels, policy);
  Screening out;
  for (int round = 0; referee.phase() == Stage::kScreen; ++round) {
    out.asked.push_back(referee.next_round());
    Times measured;
    const Times lucky = luck.contains(round) ? luck.at(round) : Times{};
    for (const auto& label : out.asked.back()) {
      measured[label] = lucky.contains(label) ? lucky.at(label) : times.at(label);
    }
    end_round(referee, measured);
  }
  out.finalists = referee.next_round();
  return out;
}
std::vector<std::size_t> sizes(const Screening& screening) {
  std::vector<std::size_t> out;
  for (const auto& asked : screening.asked) out.push_back(asked.size());
  return out;
}

TEST(Referee, MoreGoToTheSemifinalThanToTheFinal) {
  // Configs that no number of rounds tells apart, algorithms of which the last is far behind.
  Times times = field(40, 100, [](int i) { return 100 + 0.01 * i; });
  for (int i = 2; i < 10; ++i) times[fmt::format("cublaslt.{}", i)] = 100.01 * (1 + 0.0001 * i);
  times["cublaslt.1"] = 130;
  const Screening out = screening(times);
  // All; those within the keep ratio, twice; 24 configs, 8 algorithms and cublas, six times.
  EXPECT_THAT(sizes(out), ElementsAre(51, 50, 50, 33, 33, 33, 33, 33, 33));
  EXPECT_THAT(out.asked[3],
              testing::IsSupersetOf({"c000", "c023", "cublas", "cublaslt.0", "cublaslt.8"}));
  EXPECT_THAT(out.finalists,
              UnorderedElementsAre("c000", "c001", "c002", "c003", "c004", "c005", "c006", "c007",
                                   "cublas", "cublaslt.0", "cublaslt.2", "cublaslt.3"));
}

TEST(Referee, InBriefFewAreWorthMoreThanARound) {
  const Screening out =
      screening(field(40, 100, [](int i) { return 100 + 0.01 * i; }), in_brief({}));
  // Then six configs, two algorithms and cublas; one algorithm is clearly slower than the other.
  EXPECT_THAT(sizes(out), ElementsAre(43, 9, 8));
  EXPECT_THAT(out.finalists, UnorderedElementsAre("c000", "c001", "c002", "cublas", "cublaslt.0"));
  EXPECT_EQ(screening(field(40, 100, [](int) { return 100; }), in_brief({}, 2)).asked.size(), 5u)
      << "more visits, more rounds";
}

TEST(Referee, WithoutASemifinalTheFirstRoundsDecide) {
  RacePolicy policy;
  policy.semifinal_rounds = 0;
  const Screening out = screening(field(40, 100, [](int i) { return 100 + 0.01 * i; }), policy);
  EXPECT_THAT(sizes(out), ElementsAre(43, 43, 43));
  EXPECT_EQ(out.finalists.size(), 8u + 2 + 1);
}

TEST(Referee, TheSemifinalIsSkippedIfThereArePlacesForAll) {
  const auto rounds = [](int configs, int algorithms) {
    Times times{{"cublas", 100}};
    for (int i = 0; i < configs; ++i) times[fmt::format("c{:03}", i)] = 100;
    for (int i = 0; i < algorithms; ++i) times[fmt::format("cublaslt.{}", i)] = 100;
    return screening(times).asked.size();
  };
  EXPECT_EQ(rounds(8, 3), 3u);
  EXPECT_EQ(rounds(9, 3), 9u);
  EXPECT_EQ(rounds(8, 4), 9u);
}

TEST(Referee, TheSemifinalDecidesByTheMedianOfAllScreening) {
  // The best has bad luck in two of the first three rounds, another has good luck in them.
  const Times times = field(20, 100, [](int i) { return 101 + 0.01 * i; });
  const Times swapped{{"c000", 101.5}, {"c019", 99.5}};
  const std::map<int, Times> luck{{0, swapped}, {2, swapped}};
  EXPECT_THAT(screening(times, {}, luck).finalists,
              testing::AllOf(testing::Contains("c000"), testing::Not(testing::Contains("c019"))));
  RacePolicy policy;
  policy.semifinal_rounds = 0;
  EXPECT_THAT(screening(times, policy, luck).finalists,
              testing::AllOf(testing::Contains("c019"), testing::Not(testing::Contains("c000"))));
}

TEST(Referee, WhoIsClearlySlowerLeavesTheSemifinalEarly) {
  // Ten that are as fast, ten clearly slower; so is one of four algorithms. cublas stays.
  Times times = field(20, 100, [](int i) { return i < 10 ? 100.1 : 105.0; });
  times["cublas"] = 150;
  times["cublaslt.2"] = times["cublaslt.3"] = times["cublaslt.4"] = 100;
  const Screening out = screening(times);
  EXPECT_THAT(sizes(out), ElementsAre(26, 26, 26, 26, 15, 15, 15, 15, 15));
  EXPECT_THAT(out.asked[4],
              testing::Not(testing::Contains(testing::AnyOf("c010", "c019", "cublaslt.1"))));
}

TEST(Referee, RacingLeavesNoPlaceInTheFinalEmpty) {
  // One config is far ahead of the others, and one algorithm of the others: the best of them fill
  // the places nevertheless, and then there is nothing left to compete for.
  Times times = field(20, 100, [](int i) { return 105 + 0.1 * i; });
  for (int i = 0; i < 6; ++i) times[fmt::format("cublaslt.{}", i)] = i == 0 ? 100 : 105 + 0.1 * i;
  const Screening out = screening(times);
  EXPECT_THAT(sizes(out), ElementsAre(27, 27, 27, 27));
  EXPECT_THAT(out.finalists,
              UnorderedElementsAre("c000", "c001", "c002", "c003", "c004", "c005", "c006", "c007",
                                   "cublas", "cublaslt.0", "cublaslt.1", "cublaslt.2"));
}

TEST(Referee, WhatWasFastInScreeningOnlyDoesNotWin) {
  RacePolicy policy;
  policy.screen_rounds = 50;  // more than there are final rounds: they would decide if they counted
  Referee referee(std::vector<std::string>{"cublas", "steady", "lucky"}, policy);
  for (int i = 0; i < policy.screen_rounds; ++i) {
    referee.next_round();
    end_round(referee, {{"cublas", 100}, {"steady", 100}, {"lucky", 90}});
  }
  ASSERT_EQ(referee.phase(), Stage::kFinal);
  while (!referee.finished()) {
    referee.next_round();
    end_round(referee, {{"cublas", 100}, {"steady", 100}, {"lucky", 105}});
  }
  EXPECT_EQ(referee.standing().leader, "steady");
  EXPECT_DOUBLE_EQ(referee.standing().ratio_cublas, 1.0);
}

TEST(Referee, StopsEarlyWhenQuietAndLateWhenNoisy) {
  const RacePolicy policy;
  const Times times = field(3, 100, [](int i) { return 100.0 + i; });
  Model quiet(times, normal_noise(0.0007)), middling(times, normal_noise(0.008));
  Model noisy(times, normal_noise(0.07));
  EXPECT_EQ(race(quiet, policy).final_rounds, policy.min_rounds);
  EXPECT_EQ(race(noisy, policy).final_rounds, policy.max_rounds);
  const int rounds = race(middling, policy).final_rounds;
  EXPECT_GT(rounds, policy.min_rounds);
  EXPECT_LT(rounds, policy.max_rounds);
}

TEST(Referee, ATieIsAResult) {
  Model model(field(2, 100, [](int) { return 100.0; }), normal_noise(0.0014));
  EXPECT_EQ(race(model, {}).final_rounds, RacePolicy{}.min_rounds);
}

TEST(Referee, TheRunnerUpMustBeToldApart) {
  // The leader's ratio to cublas is exact, but whether it beats "wild" is not known.
  const auto final_rounds = [](double wild_amplitude_us) {
    Referee referee(std::vector<std::string>{"cublas", "steady", "wild"}, {});
    int rounds = 0;
    for (int i = 0; !referee.finished(); ++i) {
      rounds += referee.phase() == Stage::kFinal;
      referee.next_round();
      const double swing = i % 2 == 0 ? wild_amplitude_us : -wild_amplitude_us;
      end_round(referee, {{"cublas", 100}, {"steady", 100}, {"wild", 100.2 + swing}});
    }
    return rounds;
  };
  EXPECT_EQ(final_rounds(0.1), RacePolicy{}.min_rounds);
  EXPECT_EQ(final_rounds(3), RacePolicy{}.max_rounds);
}

TEST(Referee, ARunnerUpThatIsAsFastInEverySecondRoundIsNotToldApart) {
  // All that is known of it is that it is not faster, and how much slower it is is not known.
  RacePolicy policy;
  policy.screen_rounds = 0;
  policy.keep_finalists = true;
  Referee referee(std::vector<std::string>{"cublas", "steady", "wild"}, policy);
  int rounds = 0;
  for (; !referee.finished(); ++rounds) {
    end_round(referee,
              {{"cublas", 100}, {"steady", 100}, {"wild", rounds % 2 == 0 ? 103.0 : 100.0}});
  }
  EXPECT_EQ(rounds, policy.max_rounds);
  EXPECT_EQ(referee.standing().leader, "steady");
}

TEST(Referee, ARunnerUpThatIsFasterRoundByRoundIsToldApartToo) {
  // "second" is faster in eight of nine rounds, by up to 5 %; but in those where it is, cublas is
  // slow, so that its median ratio to cublas is 0.9995 of the leader's. No further round would
  // help.
  const std::vector<double> leader_speed{0.996, 0.9961, 0.9962, 0.9963, 1.0036,
                                         1.004, 1.0041, 1.0042, 1.0043};
  const std::vector<double> second_speed{0.9965, 0.9968, 0.9971, 0.9974, 1.0031,
                                         1.0542, 1.0543, 1.0544, 1.0545};
  RacePolicy policy;
  policy.screen_rounds = 0;
  policy.keep_finalists = true;
  Referee referee(std::vector<std::string>{"cublas", "first", "second"}, policy);
  for (std::size_t i = 0; i < leader_speed.size(); ++i) {
    ASSERT_FALSE(referee.finished());
    end_round(
        referee,
        {{"cublas", 100}, {"first", 100 / leader_speed[i]}, {"second", 100 / second_speed[i]}});
  }
  EXPECT_EQ(referee.standing().leader, "first");
  EXPECT_TRUE(referee.finished());
}

TEST(Referee, TheRatioToTheFastestAlgorithmMustBeKnownToo) {
  // The leader's ratio to cublas is exact; one algorithm's times swing.
  const auto final_rounds = [](double steady_lt_us) {
    RacePolicy policy;
    policy.screen_rounds = 0;
    policy.keep_finalists = true;
    const std::vector<std::string> labels{"cublas", "cublaslt.0", "cublaslt.1", "a"};
    Referee referee(labels, policy);
    int rounds = 0;
    for (; !referee.finished(); ++rounds) {
      const double swinging_us = rounds % 2 == 0 ? 97 : 103;
      end_round(
          referee,
          {{"cublas", 100}, {"cublaslt.0", steady_lt_us}, {"cublaslt.1", swinging_us}, {"a", 100}});
    }
    return rounds;
  };
  EXPECT_EQ(final_rounds(110), RacePolicy{}.max_rounds);
  EXPECT_EQ(final_rounds(90), RacePolicy{}.min_rounds);  // it is the one that is reported
}

TEST(Referee, StopsWhenItsTimeIsSpent) {
  const auto final_rounds = [](double max_final_s, int launches) {
    RacePolicy policy;
    policy.max_final_s = max_final_s;
    Referee referee(std::vector<std::string>{"cublas", "a", "b"}, policy);
    int rounds = 0;
    for (int i = 0; !referee.finished(); ++i) {
      rounds += referee.phase() == Stage::kFinal;
      const double swinging_us = i % 2 == 0 ? 95 : 105;
      end_round(referee, {{"cublas", 100}, {"a", swinging_us}, {"b", 100}}, launches);
    }
    return rounds;
  };
  // 0.3 s a round, without those of screening.
  EXPECT_EQ(final_rounds(4.4, 1000), 15);
  EXPECT_EQ(final_rounds(2.2, 1000), RacePolicy().min_rounds);  // fewer would give no interval
  EXPECT_EQ(final_rounds(4.4, 100), RacePolicy{}.max_rounds);
}

/// Rounds of a final without noise; returns who was eliminated after each.
std::vector<std::vector<std::string>> final_rounds(const Times& times, int rounds,
                                                   RacePolicy policy = {}) {
  policy.screen_rounds = 0;
  std::vector<std::string> labels;
  for (const auto& [label, time] : times) labels.push_back(label);
  Referee referee(labels, policy);
  std::vector<std::vector<std::string>> out;
  for (int i = 0; i < rounds; ++i) {
    Times measured;
    for (const auto& label : referee.next_round()) measured[label] = times.at(label);
    out.push_back(end_round(referee, measured));
  }
  return out;
}

TEST(Referee, WhoIsClearlySlowerLeavesTheFinalAfterItsSecondRound) {
  Times times = field(8, 100, [](int i) { return 100 + 0.05 * i; });
  times["c003"] = 105;
  EXPECT_THAT(final_rounds(times, 3),
              ElementsAre(IsEmpty(), UnorderedElementsAre("c003", "cublaslt.1"), IsEmpty()));
}

TEST(Referee, InTheFinalTooKindsAreComparedWithTheirOwn) {
  // Both algorithms are far ahead, cublas is far behind: all of them stay, as do the two configs.
  EXPECT_THAT(final_rounds({{"a", 100},
                            {"b", 100.1},
                            {"c", 100.2},
                            {"d", 100.3},
                            {"e", 120},
                            {"cublas", 150},
                            {"cublaslt.0", 60},
                            {"cublaslt.1", 60.1},
                            {"cublaslt.2", 70}},
                           3),
              ElementsAre(IsEmpty(), UnorderedElementsAre("e", "cublaslt.2"), IsEmpty()));
}

TEST(Referee, TiesStay) {
  // Known to be 0.4 % slower, but ratios to the baselines are only known to 0.5 %.
  const auto out = final_rounds(field(8, 100, [](int) { return 100.4; }), 8);
  for (const auto& eliminated : out) {
    EXPECT_THAT(eliminated, testing::Not(testing::Contains(testing::StartsWith("c0"))));
  }
}

TEST(Referee, KeepsFinalistsIfItMust) {
  RacePolicy policy;
  policy.keep_finalists = true;
  const auto out = final_rounds(field(8, 100, [](int i) { return 100 + 10.0 * i; }), 9, policy);
  EXPECT_THAT(out, testing::Each(IsEmpty()));
}

TEST(Referee, WhoIsThereInTheLastRoundWasMeasuredToTheEnd) {
  RacePolicy policy;
  policy.max_rounds = 2;
  const auto out = final_rounds(field(8, 100, [](int i) { return 100 + 10.0 * i; }), 2, policy);
  EXPECT_THAT(out, testing::Each(IsEmpty()));
}

TEST(Referee, DriftBetweenRoundsDoesNotProlongARace) {
  Model model(field(3, 100, [](int i) { return 100.0 + i; }), normal_noise(0.0007));
  const Outcome outcome = race(model, {}, [](int round) { return 1 + 0.02 * round; });
  EXPECT_EQ(outcome.final_rounds, RacePolicy{}.min_rounds);
  EXPECT_NEAR(outcome.standing.ratio_cublas, 1, 0.002);
}

TEST(Referee, WhoFailsIsOut) {
  Referee referee(std::vector<std::string>{"cublas", "cublaslt.0", "a", "b"}, {});
  referee.next_round();
  EXPECT_THAT(end_round(referee, {{"cublas", 100}, {"b", 110}}), IsEmpty());
  EXPECT_THAT(referee.next_round(), UnorderedElementsAre("cublas", "b"));
  EXPECT_EQ(referee.standing().leader, "b");
  EXPECT_FALSE(referee.finished());
  end_round(referee, {{"cublas", 100}});
  EXPECT_TRUE(referee.finished());
  EXPECT_EQ(referee.standing().leader, "");
}

TEST(Referee, NobodyToRaceIsTheEnd) {
  EXPECT_TRUE(Referee(std::vector<std::string>{"cublas", "cublaslt.0"}, {}).finished());
}

TEST(Referee, NeedsCublasInEveryRound) {
  Referee referee(std::vector<std::string>{"cublas", "a"}, {});
  referee.next_round();
  EXPECT_THROW(end_round(referee, {{"a", 100}}), Error);
}

}  // namespace
}  // namespace hgemm
