#include "search/race.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <optional>
#include <set>

#include "base/error.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

using Times = std::map<std::string, double>;

/// True times with multiplicative Gaussian noise, and a factor common to each round (drift).
class Model {
 public:
  Model(Times true_us, double noise, std::uint64_t seed = 1)
      : true_us_(std::move(true_us)), noise_(noise), random_(seed) {}

  Times measure(const std::vector<std::string>& labels, double factor = 1) {
    Times out;
    for (const auto& label : labels) {
      out[label] = true_us_.at(label) * factor * (1 + noise_ * gauss_(random_));
    }
    return out;
  }
  std::vector<std::string> labels() const {
    std::vector<std::string> out;
    for (const auto& [label, time] : true_us_) out.push_back(label);
    return out;
  }

 private:
  Times true_us_;
  double noise_;
  std::mt19937_64 random_;
  std::normal_distribution<double> gauss_;
};

/// A round in which the clock stood still.
std::vector<std::string> end_round(Referee& referee, const Times& times_us) {
  std::map<std::string, Sample> samples;
  for (const auto& [label, time_us] : times_us) {
    samples[label] = {.round = 0, .launches = 1, .time_us = time_us, .sm_mhz = 1500};
  }
  return referee.end_round(samples);
}

struct Outcome {
  std::set<std::string> eliminated;
  std::set<std::string> finalists;
  double screening_ratio = 0;  ///< the leader's, when screening ended
  Referee::Standing standing;
  int final_rounds = 0;
};

Outcome race(
    Model& model, const RacePolicy& policy,
    const std::function<double(int)>& drift = [](int) { return 1.0; }) {
  Outcome outcome;
  Referee referee(model.labels(), policy, Referee::ScreenBy::kCycles);
  for (int round = 0; !referee.finished(); ++round) {
    const bool final_round = referee.phase() == Stage::kFinal;
    const auto order = referee.next_round();
    if (final_round && outcome.final_rounds++ == 0)
      outcome.finalists = {order.begin(), order.end()};
    const auto out = end_round(referee, model.measure(order, drift(round)));
    outcome.eliminated.insert(out.begin(), out.end());
    if (!final_round) outcome.screening_ratio = referee.standing().ratio_cublas;
  }
  outcome.standing = referee.standing();
  return outcome;
}

/// `count` configs named c000, c001, ...; the first is the fastest.
Times field(int count, double first_us, const std::function<double(int)>& others_us) {
  Times times{{"cublas", 100}, {"cublaslt.0", 100}, {"cublaslt.1", 104}};
  for (int i = 0; i < count; ++i) {
    times[fmt::format("c{:03}", i)] = i == 0 ? first_us : others_us(i);
  }
  return times;
}

TEST(Referee, VisitsEveryoneOnceARoundInAnOrderThatChanges) {
  Model model(field(20, 100, [](int) { return 100.0; }), 0);
  RacePolicy policy;
  policy.screen_rounds = 300;
  Referee referee(model.labels(), policy, Referee::ScreenBy::kCycles);
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
  const auto labels = Model(field(20, 100, [](int) { return 100.0; }), 0).labels();
  const auto first_order = [&](std::uint64_t seed) {
    RacePolicy policy;
    policy.seed = seed;
    return Referee(labels, policy, Referee::ScreenBy::kCycles).next_round();
  };
  EXPECT_EQ(first_order(7), first_order(7));
  EXPECT_NE(first_order(7), first_order(8));
}

TEST(Referee, ScreeningEliminatesWhatIsClearlySlowerWithinItsOwnKind) {
  // cublas leads by far, and one algorithm leads the others by far: neither costs a config its
  // place, nor a config an algorithm's, and cublas stays though all others are faster.
  const std::vector<std::string> labels{"cublas", "cublaslt.0", "cublaslt.1", "a", "b", "c"};
  Referee referee(labels, {}, Referee::ScreenBy::kCycles);
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

TEST(Referee, ScreeningIsNotFooledByTheClock) {
  // b takes longer only because the clock was low while it ran: it needs fewer cycles than a.
  const std::vector<std::string> labels{"cublas", "a", "b", "c"};
  Referee referee(labels, {}, Referee::ScreenBy::kCycles);
  const auto sample = [](double time_us, double sm_mhz) {
    return Sample{.round = 0, .launches = 1, .time_us = time_us, .sm_mhz = sm_mhz};
  };
  EXPECT_THAT(referee.end_round({{"cublas", sample(100, 1500)},
                                 {"a", sample(100, 1600)},
                                 {"b", sample(150, 1000)},
                                 {"c", sample(150, 1500)}}),
              ElementsAre("c"));
  EXPECT_EQ(referee.standing().leader, "b");
  // Where a clock is unknown, times are all there is.
  EXPECT_THAT(
      referee.end_round(
          {{"cublas", sample(100, 1500)}, {"a", sample(100, 0)}, {"b", sample(150000, 1000)}}),
      ElementsAre("b"));
}

TEST(Referee, ScreeningByTimeIgnoresTheClock) {
  Referee referee(std::vector<std::string>{"cublas", "a", "b"}, {}, Referee::ScreenBy::kTime);
  const auto sample = [](double time_us, double sm_mhz) {
    return Sample{.round = 0, .launches = 1, .time_us = time_us, .sm_mhz = sm_mhz};
  };
  EXPECT_THAT(
      referee.end_round(
          {{"cublas", sample(100, 1500)}, {"a", sample(100, 1900)}, {"b", sample(120, 1000)}}),
      ElementsAre("b"));
}

TEST(Referee, OnlyFinalistsGoOn) {
  Times times = field(30, 100, [](int i) { return 100 + 0.1 * i; });
  for (int i = 2; i < 9; ++i) times[fmt::format("cublaslt.{}", i)] = 101;
  Model model(times, 0);
  const Outcome outcome = race(model, {});
  EXPECT_THAT(outcome.finalists,
              UnorderedElementsAre("c000", "c001", "c002", "c003", "c004", "c005", "c006", "c007",
                                   "cublas", "cublaslt.0", "cublaslt.2", "cublaslt.3"));
  EXPECT_EQ(outcome.eliminated.size(), times.size() - outcome.finalists.size());
  EXPECT_EQ(outcome.standing.leader, "c000");
}

TEST(Referee, SeldomLosesTheTrueBest) {
  int lost = 0;
  int won = 0;
  constexpr int kRaces = 400;
  for (int i = 0; i < kRaces; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    // 200 configs, 2 % to 60 % slower than the best, each sample with 1 % noise.
    Model model(field(200, 100, [](int c) { return 102 + 58 * c / 199.0; }), 0.01, seed);
    RacePolicy policy;
    policy.seed = seed;
    policy.max_rounds = policy.min_rounds;  // the shortest final there is
    const Outcome outcome = race(model, policy);
    lost += !outcome.finalists.contains("c000");
    won += outcome.standing.leader == "c000";
  }
  EXPECT_LT(lost, kRaces / 100);
  EXPECT_GT(won, kRaces * 97 / 100);
}

TEST(Referee, LuckInScreeningIsNotReported) {
  // 100 equals of cublas: whoever leads after screening only had luck.
  double screening = 0;
  double reported = 0;
  constexpr int kRaces = 20;
  for (int i = 0; i < kRaces; ++i) {
    Model model(field(100, 100, [](int) { return 100.0; }), 0.01, static_cast<std::uint64_t>(i));
    const Outcome outcome = race(model, {});
    screening += outcome.screening_ratio / kRaces;
    reported += outcome.standing.ratio_cublas / kRaces;
  }
  EXPECT_GT(screening, 1.01);
  EXPECT_NEAR(reported, 1.0, 0.005);
}

TEST(Referee, WhatWasFastInScreeningOnlyDoesNotWin) {
  RacePolicy policy;
  policy.screen_rounds = 50;  // more than there are final rounds: they would decide if they counted
  Referee referee(std::vector<std::string>{"cublas", "steady", "lucky"}, policy,
                  Referee::ScreenBy::kCycles);
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
  Model quiet(times, 0.0005), middling(times, 0.006), noisy(times, 0.05);
  EXPECT_EQ(race(quiet, policy).final_rounds, policy.min_rounds);
  EXPECT_EQ(race(noisy, policy).final_rounds, policy.max_rounds);
  const int rounds = race(middling, policy).final_rounds;
  EXPECT_GT(rounds, policy.min_rounds);
  EXPECT_LT(rounds, policy.max_rounds);
}

TEST(Referee, ATieIsAResult) {
  Model model(field(2, 100, [](int) { return 100.0; }), 0.001);
  EXPECT_EQ(race(model, {}).final_rounds, RacePolicy{}.min_rounds);
}

TEST(Referee, TheRunnerUpMustBeToldApart) {
  // The leader's ratio to cublas is exact, but whether it beats "wild" is not known.
  const auto final_rounds = [](double wild_amplitude_us) {
    Referee referee(std::vector<std::string>{"cublas", "steady", "wild"}, {},
                    Referee::ScreenBy::kCycles);
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

TEST(Referee, DriftBetweenRoundsDoesNotProlongARace) {
  Model model(field(3, 100, [](int i) { return 100.0 + i; }), 0.0005);
  const Outcome outcome = race(model, {}, [](int round) { return 1 + 0.02 * round; });
  EXPECT_EQ(outcome.final_rounds, RacePolicy{}.min_rounds);
  EXPECT_NEAR(outcome.standing.ratio_cublas, 1, 0.002);
}

TEST(Referee, WhoFailsIsOut) {
  Referee referee(std::vector<std::string>{"cublas", "cublaslt.0", "a", "b"}, {},
                  Referee::ScreenBy::kCycles);
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
  EXPECT_TRUE(
      Referee(std::vector<std::string>{"cublas", "cublaslt.0"}, {}, Referee::ScreenBy::kTime)
          .finished());
}

TEST(Referee, NeedsCublasInEveryRound) {
  Referee referee(std::vector<std::string>{"cublas", "a"}, {}, Referee::ScreenBy::kCycles);
  referee.next_round();
  EXPECT_THROW(end_round(referee, {{"a", 100}}), Error);
}

}  // namespace
}  // namespace hgemm
