// Rested rounds of many candidates, which are measured in parts.
#include <algorithm>
#include <utility>

#include "support.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::SizeIs;

struct Parts : TuneTest {
  /// 64 configs: with the baselines a part of 64 and a few.
  std::vector<KernelConfig> many;
  std::map<std::string, double> slow;  ///< half of them, and their times

  Parts() {
    for (int i = 0; i < 32; ++i) {
      for (const TileOrder order : {TileOrder::kLinear, TileOrder::kHilbert}) {
        many.push_back(TiledConfig{.bn = 64 + 8 * (i % 8), .stages = 3 + i / 8, .order = order});
        if (order == TileOrder::kHilbert) slow[label(many.back())] = 300;
      }
    }
  }
  TunePlan burst() {
    TunePlan plan = this->plan({kSmall}, many);
    plan.regimes = {Regime::kBurst};
    return plan;
  }
  std::vector<int> rounds_in_burst(const std::string& name) {
    return rounds_of(trial(kSmall, name, Regime::kBurst));
  }
};

TEST_F(Parts, HaveEveryoneOnceAndAreStoppedBetween) {
  FakeMeasurer stopped;
  EXPECT_EQ(run(burst(), stopped, [&] { return !stopped.asked.empty(); }), 0);
  EXPECT_THAT(stopped.asked, ElementsAre(SizeIs(64)));

  FakeMeasurer gpu;
  EXPECT_EQ(run(burst(), gpu), 64);
  ASSERT_GE(gpu.asked.size(), 2u);
  std::set<std::string> first(gpu.asked[0].begin(), gpu.asked[0].end());
  first.insert(gpu.asked[1].begin(), gpu.asked[1].end());
  EXPECT_THAT(gpu.asked[0], SizeIs(64));
  EXPECT_THAT(first, SizeIs(gpu.asked[0].size() + gpu.asked[1].size()));
  for (const KernelConfig& config : many) EXPECT_THAT(first, Contains(label(config)));
  EXPECT_THAT(first, Contains("cublas"));

  // Sustained, samples follow one another with no pause: a round stays whole.
  FakeMeasurer shared;
  EXPECT_EQ(run(plan({kLight}, many), shared), 64);
  EXPECT_THAT(shared.asked[0], SizeIs(first.size()));
}

TEST_F(Parts, WhoIsSureToLeaveIsRecordedInTheMidstOfTheRound) {
  FakeMeasurer stopped;  // after the last part, before the round has ended
  stopped.model_us = slow;
  EXPECT_EQ(run(burst(), stopped, [&] { return stopped.asked.size() == 2; }), 32);
  for (const auto& [name, time_us] : slow) {
    EXPECT_EQ(trial(kSmall, name, Regime::kBurst).stage, Stage::kScreen) << name;
    EXPECT_THAT(rounds_in_burst(name), ElementsAre(1)) << name;
  }
  EXPECT_THAT(rounds_in_burst("cublas"), ElementsAre(1));

  FakeMeasurer gpu;
  gpu.model_us = slow;
  EXPECT_EQ(run(burst(), gpu), 32);
  for (const auto& [name, time_us] : slow) EXPECT_THAT(gpu.prepared, Not(Contains(name)));
}

TEST_F(Parts, EndARaceAsAWholeRoundDoes) {
  FakeMeasurer gpu;
  gpu.model_us = slow;
  EXPECT_EQ(run(burst(), gpu), 64);
  for (const auto& [name, time_us] : slow) {
    EXPECT_THAT(rounds_in_burst(name), ElementsAre(1)) << name;  // no sample twice
  }
  const auto cublas = rounds_in_burst("cublas");
  EXPECT_EQ(std::set(cublas.begin(), cublas.end()).size(), cublas.size());
}

TEST_F(Parts, ALostRoundHasANumberOfItsOwn) {
  FakeMeasurer gpu;
  gpu.model_us = slow;
  bool lost = false;
  gpu.before_step = [&] {
    if (gpu.asked.size() == 1 && !std::exchange(lost, true)) gpu.lose_round = 1;
  };
  EXPECT_EQ(run(burst(), gpu), 64);
  EXPECT_EQ(gpu.lose_round, 0);
  ASSERT_THAT(gpu.asked[0], Contains("cublas"));
  ASSERT_THAT(gpu.asked[1], Not(Contains("cublas")));  // the one that was lost
  const auto cublas = rounds_in_burst("cublas");
  EXPECT_THAT(cublas, SizeIs(std::ranges::count_if(gpu.asked, [](const auto& labels) {
                return std::ranges::find(labels, "cublas") != labels.end();
              })));
  for (const auto& [name, time_us] : slow) {
    const auto rounds = rounds_in_burst(name);
    ASSERT_THAT(rounds, SizeIs(1)) << name;
    EXPECT_THAT(cublas, Contains(rounds[0])) << name;  // it can be compared
  }
}

TEST_F(Parts, NobodyIsMissingWhateverIsLost) {
  const std::string crashing = slow.rbegin()->first;
  const auto check = [&](const char* what, const auto& prepare, bool crashes = false) {
    SCOPED_TRACE(what);
    forget_everything();
    FakeMeasurer gpu;
    gpu.model_us = slow;
    prepare(gpu);
    EXPECT_EQ(run(burst(), gpu), 64);
    for (const auto& [name, time_us] : slow) {
      const bool crashed = crashes && name == crashing;
      const Trial recorded = trial(kSmall, name, Regime::kBurst);
      EXPECT_EQ(recorded.status, crashed ? Status::kCrashed : Status::kOk) << name;
      EXPECT_THAT(recorded.samples, SizeIs(crashed ? 0 : 1)) << name;
    }
    EXPECT_EQ(run(burst(), gpu), 0);
  };
  check("as one leaves", [](FakeMeasurer& gpu) { gpu.lose_forget = 1; });
  check("as two leave", [](FakeMeasurer& gpu) { gpu.lose_forget = 2; });
  check("the first part", [](FakeMeasurer& gpu) { gpu.lose_round = 1; });
  check(
      "a kernel",
      [&](FakeMeasurer& gpu) {
        gpu.in_round[crashing] = {Status::kCrashed, 9};
      },
      true);
}

TEST_F(Parts, ScreeningAtTheRestedPaceIsInThemTooWhenSustained) {
  FakeMeasurer gpu;
  gpu.power_capped = true;
  gpu.model_us = slow;
  EXPECT_EQ(run(plan({kLarge}, many), gpu), 64);
  EXPECT_THAT(gpu.asked[0], SizeIs(64));
  EXPECT_EQ(gpu.paces[1], Pace::kRested);
  EXPECT_EQ(gpu.paces.back(), Pace::kOwn);
}

}  // namespace
}  // namespace hgemm
