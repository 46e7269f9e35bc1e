// The measurer is lost, in every step: who is to blame, and what goes on.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>

#include "base/error.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

using Loss = TuneTest;

TEST_F(Loss, ACrashInPreparationCostsOneTrial) {
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(1), {Status::kCrashed}}, {name(2), {Status::kTimedOut}}};
  EXPECT_EQ(run(plan({kSmall}, configs(4)), gpu), 4);
  EXPECT_EQ(status(kSmall, 0), Status::kOk);
  EXPECT_EQ(status(kSmall, 1), Status::kCrashed);
  EXPECT_EQ(trial(kSmall, name(1)).message, "worker lost to " + name(1));
  EXPECT_EQ(status(kSmall, 2), Status::kTimedOut);
  EXPECT_EQ(status(kSmall, 3), Status::kOk);
  EXPECT_EQ(trial(kSmall, name(3)).stage, Stage::kFinal);
  EXPECT_EQ(gpu.opened, 3);
  EXPECT_THAT(open().races(), SizeIs(1));
}

TEST_F(Loss, WhatWasVerifiedBeforeIsOnlyLoadedAgain) {
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(2), {Status::kCrashed}}};
  EXPECT_EQ(run(plan({kSmall}, configs(4)), gpu), 4);
  EXPECT_THAT(gpu.prepared, SizeIs(4));
  EXPECT_THAT(gpu.restored,
              UnorderedElementsAre("256x512x128 " + name(0), "256x512x128 " + name(1)));
  EXPECT_TRUE(trial(kSmall, name(0)).verdict.correct);
  EXPECT_EQ(trial(kSmall, name(0)).verdict.error, 0.1);
}

TEST_F(Loss, ACrashInARoundIsTracedToItsCulprit) {
  // Rested samples run alone, so it is known who it was; shared ones are enqueued together.
  for (const GemmProblem& problem : {kSmall, kLight}) {
    const bool named = problem.m == kSmall.m;
    FakeMeasurer gpu;
    gpu.in_round = {{name(1), {Status::kTimedOut}}};
    EXPECT_EQ(run(plan({problem}, configs(3)), gpu), 3);
    EXPECT_EQ(status(problem, 1), Status::kTimedOut);
    EXPECT_EQ(trial(problem, name(1)).stage, Stage::kScreen);
    for (const int other : {0, 2}) {
      EXPECT_EQ(status(problem, other), Status::kOk);
      EXPECT_THAT(rounds_of(trial(problem, name(other))), IsSupersetOf({3, 4, 5}));
    }
    EXPECT_THAT(rounds_of(trial(problem, "cublas")), IsSupersetOf({1, 2, 3, 4, 5}));
    const auto alone = std::ranges::count_if(gpu.asked, [](auto& r) { return r.size() == 1; });
    EXPECT_EQ(alone == 0, named);
    EXPECT_EQ(gpu.opened, named ? 2 : 3);  // in the round, and alone
    EXPECT_THAT(gpu.prepared, SizeIs(3));
  }
}

TEST_F(Loss, TheMeasurerIsSettledAgainForTheSamePace) {
  FakeMeasurer gpu;
  gpu.in_round = {{name(1), {Status::kCrashed, 1, Pace::kOwn}}};
  gpu.before_step = [&] { gpu.power_capped = gpu.opened == 1; };  // as it seems after the loss
  EXPECT_EQ(run(plan({kSmall}, configs(3)), gpu), 3);
  EXPECT_EQ(status(kSmall, 1), Status::kCrashed);
  EXPECT_THAT(gpu.settled, ElementsAre(Pace::kRested, Pace::kOwn, Pace::kOwn));
  EXPECT_EQ(gpu.paces.back(), Pace::kOwn);
}

TEST_F(Loss, AFinalistThatHangsLateLosesOnlyItself) {
  FakeMeasurer gpu;
  gpu.before_step = [&] {  // from the fourth round on: in the final
    if (gpu.asked.size() == 3) gpu.in_round = {{name(1), {Status::kTimedOut}}};
  };
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1), c(2)}), gpu), 3);
  EXPECT_EQ(status(kSmall, 1), Status::kTimedOut);
  EXPECT_EQ(trial(kSmall, name(1)).stage, Stage::kScreen);  // not measured to the end
  EXPECT_THAT(rounds_of(trial(kSmall, name(1))), ElementsAre(3));
  EXPECT_EQ(trial(kSmall, name(0)).stage, Stage::kFinal);
  EXPECT_THAT(rounds_of(trial(kSmall, name(0))), IsSupersetOf({3, 4, 5}));
}

TEST_F(Loss, ALossThatDoesNotRepeatBlamesNobody) {
  FakeMeasurer gpu;
  gpu.lose_round = 1;
  EXPECT_EQ(run(plan({kSmall, kLarge}, {c(0), c(1)}), gpu), 4);
  EXPECT_THAT(trials(),
              Each(Pair(testing::_, ElementsAre(testing::Field(&Trial::status, Status::kOk)))));
  EXPECT_THAT(gpu.asked.back(), SizeIs(testing::Gt(1)));  // the next shape races as usual
}

TEST_F(Loss, EachStepMayBeLostOnce) {
  for (int FakeMeasurer::*step :
       {&FakeMeasurer::lose_open, &FakeMeasurer::lose_settle, &FakeMeasurer::lose_forget}) {
    forget_everything();
    FakeMeasurer gpu;
    gpu.*step = 1;
    gpu.model_us[name(1)] = 200;  // eliminated, so forgotten
    EXPECT_EQ(run(plan({kSmall}, {c(0), c(1)}), gpu), 2);
    EXPECT_EQ(status(kSmall, 0), Status::kOk);
    EXPECT_EQ(gpu.*step, 0);
  }
}

TEST_F(Loss, AnUnusableGpuStopsTheRunAndKeepsWhatIsDone) {
  for (int FakeMeasurer::*step : {&FakeMeasurer::lose_open, &FakeMeasurer::lose_settle}) {
    forget_everything();
    FakeMeasurer gpu;
    gpu.noise = 0;
    gpu.before_step = [&] {
      if (gpu.asked.size() == 5 && gpu.*step == 0) gpu.*step = 1000;  // after the first shape
    };
    const TunePlan two = plan({kSmall, kLarge}, {c(0), c(1)});
    EXPECT_THAT([&] { run(two, gpu); }, ThrowsMessage<Error>(testing::AllOf(
                                            HasSubstr("twice in a row"),
                                            HasSubstr("2048x4096x4096"), HasSubstr("doctor"))));
    EXPECT_EQ(gpu.*step, 998);
    EXPECT_THAT(trials(), SizeIs(2));
    FakeMeasurer repaired;
    EXPECT_EQ(run(two, repaired), 2);
  }
}

TEST_F(Loss, AKernelThatTakesTheGpuDownIsNotTriedAgain) {
  FakeMeasurer gpu, repaired;
  gpu.in_prepare = {{name(1), {Status::kCrashed}}};
  gpu.before_step = [&] {
    if (gpu.prepared.size() == 2) gpu.lose_open = 1;
  };
  const TunePlan three = plan({kSmall}, {c(0), c(1), c(2)});
  EXPECT_THROW(run(three, gpu), Error);
  EXPECT_EQ(status(kSmall, 1), Status::kCrashed);
  EXPECT_EQ(run(three, repaired), 2);
  EXPECT_THAT(repaired.prepared, Not(Contains(HasSubstr(name(1)))));
}

TEST_F(Loss, CublasCannotBeBlamedOrMissed) {
  FakeMeasurer named, not_named, always, wrong;
  named.in_round = {{"cublas", {Status::kCrashed, 1}}};
  EXPECT_EQ(run(plan({kSmall}, configs(2)), named), 2);
  not_named.in_round = {{"cublas", {Status::kCrashed, 2}}};  // in the round, then alone
  EXPECT_EQ(run(plan({kLight}, configs(2)), not_named), 2);
  always.in_round = {{"cublas", {Status::kCrashed}}};
  EXPECT_THAT([&] { run(plan({kLarge}, {c(0)}), always); },
              ThrowsMessage<Error>(HasSubstr("twice in a row")));
  wrong.in_baseline = {{"cublas", Status::kWrongResult}};
  EXPECT_THAT([&] { run(plan({kLarge}, {c(0)}), wrong); },
              ThrowsMessage<Error>(HasSubstr("cublas itself ended with wrong_result")));
  EXPECT_THAT(trials(), SizeIs(4));
}

TEST_F(Loss, AFailingAlgorithmIsRecordedAndLeftOut) {
  FakeMeasurer gpu;
  gpu.in_baseline = {{"cublaslt.0", Status::kWrongResult}};
  gpu.in_round = {{"cublaslt.1", {Status::kCrashed}}};
  EXPECT_EQ(run(plan({kSmall}, {c(0)}), gpu), 1);
  EXPECT_EQ(trial(kSmall, "cublaslt.0").status, Status::kWrongResult);
  EXPECT_THAT(trial(kSmall, "cublaslt.0").samples, IsEmpty());
  EXPECT_EQ(trial(kSmall, "cublaslt.1").status, Status::kCrashed);
  EXPECT_EQ(trial(kSmall, "cublaslt.1").message,
            "algorithm of cublaslt.1: worker lost to cublaslt.1");
  EXPECT_EQ(trial(kSmall, name(0)).stage, Stage::kFinal);
}

TEST_F(Loss, AnAlgorithmThatHangsWhileTheShapeOpensCostsOneTrial) {
  FakeMeasurer gpu;
  gpu.timing.cold = false;
  gpu.in_open = {{"cublaslt.0", {Status::kCrashed}}, {"cublaslt.1", {Status::kTimedOut}}};
  EXPECT_EQ(run(plan({kSmall, kLarge}, configs(2)), gpu), 4);
  for (const GemmProblem& problem : {kSmall, kLarge}) {
    EXPECT_EQ(trial(problem, "cublaslt.0").status, Status::kCrashed);
    EXPECT_EQ(trial(problem, "cublaslt.1").status, Status::kTimedOut);
    EXPECT_EQ(trial(problem, "cublaslt.1").message, "worker lost to cublaslt.1");
    EXPECT_EQ(trial(problem, "cublaslt.1").stage, Stage::kNone);
    EXPECT_THAT(trial(problem, "cublaslt.1").samples, IsEmpty());
    EXPECT_EQ(trial(problem, name(1)).stage, Stage::kFinal);
  }
  const std::vector<std::string> first{"cublas", "cublaslt.0"}, second{"cublas", "cublaslt.1"},
      third{"cublas"};
  EXPECT_THAT(gpu.launched, ElementsAre(first, second, third, first, second, third));
  EXPECT_THAT(open().races(), SizeIs(2));
  for (const RecordedRace& race : open().races()) EXPECT_FALSE(race.race.timing.cold);
}

TEST_F(Loss, AnAlgorithmThatHasEndedIsNotLaunchedAgain) {
  for (const bool blamed : {true, false}) {
    forget_everything();
    FakeMeasurer gpu;
    gpu.noise = 0;
    if (blamed) gpu.in_round = {{"cublaslt.1", {Status::kCrashed}}};
    if (!blamed) gpu.model_us = {{"cublaslt.1", 150}};  // surplus at the end of screening
    gpu.in_energy = {{name(0), {Status::kCrashed}}};    // opens the shape again
    TunePlan weighing = plan({kSmall}, configs(2));
    weighing.weighed = Weighed::kFinalists;
    EXPECT_EQ(run(weighing, gpu), 2);
    EXPECT_THAT(gpu.launched, SizeIs(blamed ? 3 : 2));
    EXPECT_THAT(gpu.launched.front(), Contains("cublaslt.1"));
    EXPECT_THAT(gpu.launched.back(), ElementsAre("cublas", "cublaslt.0"));
    EXPECT_EQ(trial(kSmall, "cublaslt.1").status, blamed ? Status::kCrashed : Status::kOk);
  }
}

TEST_F(Loss, CublasThatHangsWhileTheShapeOpensStopsTheRun) {
  FakeMeasurer once, always;
  once.in_open = {{"cublas", {Status::kTimedOut, 1}}};
  EXPECT_EQ(run(plan({kSmall}, configs(2)), once), 2);
  always.in_open = {{"cublas", {Status::kTimedOut}}, {"cublaslt.0", {Status::kCrashed}}};
  EXPECT_THAT([&] { run(plan({kLarge}, configs(2)), always); },
              ThrowsMessage<Error>(HasSubstr("twice in a row")));
  EXPECT_THAT(trials(), SizeIs(2));
}

TEST_F(Loss, AShapeThatNoLongerFitsAfterALossIsSkipped) {
  FakeMeasurer gpu;
  gpu.in_round = {{name(1), {Status::kCrashed}}};
  gpu.before_step = [&] {  // someone else takes the memory
    if (!gpu.asked.empty()) gpu.too_large = {to_string(kSmall)};
  };
  EXPECT_EQ(run(plan({kSmall, kLarge}, {c(0), c(1)}), gpu), 3);
  EXPECT_THAT(listener_.warnings,
              ElementsAre(AllOf(HasSubstr("256x512x128 is skipped"), HasSubstr("900 GiB"))));
  EXPECT_THAT(skipped_problems_, ElementsAre("256x512x128"));
  EXPECT_EQ(status(kSmall, 1), Status::kCrashed);
  EXPECT_EQ(status(kLarge, 0), Status::kOk);
  FakeMeasurer free;
  EXPECT_EQ(run(plan({kSmall, kLarge}, {c(0), c(1)}), free), 1);
  EXPECT_EQ(trial(kSmall, name(0)).stage, Stage::kFinal);
}

TEST_F(Loss, AKernelThatCannotBeLoadedAgainIsToBlame) {
  for (const Status end : {Status::kLaunchFailed, Status::kCrashed}) {
    forget_everything();
    FakeMeasurer gpu;
    gpu.lose_round = 1;
    gpu.in_restore = {{name(0), {end}}};
    EXPECT_EQ(run(plan({kSmall}, configs(3)), gpu), 3);
    EXPECT_EQ(status(kSmall, 0), end);
    EXPECT_EQ(status(kSmall, 1), Status::kOk);
    EXPECT_EQ(trial(kSmall, name(2)).stage, Stage::kFinal);
  }
}

TEST_F(Loss, NobodyLeftToRaceIsNoError) {
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(0), {Status::kCrashed}}};
  gpu.in_round = {{name(1), {Status::kCrashed}}};
  EXPECT_EQ(run(plan({kSmall, kLarge}, {c(0), c(1)}), gpu), 4);
  EXPECT_EQ(status(kLarge, 0), Status::kCrashed);
  EXPECT_EQ(status(kLarge, 1), Status::kCrashed);
}

TEST_F(Loss, ACrashInAnEnergyWindowCostsOneTrial) {
  FakeMeasurer gpu;
  gpu.in_energy = {{name(1), {Status::kTimedOut}},
                   {"cublas", {Status::kCrashed, 1}},
                   {"cublaslt.0", {Status::kCrashed}}};
  gpu.model_us = {{"cublaslt.1", 110}};  // so that it is the other one that is weighed
  TunePlan weighing = plan({kSmall}, configs(3));
  weighing.weighed = Weighed::kFinalists;
  EXPECT_EQ(run(weighing, gpu), 3);
  EXPECT_EQ(status(kSmall, 1), Status::kTimedOut);
  EXPECT_EQ(trial(kSmall, name(1)).stage, Stage::kScreen);  // not measured to the end
  EXPECT_THAT(rounds_of(trial(kSmall, name(1))), IsSupersetOf({3, 4, 5}));
  EXPECT_EQ(trial(kSmall, "cublaslt.0").status, Status::kCrashed);
  for (const std::string& label : {name(0), name(2), std::string("cublas")}) {
    EXPECT_EQ(trial(kSmall, label).status, Status::kOk);
    EXPECT_TRUE(trial(kSmall, label).energy) << label;
  }
  EXPECT_EQ(run(weighing, gpu), 0);
}

// ---- A GPU that blames everybody ----

TEST_F(Loss, ManyCulpritsInARowAreTheGpusFault) {
  FakeMeasurer gpu;
  for (int i = 0; i < 10; ++i) gpu.in_prepare[name(i)] = {Status::kCrashed};
  EXPECT_THAT([&] { run(plan({kSmall}, configs(10)), gpu); },
              ThrowsMessage<Error>(AllOf(HasSubstr("8 candidates in a row"),
                                         HasSubstr(name(0) + " at 256x512x128"), HasSubstr(name(2)),
                                         HasSubstr("doctor"))));
  EXPECT_THAT(trials(), SizeIs(8));
  EXPECT_EQ(status(kSmall, 2), Status::kCrashed);
  FakeMeasurer sound;
  EXPECT_EQ(run(plan({kSmall}, configs(10)), sound), 2);
  EXPECT_EQ(status(kSmall, 4), Status::kOk);
}

TEST_F(Loss, TheyAreCountedFromShapeToShape) {
  FakeMeasurer gpu;
  for (int i = 0; i < 3; ++i) gpu.in_prepare[name(i)] = {Status::kCrashed};
  EXPECT_THAT(
      [&] {
        run(plan({kSmall, kLight, kLarge}, configs(3)), gpu);
      },
      ThrowsMessage<Error>(HasSubstr("8 candidates in a row")));
  EXPECT_THAT(trials(), SizeIs(8));
}

TEST_F(Loss, TheyAreForgivenOnceSomethingWorks) {
  FakeMeasurer gpu;
  for (const int bad : {0, 1, 2, 3, 4, 6, 7, 8, 9, 10})
    gpu.in_prepare[name(bad)] = {Status::kCrashed};
  gpu.in_round = {{name(5), {Status::kCrashed, 1, Pace::kOwn}}};  // after rounds of screening
  EXPECT_EQ(run(plan({kSmall}, configs(12)), gpu), 12);
  EXPECT_EQ(trial(kSmall, name(11)).stage, Stage::kFinal);
}

// ---- Notes of what runs for the first time ----

class Attempts : public TuneTest {
 protected:
  std::vector<std::string> noted() const {
    std::vector<std::string> labels;
    const SQLite::Database db(database_, SQLite::OPEN_READONLY);
    SQLite::Statement row(
        db, "SELECT label FROM attempt JOIN candidate ON candidate.id = candidate_id");
    while (row.executeStep()) labels.push_back(row.getColumn(0).getString());
    return labels;
  }
};

TEST_F(Attempts, AreOnDiskBeforeAConfigRunsAndGoneAfterwards) {
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(1), {Status::kCrashed}}};  // so that the first is restored
  std::vector<std::vector<std::string>> notes;
  gpu.before_step = [&] { notes.push_back(noted()); };
  run(plan({kSmall}, configs(3)), gpu);
  const auto last = std::ranges::unique(notes);
  notes.erase(last.begin(), last.end());
  EXPECT_THAT(notes, ElementsAre(IsEmpty(), ElementsAre(name(0)), ElementsAre(name(1)),
                                 ElementsAre(name(2)), IsEmpty()));
}

TEST_F(Attempts, AreOverWhenTheRunEndsAlive) {
  FakeMeasurer stopped, unusable;
  run(plan({kSmall}, configs(3)), stopped, [&] { return stopped.prepared.size() == 2; });
  EXPECT_THAT(stopped.prepared, SizeIs(2));
  EXPECT_THAT(noted(), IsEmpty());
  unusable.in_prepare = {{name(0), {Status::kCrashed}}};
  unusable.before_step = [&] {
    if (unusable.prepared.size() == 1) unusable.lose_open = 2;
  };
  EXPECT_THROW(run(plan({kSmall}, configs(3)), unusable), Error);
  EXPECT_THAT(noted(), IsEmpty());
}

}  // namespace
}  // namespace hgemm
