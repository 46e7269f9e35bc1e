#include "tune/tune.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "fake_measurer.h"
#include "space/label.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

/// Configs that differ in their tile: c(0), c(1), ...
KernelConfig c(int i, Dtype dtype = Dtype::kBf16) {
  return {.bn = 64 + 8 * i, .order = TileOrder::kLinear, .dtype = dtype};
}
std::string name(int i) { return label(c(i)); }

const Shape kSmall{.m = 256, .n = 512, .k = 128, .tag = ""};
const Shape kLarge{.m = 2048, .n = 4096, .k = 4096, .tag = ""};
const Shape kOddK{.m = 64, .n = 64, .k = 60, .tag = ""};  // K is no multiple of 8

struct QuietListener : TuneListener {
  std::function<void()> on_event = [] {};
  std::vector<std::string> warnings;
  std::vector<std::string> shapes;
  std::vector<std::string> leaders;

  void compiling(int, int, int) override { on_event(); }
  void shape_started(const Shape& shape, int index, int count, int candidates) override {
    shapes.push_back(fmt::format("{}/{} {} {}", index, count, to_string(shape), candidates));
    on_event();
  }
  void preparing(int, int) override { on_event(); }
  void racing(int, int, const std::string& leader, double) override {
    leaders.push_back(leader);
    on_event();
  }
  void shape_finished(const Shape&) override { on_event(); }
  void warning(const std::string& text) override {
    warnings.push_back(text);
    on_event();
  }
};

/// A database in a folder of its own, and the driver's other parts.
class Tune : public testing::Test {
 protected:
  Tune() { std::filesystem::create_directories(folder_); }
  ~Tune() override { std::filesystem::remove_all(folder_); }

  TunePlan plan(std::vector<Shape> shapes, std::vector<KernelConfig> configs) {
    TunePlan plan;
    plan.shapes = std::move(shapes);
    plan.configs = std::move(configs);
    plan.policy = {
        .screen_rounds = 2, .finalists = 3, .lt_finalists = 1, .min_rounds = 3, .max_rounds = 4};
    plan.command_line = "hgemm-tune test";
    return plan;
  }

  std::int64_t run(const TunePlan& plan, FakeMeasurer& gpu,
                   const std::function<bool()>& stop = nullptr) {
    const auto compile_all = [this](std::span<const KernelConfig> configs, const CompileOptions&,
                                    const std::function<void(Build)>& done) {
      for (const KernelConfig& config : configs) {
        compiled_.push_back(label(config));
        Build build;
        build.config = config;
        build.facts.label = label(config);
        build.facts.compiler = "fake";
        if (does_not_compile_.contains(label(config))) {
          build.status = Status::kCompileFailed;
          build.message = "spills 8 bytes";
        }
        done(build);
      }
    };
    Store store = open();
    const TuneOutcome outcome = tune(plan, gpu, store, compile_all, listener_, stop);
    skipped_shapes_ = outcome.skipped_shapes;
    return outcome.recorded;
  }

  Store open() const { return Store::open(database_, Store::Mode::kReadWrite); }

  /// (shape label) -> its trials in all races, baselines left out.
  std::map<std::string, std::vector<Trial>> trials() const {
    std::map<std::string, std::vector<Trial>> out;
    for (const RecordedRace& race : open().races()) {
      for (const Trial& trial : race.race.trials) {
        if (is_baseline(trial.label)) continue;
        out[to_string(race.race.shape) + " " + trial.label].push_back(trial);
      }
    }
    return out;
  }
  Trial trial(const Shape& shape, const std::string& label) const {
    for (const RecordedRace& race : open().races()) {
      if (!race.race.shape.same_problem(shape)) continue;
      for (const Trial& trial : race.race.trials) {
        if (trial.label == label) return trial;
      }
    }
    throw std::out_of_range("no trial of " + label + " at " + to_string(shape));
  }
  Status status(const Shape& shape, int config) const { return trial(shape, name(config)).status; }

  // In memory where that is possible: there are hundreds of short runs, each commit is an fsync.
  std::string folder_ =
      (access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm/") : testing::TempDir()) +
      "hgemm_tune_test." + std::to_string(getpid());
  std::string database_ = folder_ + "/test.db";
  QuietListener listener_;
  std::vector<std::string> skipped_shapes_;  ///< of the last run
  std::set<std::string> does_not_compile_;
  std::vector<std::string> compiled_;
};

std::vector<int> rounds_of(const Trial& trial) {
  std::vector<int> rounds;
  for (const Sample& sample : trial.samples) rounds.push_back(sample.round);
  return rounds;
}

TEST_F(Tune, RacesToTheFastestAndKeepsCleanSamples) {
  FakeMeasurer gpu;
  gpu.model_us = {{name(0), 104}, {name(1), 98}, {name(2), 101}, {name(3), 103}, {name(4), 150}};
  gpu.model_us["cublaslt.1"] = 110;
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1), c(2), c(3), c(4)}), gpu), 5);

  EXPECT_EQ(listener_.leaders.back(), name(1));
  EXPECT_THAT(listener_.shapes, ElementsAre("0/1 256x512x128 5"));
  // Out in the first round; out at the end of screening; measured to the end.
  EXPECT_THAT(rounds_of(trial(kSmall, name(4))), ElementsAre(1));
  EXPECT_EQ(trial(kSmall, name(4)).stage, Stage::kScreen);
  EXPECT_THAT(rounds_of(trial(kSmall, name(0))), ElementsAre(1, 2));
  for (const int finalist : {1, 2, 3}) {
    const Trial recorded = trial(kSmall, name(finalist));
    EXPECT_EQ(recorded.stage, Stage::kFinal);
    EXPECT_EQ(recorded.status, Status::kOk);
    EXPECT_TRUE(recorded.verdict.correct);
    EXPECT_THAT(rounds_of(recorded), ElementsAre(3, 4, 5));  // none of screening
    EXPECT_NEAR(recorded.samples[0].time_us, gpu.model_us[name(finalist)], 2);
    EXPECT_EQ(recorded.samples[0].launches, 20);
  }
  const Trial cublas = trial(kSmall, "cublas");
  EXPECT_EQ(cublas.stage, Stage::kFinal);
  EXPECT_EQ(cublas.message, "algorithm of cublas");
  EXPECT_THAT(rounds_of(cublas), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(rounds_of(trial(kSmall, "cublaslt.0")), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(trial(kSmall, "cublaslt.1").stage, Stage::kScreen);
  EXPECT_THAT(rounds_of(trial(kSmall, "cublaslt.1")), ElementsAre(1, 2));
  // Losers were freed.
  EXPECT_THAT(gpu.held, UnorderedElementsAre(name(1), name(2), name(3)));
  EXPECT_EQ(gpu.settled, 1);
}

TEST_F(Tune, MeasuresOnlyConfigsOfTheShapesType) {
  Shape fp16 = kSmall;
  fp16.dtype = Dtype::kFp16;
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kSmall, fp16}, {c(0), c(1, Dtype::kFp16), c(2, Dtype::kFp16)}), gpu), 3);
  EXPECT_THAT(gpu.prepared, UnorderedElementsAre("256x512x128 " + name(0),
                                                 "256x512x128.fp16 " + label(c(1, Dtype::kFp16)),
                                                 "256x512x128.fp16 " + label(c(2, Dtype::kFp16))));
}

TEST_F(Tune, TheSecondCallHasNothingToDo) {
  FakeMeasurer gpu;
  const TunePlan same = plan({kSmall, kLarge, kOddK}, {c(0), c(1)});
  does_not_compile_ = {name(1)};
  EXPECT_EQ(run(same, gpu), 6);
  compiled_.clear();
  FakeMeasurer again;
  EXPECT_EQ(run(same, again), 0);
  EXPECT_EQ(again.opened, 0);
  EXPECT_THAT(compiled_, IsEmpty());
  EXPECT_THAT(open().races(), SizeIs(3));
}

TEST_F(Tune, MeasuresWhatIsNew) {
  FakeMeasurer first, second, third;
  run(plan({kSmall}, {c(0), c(1)}), first);
  EXPECT_EQ(run(plan({kSmall, kLarge}, {c(0), c(1), c(2)}), second), 4);
  EXPECT_THAT(second.prepared,
              UnorderedElementsAre("256x512x128 " + name(2), "2048x4096x4096 " + name(0),
                                   "2048x4096x4096 " + name(1), "2048x4096x4096 " + name(2)));
  third.where.kernel_hash = "k1";  // another kernel: nothing that is known holds for it
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1)}), third), 2);
}

TEST_F(Tune, TwiceTheSameIsMeasuredOnce) {
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(0), c(1)}), gpu), 2);
  EXPECT_THAT(gpu.prepared, SizeIs(2));
}

TEST_F(Tune, CompilesOnceForAllShapesAndRecordsFailuresAtEach) {
  does_not_compile_ = {name(1)};
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kSmall, kLarge, kOddK}, {c(0), c(1)}), gpu), 6);
  EXPECT_THAT(compiled_, UnorderedElementsAre(name(0), name(1)));
  for (const Shape& shape : {kSmall, kLarge}) {
    EXPECT_EQ(status(shape, 0), Status::kOk);
    EXPECT_EQ(status(shape, 1), Status::kCompileFailed);
    EXPECT_EQ(trial(shape, name(1)).message, "spills 8 bytes");
    EXPECT_THAT(trial(shape, name(1)).samples, IsEmpty());
  }
  EXPECT_THAT(open().builds(), SizeIs(2));
}

TEST_F(Tune, AnUnsupportedShapeSaysWhyAndNeedsNoGpu) {
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kOddK}, {c(0), c(1)}), gpu), 2);
  EXPECT_EQ(gpu.opened, 0);
  EXPECT_THAT(compiled_, IsEmpty());
  EXPECT_EQ(status(kOddK, 1), Status::kInvalidConfig);
  EXPECT_THAT(trial(kOddK, name(1)).message, HasSubstr("K must be a multiple of 8"));
}

TEST_F(Tune, AConfigThatBreaksARuleIsNotCompiled) {
  KernelConfig too_deep = c(1);
  too_deep.stages = 16;
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kSmall}, {c(0), too_deep}), gpu), 2);
  EXPECT_THAT(compiled_, ElementsAre(name(0)));
  EXPECT_EQ(trial(kSmall, label(too_deep)).status, Status::kInvalidConfig);
  EXPECT_THAT(trial(kSmall, label(too_deep)).message, HasSubstr("stages"));
}

TEST_F(Tune, AWrongResultIsNeverTimed) {
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(0), {Status::kWrongResult}}, {name(2), {Status::kLaunchFailed}}};
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1), c(2)}), gpu), 3);
  EXPECT_EQ(status(kSmall, 0), Status::kWrongResult);
  EXPECT_EQ(trial(kSmall, name(0)).message, "scripted: wrong_result");
  EXPECT_EQ(trial(kSmall, name(0)).stage, Stage::kNone);
  EXPECT_EQ(status(kSmall, 1), Status::kOk);
  EXPECT_EQ(status(kSmall, 2), Status::kLaunchFailed);
  EXPECT_THAT(gpu.rounds, Each(Not(Contains(name(0)))));
}

TEST_F(Tune, ACrashInPreparationCostsOneTrial) {
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(1), {Status::kCrashed}}, {name(2), {Status::kTimedOut}}};
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1), c(2), c(3)}), gpu), 4);
  EXPECT_EQ(status(kSmall, 0), Status::kOk);
  EXPECT_EQ(status(kSmall, 1), Status::kCrashed);
  EXPECT_EQ(trial(kSmall, name(1)).message, "worker lost to " + name(1));
  EXPECT_EQ(status(kSmall, 2), Status::kTimedOut);
  EXPECT_EQ(status(kSmall, 3), Status::kOk);
  EXPECT_EQ(trial(kSmall, name(3)).stage, Stage::kFinal);
  EXPECT_EQ(gpu.opened, 3);
  EXPECT_THAT(open().races(), SizeIs(1));
}

TEST_F(Tune, ACrashInARoundIsTracedToItsCulprit) {
  FakeMeasurer gpu;
  gpu.in_round = {{name(1), {Status::kTimedOut}}};
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1), c(2)}), gpu), 3);
  EXPECT_EQ(status(kSmall, 1), Status::kTimedOut);
  EXPECT_EQ(trial(kSmall, name(1)).stage, Stage::kScreen);
  for (const int other : {0, 2}) {
    EXPECT_EQ(status(kSmall, other), Status::kOk);
    EXPECT_THAT(rounds_of(trial(kSmall, name(other))), IsSupersetOf({3, 4, 5}));
  }
  EXPECT_THAT(rounds_of(trial(kSmall, "cublas")), IsSupersetOf({1, 2, 3, 4, 5}));
}

TEST_F(Tune, AFinalistThatHangsLateLosesOnlyItself) {
  FakeMeasurer gpu;
  gpu.before_step = [&] {  // from the fourth round on: in the final
    if (gpu.rounds.size() == 3) gpu.in_round = {{name(1), {Status::kTimedOut}}};
  };
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1), c(2)}), gpu), 3);
  EXPECT_EQ(status(kSmall, 1), Status::kTimedOut);
  EXPECT_EQ(trial(kSmall, name(1)).stage, Stage::kScreen);  // not measured to the end
  EXPECT_THAT(rounds_of(trial(kSmall, name(1))), ElementsAre(3));
  EXPECT_EQ(trial(kSmall, name(0)).stage, Stage::kFinal);
  EXPECT_THAT(rounds_of(trial(kSmall, name(0))), IsSupersetOf({3, 4, 5}));
}

TEST_F(Tune, ALossThatDoesNotRepeatBlamesNobody) {
  FakeMeasurer gpu;
  gpu.lose_round = 1;
  EXPECT_EQ(run(plan({kSmall, kLarge}, {c(0), c(1)}), gpu), 4);
  EXPECT_THAT(trials(),
              Each(Pair(testing::_, ElementsAre(testing::Field(&Trial::status, Status::kOk)))));
  EXPECT_THAT(gpu.rounds.back(), SizeIs(testing::Gt(1)));  // the next shape races as usual
}

TEST_F(Tune, EachStepMayBeLostOnce) {
  for (int FakeMeasurer::*step :
       {&FakeMeasurer::lose_open, &FakeMeasurer::lose_settle, &FakeMeasurer::lose_forget}) {
    std::filesystem::remove(database_);
    FakeMeasurer gpu;
    gpu.*step = 1;
    gpu.model_us[name(1)] = 200;  // eliminated, so forgotten
    EXPECT_EQ(run(plan({kSmall}, {c(0), c(1)}), gpu), 2);
    EXPECT_EQ(status(kSmall, 0), Status::kOk);
    EXPECT_EQ(gpu.*step, 0);
  }
}

TEST_F(Tune, AnUnusableGpuStopsTheRunAndKeepsWhatIsDone) {
  for (int FakeMeasurer::*step : {&FakeMeasurer::lose_open, &FakeMeasurer::lose_settle}) {
    std::filesystem::remove(database_);
    FakeMeasurer gpu;
    gpu.before_step = [&] {
      if (gpu.rounds.size() == 5 && gpu.*step == 0) gpu.*step = 1000;  // after the first shape
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

TEST_F(Tune, AKernelThatTakesTheGpuDownIsNotTriedAgain) {
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

TEST_F(Tune, CublasCannotBeBlamedOrMissed) {
  FakeMeasurer once, always, wrong;
  once.in_round = {{"cublas", {Status::kCrashed, 2}}};  // in the round, then alone
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1)}), once), 2);
  always.in_round = {{"cublas", {Status::kCrashed}}};
  EXPECT_THAT([&] { run(plan({kLarge}, {c(0)}), always); },
              ThrowsMessage<Error>(HasSubstr("twice in a row")));
  wrong.in_baseline = {{"cublas", Status::kWrongResult}};
  EXPECT_THAT([&] { run(plan({kLarge}, {c(0)}), wrong); },
              ThrowsMessage<Error>(HasSubstr("cublas itself ended with wrong_result")));
  EXPECT_THAT(trials(), SizeIs(2));
}

TEST_F(Tune, AFailingAlgorithmIsRecordedAndLeftOut) {
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

TEST_F(Tune, AKernelThatIsWrongNowAndThenIsWrong) {
  FakeMeasurer gpu;
  gpu.lose_round = 1;
  gpu.before_step = [&] {  // correct at first; wrong when it is verified again after the loss
    if (gpu.rounds.size() == 1) gpu.in_prepare = {{name(0), {Status::kWrongResult}}};
  };
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1)}), gpu), 2);
  EXPECT_EQ(status(kSmall, 0), Status::kWrongResult);
  EXPECT_EQ(status(kSmall, 1), Status::kOk);
}

TEST_F(Tune, NobodyLeftToRaceIsNoError) {
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(0), {Status::kCrashed}}};
  gpu.in_round = {{name(1), {Status::kCrashed}}};
  EXPECT_EQ(run(plan({kSmall, kLarge}, {c(0), c(1)}), gpu), 4);
  EXPECT_EQ(status(kLarge, 0), Status::kCrashed);
  EXPECT_EQ(status(kLarge, 1), Status::kCrashed);
}

TEST_F(Tune, AShapeThatDoesNotFitDoesNotStopTheOthers) {
  FakeMeasurer gpu;
  gpu.too_large = {to_string(kLarge)};
  EXPECT_EQ(run(plan({kLarge, kSmall}, {c(0)}), gpu), 1);
  EXPECT_THAT(skipped_shapes_, ElementsAre("2048x4096x4096"));
  EXPECT_THAT(listener_.warnings, ElementsAre(HasSubstr("needs 900 GiB")));
  EXPECT_THAT(trials(), UnorderedElementsAre(Key("256x512x128 " + name(0))));
}

// ---- Interruption and resuming ----

struct Killed {};  ///< stands for SIGKILL: nothing may be done after it

/// Every fault there is, on two shapes and one that the kernel does not support.
class Resume : public Tune {
 protected:
  Resume() { does_not_compile_ = {name(1)}; }

  TunePlan everything() {
    return plan({kSmall, kLarge, kOddK},
                {c(0), c(1), c(2), c(3), c(4), c(5), c(6), c(0, Dtype::kFp16)});
  }
  static void script(FakeMeasurer& gpu) {
    gpu.in_prepare = {{name(2), {Status::kWrongResult}}, {name(3), {Status::kCrashed}}};
    gpu.in_round = {{name(4), {Status::kTimedOut}}};
    gpu.model_us = {{name(0), 99}, {name(5), 140}};
  }

  /// A recorded candidate can be compared in every round that it has; final trials hold rounds of
  /// one unbroken final, and nobody is recorded as ok without having been timed.
  void expect_consistent() const {
    for (const RecordedRace& race : open().races()) {
      std::map<std::string, std::set<int>> rounds;
      for (const Trial& trial : race.race.trials) {
        const auto list = rounds_of(trial);
        rounds[trial.label] = {list.begin(), list.end()};
      }
      for (const Trial& trial : race.race.trials) {
        EXPECT_THAT(rounds["cublas"], IsSupersetOf(rounds[trial.label])) << trial.label;
        if (is_baseline(trial.label)) continue;
        if (trial.status == Status::kOk) {
          EXPECT_FALSE(trial.samples.empty()) << trial.label;
          EXPECT_NE(trial.stage, Stage::kNone) << trial.label;
        }
        if (trial.stage == Stage::kFinal) {
          EXPECT_EQ(*rounds[trial.label].begin(), 3) << trial.label;
          const auto covered_by = [&](const char* algorithm) {
            return std::ranges::includes(rounds[algorithm], rounds[trial.label]);
          };
          EXPECT_TRUE(covered_by("cublaslt.0") || covered_by("cublaslt.1")) << trial.label;
        }
      }
    }
  }

  void expect_complete_without_doubles() const {
    const auto all = trials();
    EXPECT_THAT(all, SizeIs(3 * 7));
    for (const auto& [key, same] : all) EXPECT_THAT(same, SizeIs(1)) << key;
    for (const Shape& shape : {kSmall, kLarge}) {
      EXPECT_EQ(status(shape, 0), Status::kOk);
      EXPECT_EQ(status(shape, 1), Status::kCompileFailed);
      EXPECT_EQ(status(shape, 2), Status::kWrongResult);
      EXPECT_EQ(status(shape, 3), Status::kCrashed);
      EXPECT_EQ(status(shape, 4), Status::kTimedOut);
      EXPECT_EQ(status(shape, 5), Status::kOk);
      EXPECT_EQ(status(shape, 6), Status::kOk);
    }
  }

  /// The second call does the rest and no more.
  void finish_and_check(std::int64_t recorded_before) {
    expect_consistent();
    const auto before = trials();
    if (recorded_before >= 0) {
      EXPECT_EQ(static_cast<std::int64_t>(before.size()), recorded_before);
    }
    FakeMeasurer gpu;
    script(gpu);
    EXPECT_EQ(run(everything(), gpu), 3 * 7 - static_cast<std::int64_t>(before.size()));
    for (const auto& [key, same] : before) EXPECT_THAT(gpu.prepared, Not(Contains(key)));
    expect_complete_without_doubles();
    expect_consistent();
  }
};

TEST_F(Resume, AfterAKillAtAnyPoint) {
  int point = 0;
  for (bool killed = true; killed; ++point) {
    SCOPED_TRACE(fmt::format("killed at step {}", point));
    std::filesystem::remove(database_);
    FakeMeasurer gpu;
    script(gpu);
    int steps = 0;
    gpu.before_step = listener_.on_event = [&] {
      if (steps++ == point) throw Killed();
    };
    killed = false;
    try {
      run(everything(), gpu);
    } catch (const Killed&) {
      killed = true;
    }
    listener_.on_event = [] {};
    finish_and_check(-1);
    if (HasFailure()) return;
  }
  EXPECT_GT(point, 100);  // the script really was cut at many places
}

TEST_F(Resume, AfterARequestToStopAtAnyPoll) {
  int point = 0;
  for (bool stopped = true; stopped; ++point) {
    SCOPED_TRACE(fmt::format("stopped at poll {}", point));
    std::filesystem::remove(database_);
    FakeMeasurer gpu;
    script(gpu);
    int polls = 0;
    stopped = false;
    const auto recorded = run(everything(), gpu, [&] { return stopped = polls++ == point; });
    finish_and_check(recorded);
    if (HasFailure()) return;
  }
  EXPECT_GT(point, 30);
}

}  // namespace
}  // namespace hgemm
