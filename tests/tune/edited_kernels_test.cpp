// The same tune after an edit of the kernels: what is compiled again, and what is measured again.
#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>

#include "support.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class EditedKernels : public TuneTest {
 protected:
  // Each edit also makes another program, which says of itself that it has other kernel sources.
  void edit(int config) {
    ++compiler_.edits[name(config)];
    ++edits_;
  }
  void change_code(int config) {
    ++compiler_.new_codes[name(config)];
    ++edits_;
  }
  void edit_all(int count) {
    for (int i = 0; i < count; ++i) edit(i);
  }

  /// What one more run compiles and measures: labels, and "problem label" of what was prepared.
  struct Rerun {
    std::int64_t recorded;
    std::vector<std::string> compiled, prepared;
    int opened;
  };
  Rerun rerun(const TunePlan& plan) {
    FakeMeasurer gpu;
    gpu.where.run.kernel_sources = kernel_sources();
    compiled_.clear();
    listener_.races.clear();
    const std::int64_t recorded = run(plan, gpu);
    return {recorded, compiled_, gpu.prepared, gpu.opened};
  }
  void expect_idle(const TunePlan& plan) {
    const Rerun again = rerun(plan);
    EXPECT_EQ(again.recorded, 0);
    EXPECT_EQ(again.opened, 0);
    EXPECT_THAT(again.compiled, IsEmpty());
    EXPECT_THAT(listener_.races, IsEmpty());
  }
  void expect_compiled_but_not_measured(const TunePlan& plan, std::size_t kernels) {
    const std::size_t races = open().races().size();
    const Rerun again = rerun(plan);
    EXPECT_THAT(again.compiled, SizeIs(kernels));
    EXPECT_EQ(again.recorded, 0);
    EXPECT_EQ(again.opened, 0);
    EXPECT_THAT(listener_.races, IsEmpty());
    EXPECT_THAT(open().races(), SizeIs(races));
    expect_idle(plan);  // and the sources are known from now on
  }

  std::string kernel_sources() const { return fmt::format("k{}", edits_); }

  /// The trials of a config at a problem, in the order of recording.
  std::vector<std::string> kernel_ids(const GemmProblem& problem, int config) const {
    std::vector<std::string> ids;
    const auto all = trials();
    for (const Trial& trial : all.at(key(problem, name(config)))) ids.push_back(trial.kernel_id);
    return ids;
  }

  int edits_ = 0;
};

TEST_F(EditedKernels, AnotherProgramWithTheSameKernelsMeasuresNothing) {
  const TunePlan same = plan({kSmall, kLarge}, configs(3));
  EXPECT_EQ(rerun(same).recorded, 6);
  for (const auto change : {+[](Machine& m) { m.run.kernel_sources = "k1"; },
                            +[](Machine& m) { m.run.git_revision = "another"; },
                            +[](Machine& m) { m.run.gpu_uuid = "GPU-1"; },
                            +[](Machine& m) { m.run.host = "another"; }}) {
    FakeMeasurer gpu;
    change(gpu.where);
    compiled_.clear();
    EXPECT_EQ(run(same, gpu), 0);
    EXPECT_EQ(gpu.opened, 0);
    EXPECT_THAT(compiled_, IsEmpty());
  }
}

TEST_F(EditedKernels, AnotherEnvironmentMeasuresEverything) {
  const TunePlan same = plan({kSmall}, configs(3));
  EXPECT_EQ(rerun(same).recorded, 3);
  FakeMeasurer gpu;
  gpu.where.environment.driver = "590";
  EXPECT_EQ(run(same, gpu), 3);
}

TEST_F(EditedKernels, AnEditOfTheSourceThatLeavesTheCodeCompilesAndMeasuresNothing) {
  const TunePlan same = plan({kSmall, kLarge}, configs(4));
  EXPECT_EQ(rerun(same).recorded, 8);
  edit_all(4);
  expect_compiled_but_not_measured(same, 4);
  edit(2);
  expect_compiled_but_not_measured(same, 1);
  EXPECT_THAT(kernel_ids(kLarge, 2), SizeIs(1));
}

TEST_F(EditedKernels, ExactlyThoseWhoseCodeChangedAreMeasuredAgain) {
  const TunePlan same = plan({kSmall, kLarge}, configs(4));
  EXPECT_EQ(rerun(same).recorded, 8);
  edit_all(4);
  change_code(1);
  change_code(3);
  const Rerun again = rerun(same);
  EXPECT_EQ(again.recorded, 4);
  EXPECT_THAT(again.compiled, UnorderedElementsAre(name(0), name(1), name(2), name(3)));
  EXPECT_THAT(again.prepared,
              UnorderedElementsAre("256x512x128 " + name(1), "256x512x128 " + name(3),
                                   "2048x4096x4096 " + name(1), "2048x4096x4096 " + name(3)));
  EXPECT_THAT(listener_.races,
              ElementsAre("0/2 256x512x128 sustained 2", "1/2 2048x4096x4096 sustained 2"));
  for (const GemmProblem& problem : {kSmall, kLarge}) {
    for (const int changed : {1, 3}) {
      const auto ids = kernel_ids(problem, changed);
      ASSERT_THAT(ids, SizeIs(2)) << "what was measured before is kept";
      EXPECT_NE(ids[0], ids[1]);
      EXPECT_EQ(ids[1], compiler_.trial_kernel(c(changed), problem).kernel_id);
    }
    EXPECT_THAT(kernel_ids(problem, 0), SizeIs(1));
  }
  const std::vector<RecordedRace> races = open().races();
  ASSERT_THAT(races, SizeIs(4));
  EXPECT_EQ(races.front().run.kernel_sources, "k0");
  EXPECT_EQ(races.back().run.kernel_sources, kernel_sources()) << "as recorded: other sources";
  expect_idle(same);
}

TEST_F(EditedKernels, AShapeWhoseKernelsAreUnchangedIsNotOpened) {
  GemmProblem fp16 = kSmall;
  fp16.set_types(DataType::kFp16);
  EXPECT_EQ(rerun(plan({kSmall}, configs(2))).recorded, 2);
  edit_all(2);
  const Rerun both = rerun(plan({kSmall, fp16}, configs(2)));
  EXPECT_THAT(both.compiled, SizeIs(4));
  EXPECT_EQ(both.opened, 1);
  EXPECT_THAT(both.prepared,
              UnorderedElementsAre("256x512x128.fp16 " + name(0), "256x512x128.fp16 " + name(1)));
}

TEST_F(EditedKernels, WhoseEditIsTakenBackIsKnown) {
  const TunePlan same = plan({kSmall}, configs(3));
  rerun(same);
  change_code(0);
  EXPECT_EQ(rerun(same).recorded, 1);
  compiler_.new_codes.clear();
  expect_idle(same);
  change_code(0);
  expect_idle(same);
}

TEST_F(EditedKernels, WhatDidNotCompileIsTriedAgainWithItsNextSource) {
  compiler_.failing = {name(1)};
  const TunePlan same = plan({kSmall}, configs(3));
  EXPECT_EQ(rerun(same).recorded, 3);
  edit(0);
  EXPECT_THAT(rerun(same).compiled, ElementsAre(name(0))) << "the one that failed is as it was";

  edit(1);
  const Rerun failed = rerun(same);
  EXPECT_EQ(failed.recorded, 1);
  EXPECT_EQ(failed.opened, 0);
  EXPECT_THAT(kernel_ids(kSmall, 1), SizeIs(2)) << "another source that does not compile";
  compiler_.failing.clear();
  edit(1);
  const Rerun repaired = rerun(same);
  EXPECT_THAT(repaired.prepared, ElementsAre("256x512x128 " + name(1)));
  EXPECT_EQ(trials()[key(kSmall, name(1))].back().stage, Stage::kFinal);
  expect_idle(same);
}

// What is invalid is so by the rules, which an edit may change.
TEST_F(EditedKernels, WhatIsInvalidIsJudgedAgainWithItsNextSource) {
  const TunePlan same = plan({kOddK}, configs(2));
  EXPECT_EQ(rerun(same).recorded, 2);
  expect_idle(same);
  edit(1);
  const Rerun again = rerun(same);
  EXPECT_EQ(again.recorded, 1);
  EXPECT_EQ(again.opened, 0);
  EXPECT_THAT(again.compiled, IsEmpty());
  EXPECT_EQ(trials()[key(kOddK, name(1))].back().status, Status::kInvalidConfig);
}

TEST_F(EditedKernels, ABadKernelRunsAgainOnlyWithOtherCode) {
  const TunePlan same = plan({kSmall}, configs(3));
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(1), {Status::kCrashed}}, {name(2), {Status::kWrongResult}}};
  EXPECT_EQ(run(same, gpu), 3);
  edit_all(3);
  expect_compiled_but_not_measured(same, 3);
  for (const int bad : {1, 2}) change_code(bad);
  EXPECT_THAT(rerun(same).prepared,
              UnorderedElementsAre("256x512x128 " + name(1), "256x512x128 " + name(2)));
  for (const int bad : {1, 2}) {
    EXPECT_EQ(trials()[key(kSmall, name(bad))].back().status, Status::kOk);
  }
}

TEST_F(EditedKernels, WhatTookTheMachineDownRunsAgainOnlyWithOtherCode) {
  const TunePlan same = plan({kSmall}, configs(2));
  {
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    const auto run = store.begin_run(fake_machine(), "hgemm-tune test");
    store.begin_attempt(run, kSmall, compiler_.trial_kernel(c(1), kSmall));
  }
  SQLite::Database(database_, SQLite::OPEN_READWRITE)
      .exec("UPDATE attempt SET boot_id = 'the boot before'");
  edit(1);
  EXPECT_THAT(rerun(same).prepared, ElementsAre("256x512x128 " + name(0)));
  EXPECT_EQ(status(kSmall, 1), Status::kCrashed);
  EXPECT_THAT(trial(kSmall, name(1)).message, HasSubstr("the machine went down"));
  edit(1);
  expect_compiled_but_not_measured(same, 1);
  change_code(1);
  EXPECT_THAT(rerun(same).prepared, ElementsAre("256x512x128 " + name(1)));
}

TEST_F(EditedKernels, EnergyIsKeptWithTheCodeItIsOf) {
  TunePlan weighed = plan({kSmall}, configs(2));
  weighed.weighed = Weighed::kFinalists;
  EXPECT_EQ(rerun(weighed).recorded, 2);
  edit_all(2);
  expect_compiled_but_not_measured(weighed, 2);
  change_code(0);
  EXPECT_EQ(rerun(weighed).recorded, 1);
  EXPECT_TRUE(trials()[key(kSmall, name(0))].back().energy);
}

TEST_F(EditedKernels, ABudgetIsSpentOnTheSameConfigs) {
  TunePlan some = plan({kLarge}, configs(20));
  some.search = SearchPlan{StrategyKind::kModel, {.trials = 4}, {}};
  const Rerun first = rerun(some);
  EXPECT_EQ(first.recorded, 4);
  edit_all(20);
  expect_compiled_but_not_measured(some, 4);
  const KernelConfig changed = parse_label(first.compiled.front());
  ++compiler_.new_codes[label(changed)];
  EXPECT_THAT(rerun(some).prepared, ElementsAre("2048x4096x4096 " + label(changed)));
}

TEST_F(EditedKernels, BothStagesOfASearchThatLearnsAreAsTheyWere) {
  for (const StrategyKind kind :
       {StrategyKind::kStaged, StrategyKind::kAdaptive, StrategyKind::kLocal}) {
    SCOPED_TRACE(to_string(kind));
    forget_everything();
    compiler_ = {};
    TunePlan learning = plan({kLarge}, configs(20));
    learning.search = SearchPlan{kind, {.trials = 12}, {}};
    FakeMeasurer gpu;
    for (int i = 0; i < 20; ++i) gpu.model_us[name(i)] = 100 + 7 * (i % 5);
    EXPECT_EQ(run(learning, gpu), 12);
    EXPECT_EQ(gpu.opened, 2);
    edit_all(20);
    expect_compiled_but_not_measured(learning, 12);
  }
}

TEST_F(EditedKernels, ATimeIsNotSpentOnWhatIsKnown) {
  TunePlan timed = plan({kLight}, configs(6));
  const auto in_a_minute = [&] {
    timed.search = SearchPlan{StrategyKind::kModel, {}, {}};
    timed.search->deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  };
  in_a_minute();
  EXPECT_EQ(rerun(timed).recorded, 6);
  edit_all(6);
  in_a_minute();
  expect_compiled_but_not_measured(timed, 6);
  change_code(4);
  in_a_minute();
  EXPECT_THAT(rerun(timed).prepared, ElementsAre("16x512x128 " + name(4)));
  EXPECT_THAT(late_problems_, IsEmpty());
}

// A kill between compiling and measuring: what was compiled says which trials are still wanted.
TEST_F(EditedKernels, AKillAfterAnEditCostsNothingThatWasKnown) {
  const TunePlan same = plan({kSmall}, configs(4));
  EXPECT_EQ(rerun(same).recorded, 4);
  edit_all(4);
  change_code(2);
  FakeMeasurer killed;
  killed.before_step = [&] {
    if (killed.opened == 1) throw Killed();
  };
  EXPECT_THROW(run(same, killed), Killed);
  const Rerun rest = rerun(same);
  EXPECT_THAT(rest.compiled, ElementsAre(name(2)));
  EXPECT_THAT(rest.prepared, ElementsAre("256x512x128 " + name(2)));
  expect_idle(same);
}

}  // namespace
}  // namespace hgemm
