// What a tune does with a time that it is given.
#include <utility>

#include "results/best.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

using Deadline = TuneTest;

/// The time is over in so many seconds.
SearchPlan within(double seconds) {
  SearchPlan search{.strategy = StrategyKind::kModel, .budget = {}, .devices = {}};
  search.deadline = std::chrono::steady_clock::now() +
                    std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  return search;
}

TEST_F(Deadline, AShortTimeIsSpentOnABriefRaceOfTheLikeliest) {
  TunePlan hasty = plan({kLarge, kLight}, configs(20));
  hasty.policy = {};
  hasty.search = within(2);
  FakeMeasurer gpu;
  const auto measured = run(hasty, gpu);
  EXPECT_THAT(gpu.efforts, Each(Effort::kBrief));
  EXPECT_GE(measured, 16);
  EXPECT_LT(measured, 40);
  for (const RecordedRace& race : open().races()) EXPECT_TRUE(race.race.timing.brief);
  EXPECT_THAT(listener_.races, SizeIs(2)) << "both shapes have their share";

  // To lose in brief says little: full effort measures all of them.
  hasty.search.reset();
  FakeMeasurer again;
  EXPECT_EQ(run(hasty, again), 40);
  EXPECT_THAT(again.efforts, Each(Effort::kFull));
  EXPECT_EQ(run(hasty, again), 0);
}

TEST_F(Deadline, WinnersAreWeighedInTheEndAtFullEffortAsFarAsThereIsTime) {
  TunePlan timed = plan({kLarge, kLight}, configs(20));
  timed.policy = {};
  timed.weighed = Weighed::kWinners;
  const auto rows_after = [&](double seconds) {
    timed.search = within(seconds);
    FakeMeasurer gpu;
    run(timed, gpu);
    return best_rows(open().races());
  };
  for (const BestRow& row : rows_after(3)) {
    EXPECT_FALSE(row.joules) << to_string(row.problem);
    EXPECT_GT(row.finalists.size(), 2u) << "the search had its time";
  }
  for (const BestRow& row : rows_after(100)) {
    EXPECT_TRUE(row.joules && row.cublas_joules) << to_string(row.problem);
    EXPECT_FALSE(row.brief);
  }
}

TEST_F(Deadline, AWinnerThatFallsBackWhenItIsWeighedHasMetThoseNearIt) {
  TunePlan timed = plan({kLight}, configs(8));
  timed.policy = {};
  timed.weighed = Weighed::kWinners;
  timed.search = within(100);
  FakeMeasurer gpu;
  for (int i = 0; i < 8; ++i) gpu.model_us[name(i)] = 90 + 0.1 * i;
  listener_.on_event = [&] {
    if (listener_.races.size() < 2) return;
    for (int i = 0; i < 2; ++i) gpu.model_us[name(i)] = 92;  // in the race for energy
  };
  run(timed, gpu);
  EXPECT_THAT(listener_.races, SizeIs(2)) << "another race may find no time";
  const std::vector<BestRow> rows = best_rows(open().races());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows.front().label, name(2));
  EXPECT_TRUE(rows.front().joules && rows.front().cublas_joules);
}

TEST_F(Deadline, ARaceForEnergyHasAsManyConfigsAsThereIsTimeFor) {
  TunePlan timed = plan({kLarge}, configs(8));
  timed.policy = {};
  FakeMeasurer gpu;
  run(timed, gpu);  // at full effort
  timed.weighed = Weighed::kWinners;
  const auto configs_within = [&](double seconds) {
    listener_.races.clear();
    timed.search = within(seconds);
    run(timed, gpu);
    return listener_.races;
  };
  EXPECT_THAT(configs_within(20), IsEmpty()) << "two take 21.4 s, and each further one 2.3 s";
  EXPECT_THAT(configs_within(25), ElementsAre("0/1 2048x4096x4096 sustained 3"));
  EXPECT_TRUE(best_rows(open().races()).front().joules);
}

TEST_F(Deadline, NothingIsCompiledOrRacedForEnergyAfterTheTime) {
  TunePlan late = plan({kLarge, kLight}, configs(3));
  late.search = within(20);
  FakeMeasurer gpu;
  run(late, gpu);
  listener_.races.clear();
  late.weighed = Weighed::kWinners;
  late.search = within(-1);
  run(late, gpu);
  EXPECT_THAT(listener_.races, IsEmpty());
}

TEST_F(Deadline, AShapeWhoseEnergyTakesTooLongLeavesTheTimeToOthers) {
  TunePlan timed = plan({kLarge, kLight}, configs(3));
  timed.policy = {};
  timed.search = within(16);  // the energy of the large shape takes some 20 s
  timed.weighed = Weighed::kWinners;
  FakeMeasurer gpu;
  run(timed, gpu);
  std::map<std::string, bool> has_energy;
  for (const BestRow& row : best_rows(open().races())) {
    has_energy[to_string(row.problem)] = row.joules.has_value();
  }
  EXPECT_TRUE(has_energy[to_string(kLight)]);
  EXPECT_FALSE(has_energy[to_string(kLarge)]);
}

TEST_F(Deadline, AFinalThatTakesLongerThanItsTimeEndsWithEnoughRoundsForAnInterval) {
  TunePlan hasty = plan({kLight}, configs(8));
  hasty.policy = {};
  hasty.search = within(1);
  std::size_t rounds = 0;
  listener_.on_event = [&] {  // a GPU that is far slower than was thought
    if (std::exchange(rounds, listener_.leaders.size()) == listener_.leaders.size()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  };
  FakeMeasurer gpu;
  EXPECT_EQ(run(hasty, gpu), 8);
  EXPECT_THAT(rounds_of(trial(kLight, listener_.leaders.back())), SizeIs(6)) << "60 were planned";
}

TEST_F(Deadline, ABriefFinalOfALargeShapeIsAfterRests) {
  TunePlan hasty = plan({kLarge}, configs(8));
  hasty.policy = {};
  hasty.search = within(2);
  FakeMeasurer gpu;
  EXPECT_EQ(run(hasty, gpu), 8);
  EXPECT_THAT(gpu.efforts, ElementsAre(Effort::kBrief));
  EXPECT_THAT(gpu.paces, Each(Pace::kRested)) << "the clock has no time to settle at the power cap";
  EXPECT_THAT(gpu.settled, Each(Pace::kRested));
  EXPECT_THAT(gpu.asked.back(), SizeIs(Ge(4))) << "two configs or three, and the libraries";
}

TEST_F(Deadline, AnHourIsSpentOnAllOfThem) {
  TunePlan patient = plan({kLarge, kLight}, configs(20));
  patient.search = within(3600);
  FakeMeasurer gpu;
  EXPECT_EQ(run(patient, gpu), 40);
  EXPECT_THAT(gpu.efforts, Each(Effort::kFull));
}

TEST_F(Deadline, RacesThatTheTimeIsNotEnoughForAreNamedAndComeNext) {
  TunePlan late = plan({kLarge, kLight}, configs(3));
  late.search = within(-1);
  FakeMeasurer gpu;
  EXPECT_EQ(run(late, gpu), 0);
  EXPECT_EQ(gpu.opened, 0);
  EXPECT_THAT(late_problems_, UnorderedElementsAre(to_string(kLarge), to_string(kLight)));
  late.search = within(60);
  EXPECT_EQ(run(late, gpu), 6);
  EXPECT_THAT(late_problems_, IsEmpty());
}

TEST_F(Deadline, WhatIsNotCompiledInTimeIsLeftOutAndComesNext) {
  TunePlan hasty = plan({kLight}, configs(6));
  hasty.search = within(1.5);
  // The compiler is at the third kernel until long after that.
  compiler_hangs_after_ = 2;
  FakeMeasurer gpu;
  EXPECT_EQ(run(hasty, gpu), 2);
  EXPECT_THAT(late_problems_, IsEmpty());
  compiler_hangs_after_ = 100;
  hasty.search = within(60);
  EXPECT_EQ(run(hasty, gpu), 4);
}

TEST_F(Deadline, WhatTheCompilerThrowsEndsTheTune) {
  compiler_throws_ = true;
  FakeMeasurer gpu;
  for (const bool hasty : {false, true}) {
    TunePlan some = plan({kLight}, configs(2));
    if (hasty) some.search = within(60);
    EXPECT_THROW(run(some, gpu), InputError) << hasty;
  }
}

}  // namespace
}  // namespace hgemm
