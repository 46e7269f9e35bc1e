// How far a tune says it has come: what its progress reckons the time left from.
#include <algorithm>

#include "support.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::Not;

struct Advance : TuneTest {
  FakeMeasurer gpu;
  std::size_t told_by_second = 0;  ///< shares, when the second race began

  Advance() {
    listener_.on_event = [this] {
      if (listener_.races.size() < 2) told_by_second = listener_.shares.size();
    };
  }
  void expect_grows() const {
    EXPECT_THAT(listener_.shares, AllOf(Not(IsEmpty()), Each(AllOf(Gt(0), Le(1)))));
    EXPECT_TRUE(std::ranges::is_sorted(listener_.shares));
  }
};

TEST_F(Advance, AShapeOfLongLaunchesCountsForMore) {
  const GemmProblem huge{.m = 16384, .n = 16384, .k = 16384, .tag = ""};
  run(plan({kLight, huge}, configs(40)), gpu);
  expect_grows();
  ASSERT_LT(told_by_second, listener_.shares.size());
  EXPECT_LT(listener_.shares[told_by_second - 1], 0.2);
  EXPECT_GT(listener_.shares.back(), 0.7);  // of its final rounds some are not needed
}

TEST_F(Advance, WhoLeftInTheFirstRoundIsNotWaitedFor) {
  TunePlan burst = plan({kSmall}, configs(40));
  burst.regimes = {Regime::kBurst};
  const auto after_the_first_round = [&] {
    double share = 0;
    listener_.leaders.clear();
    listener_.on_event = [&] {
      if (listener_.leaders.size() == 1) share = listener_.shares.back();
    };
    EXPECT_EQ(run(burst, gpu), 40);
    forget_everything();
    return share;
  };
  const double all_stay = after_the_first_round();
  for (int i = 1; i < 40; ++i) gpu.model_us[name(i)] = 300;
  EXPECT_GT(after_the_first_round(), 1.05 * all_stay);
}

TEST_F(Advance, EndsWithTheLastJoule) {
  TunePlan weighed = plan({kSmall}, configs(3));
  weighed.weighed = Weighed::kFinalists;
  run(weighed, gpu);
  expect_grows();
  EXPECT_DOUBLE_EQ(listener_.shares.back(), 1);
}

TEST_F(Advance, DoesNotBeginAgainAfterALoss) {
  gpu.in_prepare[name(3)] = {.status = Status::kCrashed};
  gpu.in_round[name(1)] = {.status = Status::kCrashed};
  run(plan({kSmall}, configs(5)), gpu);
  EXPECT_EQ(status(kSmall, 1), Status::kCrashed);
  EXPECT_EQ(status(kSmall, 3), Status::kCrashed);
  expect_grows();
}

TEST_F(Advance, AShapeThatDoesNotFitTakesNoTime) {
  const GemmProblem huge{.m = 16384, .n = 16384, .k = 16384, .tag = ""};
  gpu.too_large = {to_string(huge)};
  run(plan({huge, kSmall}, configs(40)), gpu);
  expect_grows();
  EXPECT_LT(listener_.shares.front(), 0.2);
}

}  // namespace
}  // namespace hgemm
