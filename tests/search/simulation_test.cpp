// How often a race errs, measured on thousands of races whose truth is known.
#include <gmock/gmock.h>

#include <algorithm>

#include "simulated_race.h"

namespace hgemm {
namespace {

struct NamedNoise {
  std::string name;
  Noise noise;
};
std::vector<NamedNoise> all_noises(double of_ratio) {
  return {{"normal", normal_noise(of_ratio)},
          {"Laplace", laplace_noise(of_ratio)},
          {"outliers", noise_with_outliers(of_ratio)},
          {"bimodal 50 %", bimodal_noise(of_ratio, 0.5)},
          {"bimodal 10 %", bimodal_noise(of_ratio, 0.1)}};
}

/// Calls `look` with each of many races' outcome.
void simulate(int races, const Times& times, const Noise& noise, RacePolicy policy,
              const std::function<void(const Outcome&)>& look) {
  for (int i = 0; i < races; ++i) {
    policy.seed = static_cast<std::uint64_t>(i);
    Model model(times, noise, policy.seed);
    look(race(model, policy));
  }
}

/// Straight to the final.
RacePolicy final_only() {
  RacePolicy policy;
  policy.screen_rounds = 0;
  return policy;
}

TEST(FinalRacing, SeldomEliminatesAFinalistThatIsAsFast) {
  // Eight equals, so that the leader is always the luckiest of eight.
  const Times times = field(8, 100, [](int) { return 100.0; });
  constexpr int kRaces = 500;
  for (const double of_ratio : {0.002, 0.01}) {
    for (const auto& [name, noise] : all_noises(of_ratio)) {
      int eliminated = 0;
      simulate(kRaces, times, noise, final_only(), [&](const Outcome& outcome) {
        for (const auto& [label, round] : outcome.eliminated) eliminated += label[1] != 'u';
      });
      // Where a tenth of the samples is in a slower mode, both first rounds of one finalist in a
      // hundred are. Else one in thousands.
      const double allowed = name == "bimodal 10 %" ? 0.01 : 0.003;
      EXPECT_LE(eliminated / (8.0 * kRaces), allowed) << name << ", " << of_ratio;
    }
  }
}

TEST(FinalRacing, SeldomEliminatesOneOfTwo) {
  // Three candidates say little about the noise in two rounds.
  constexpr int kRaces = 2000;
  int eliminated = 0;
  simulate(kRaces, {{"a", 100}, {"b", 100}, {"cublas", 100}}, normal_noise(0.01), final_only(),
           [&](const Outcome& outcome) { eliminated += !outcome.eliminated.empty(); });
  EXPECT_LE(eliminated, kRaces / 500);
}

TEST(FinalRacing, SeldomEliminatesTheBest) {
  const Times times = field(8, 100, [](int i) { return 100.3 + 0.3 * i; });
  constexpr int kRaces = 500;
  for (const double of_ratio : {0.002, 0.01}) {
    for (const auto& [name, noise] : all_noises(of_ratio)) {
      int eliminated = 0;
      simulate(kRaces, times, noise, final_only(),
               [&](const Outcome& outcome) { eliminated += outcome.eliminated.contains("c000"); });
      EXPECT_LE(eliminated, kRaces / 100) << name << ", " << of_ratio;
    }
  }
}

TEST(FinalRacing, SoonEliminatesWhoIsSlower) {
  constexpr int kRaces = 1000;
  const auto share_out = [&](double slower, int final_round, const Noise& noise) {
    Times times = field(8, 100, [](int) { return 100.0; });
    times["c007"] = 100 * slower;
    RacePolicy policy = final_only();
    policy.min_rounds = policy.max_rounds = final_round + 1;  // nobody leaves in the last
    int out = 0;
    simulate(kRaces, times, noise, policy,
             [&](const Outcome& outcome) { out += outcome.eliminated_by("c007", final_round); });
    return out / double(kRaces);
  };
  for (const auto& [name, noise] : all_noises(0.01)) {
    // An outlier of the slow one's goes unnoticed; one of the leader's, or several, take a round.
    const bool outliers = name == "outliers";
    EXPECT_GT(share_out(1.05, 4, noise), outliers ? 0.90 : 0.98) << name;
    EXPECT_GT(share_out(1.10, 3, noise), outliers ? 0.93 : 0.99) << name;
  }
  EXPECT_GT(share_out(1.10, 2, normal_noise(0.01)), 0.98);
  EXPECT_GT(share_out(1.02, 4, normal_noise(0.002)), 0.98);
}

TEST(Screening, SeldomLosesTheTrueBest) {
  // 200 configs, 0.5 to 30 % slower than the best: seven in each percent, for eight places.
  const Times times = field(201, 100, [](int c) { return 100.5 + 29.5 * (c - 1) / 199.0; });
  constexpr int kRaces = 200;
  for (const double of_ratio : {0.002, 0.01}) {
    for (const auto& [name, noise] : all_noises(of_ratio)) {
      int lost = 0;
      int won = 0;
      int close = 0;
      RacePolicy policy;
      policy.max_rounds = policy.min_rounds;  // the shortest final there is
      simulate(kRaces, times, noise, policy, [&](const Outcome& outcome) {
        lost += !std::ranges::count(outcome.finalists, "c000");
        won += outcome.standing.leader == "c000";
        close += times.at(outcome.standing.leader) < 101;
      });
      // Two of three samples in the slower mode put the best 2 % back: once in 36 races, or more
      // often if others' luck helps.
      const double allowed = name == "bimodal 10 %" ? 0.1 : 0.02;
      EXPECT_LE(lost, kRaces * allowed) << name << ", " << of_ratio;
      EXPECT_GE(won, kRaces * (of_ratio < 0.005 ? 98 : 70) / 100) << name << ", " << of_ratio;
      EXPECT_GE(close, kRaces * 97 / 100) << name << ", " << of_ratio;
    }
  }
}

TEST(Screening, SemifinalKeepsTheBetterOfCloseOnes) {
  // Samples of a single launch scatter by 1 %; five places, and many that are 1.2 % slower.
  const Times many = field(208, 100, [](int c) { return c < 40 ? 101.2 : 101.2 + 0.1 * (c - 40); });
  const Times two = field(2, 100, [](int) { return 101.2; });
  constexpr int kRaces = 200;
  const auto lost = [&](const Times& times, int places, const Noise& noise, int semifinal_rounds) {
    RacePolicy policy;
    policy.finalists = places;
    policy.semifinal_rounds = semifinal_rounds;
    policy.min_rounds = policy.max_rounds = 1;
    int lost = 0;
    simulate(kRaces, times, noise, policy, [&](const Outcome& outcome) {
      lost += !std::ranges::count(outcome.finalists, "c000");
    });
    return lost;
  };
  // Where samples have two modes, their median is in either, after however many rounds.
  for (const Noise& noise :
       {normal_noise(0.014), laplace_noise(0.014), noise_with_outliers(0.014)}) {
    EXPECT_LT(lost(many, 5, noise, 6), 0.4 * lost(many, 5, noise, 0));
    EXPECT_LT(lost(two, 1, noise, 6), 0.5 * lost(two, 1, noise, 0));
  }
}

/// What a sweep reports of its winner: the median of per-round ratios to cublas and its interval.
struct Reported {
  double coverage = 0;  ///< share of intervals that hold the true ratio
  double bias = 0;      ///< mean of reported / true - 1
  double screened = 0;  ///< the same, had screening's samples of the winner been reported
};
Reported report(int races, const Times& times, const Noise& noise, const RacePolicy& policy) {
  Reported out;
  simulate(races, times, noise, policy, [&](const Outcome& outcome) {
    const double truth = 100 / times.at(outcome.standing.leader);
    const auto ratios = outcome.ratios(outcome.final_us);
    const Interval interval = median_interval(ratios);
    EXPECT_DOUBLE_EQ(outcome.standing.ratio_cublas, median(ratios));
    out.coverage += interval.low <= truth && truth <= interval.high;
    out.bias += median(ratios) / truth - 1;
    if (policy.screen_rounds > 0) {
      out.screened += median(outcome.ratios(outcome.screen_us)) / truth - 1;
    }
  });
  out.coverage /= races;
  out.bias /= races;
  out.screened /= races;
  return out;
}

TEST(Report, IntervalOfTheWinnerCoversThoughTheRaceStoppedByIt) {
  // At 0.2 % all stop at the first chance; at 1 % anywhere between it and the last.
  constexpr int kRaces = 500;  // the standard error of a coverage is 1 %
  for (const double of_ratio : {0.002, 0.006, 0.01}) {
    for (const auto& [name, noise] : all_noises(of_ratio)) {
      const Times spread = field(8, 98, [](int i) { return 98 + 0.3 * i; });
      EXPECT_GT(report(kRaces, spread, noise, final_only()).coverage, 0.92)
          << name << ", " << of_ratio;
    }
  }
}

TEST(Report, IntervalOfTheLuckiestOfEqualsCoversALittleLess) {
  // The price of choosing by what is reported, at its highest: eight finalists that are equal. What
  // the winner gains by it is about a quarter of the noise of one round.
  const Times equal = field(8, 98, [](int) { return 98.0; });
  for (const auto& [name, noise] : all_noises(0.01)) {
    const Reported reported = report(500, equal, noise, final_only());
    EXPECT_GT(reported.coverage, 0.86) << name;
    EXPECT_LT(reported.bias, 0.0035) << name;
  }
}

TEST(Report, LuckInScreeningIsNotReported) {
  // 100 equals: whoever leads after screening only had luck, most of it in few rounds.
  RacePolicy policy;
  policy.semifinal_rounds = 0;
  const Times equal = field(100, 100, [](int) { return 100.0; });
  const Reported luckiest = report(200, equal, normal_noise(0.01), policy);
  EXPECT_GT(luckiest.screened, 0.006);
  EXPECT_LT(std::abs(luckiest.bias), 0.003);
  // With no equals in the final, nothing is left of it.
  const Times spread = field(100, 100, [](int i) { return 101.0 + i; });
  EXPECT_LT(std::abs(report(400, spread, normal_noise(0.01), {}).bias), 0.0005);
}

}  // namespace
}  // namespace hgemm
