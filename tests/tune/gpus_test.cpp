// One tune on several GPUs: what is measured where, and what the loss of a GPU costs.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "gemm/codec.h"
#include "results/best.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

/// A GPU that takes some time for each step, so that the threads of several overlap.
struct SlowGpu : FakeMeasurer {
  explicit SlowGpu(int index) {
    where.run.gpu_uuid = fmt::format("GPU-{}", index);
    before_step = [] { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
    noise = 0;
  }
  std::string poison;  ///< the shape at which the worker always dies
  /// Called when rounds() begins and when it ends, with the number of labels.
  std::function<void(std::size_t, bool)> in_rounds = [](std::size_t, bool) {};

  Opened open(const GemmProblem& problem, const Opening& opening) override {
    if (to_string(problem) == poison) throw MeasurerLost(Status::kCrashed, "it died at once");
    return FakeMeasurer::open(problem, opening);
  }
  std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels, Pace pace) override {
    in_rounds(labels.size(), true);
    auto samples = FakeMeasurer::rounds(labels, pace);
    in_rounds(labels.size(), false);
    return samples;
  }
};

std::vector<GemmProblem> shapes(int count) {
  std::vector<GemmProblem> all;
  for (int i = 0; i < count; ++i) {
    all.push_back({.m = 256, .n = 512, .k = 128 + 64 * i, .tag = ""});
  }
  return all;
}

class GpusTest : public TuneTest {
 protected:
  TuneOutcome run_on(const TunePlan& plan, std::span<SlowGpu* const> gpus,
                     const std::function<bool()>& stop = nullptr) {
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    const std::vector<Measurer*> measurers(gpus.begin(), gpus.end());
    return tune(plan, measurers, store, compiler_.compiler(), listener_, stop);
  }

  /// Races of each GPU, by its UUID.
  std::map<std::string, int> races_by_gpu() const {
    std::map<std::string, int> count;
    for (const RecordedRace& race : open().races()) ++count[race.run.gpu_uuid];
    return count;
  }
  /// The content of the database that does not say where or when: shape, label, status, times.
  std::vector<std::string> content() const {
    std::vector<std::string> lines;
    for (const auto& [key, all] : trials()) {
      for (const Trial& trial : all) {
        lines.push_back(fmt::format("{} {} {}", key, to_string(trial.status),
                                    trial.samples.empty() ? 0 : trial.samples.back().time_us));
      }
    }
    return lines;
  }

  SlowGpu a_{0}, b_{1}, c_{2};
};

TEST_F(GpusTest, SeveralFindWhatOneFinds) {
  TunePlan plan = this->plan(shapes(24), configs(6));
  a_.model_us = b_.model_us = c_.model_us = {{name(2), 80}, {name(4), 90}};
  SlowGpu* const one[] = {&a_};
  EXPECT_EQ(run_on(plan, one).recorded, 24 * 6);
  const auto of_one = content();
  forget_everything();
  SlowGpu* const three[] = {&a_, &b_, &c_};
  EXPECT_EQ(run_on(plan, three).recorded, 24 * 6);
  EXPECT_THAT(content(), UnorderedElementsAreArray(of_one));
  EXPECT_THAT(races_by_gpu(), SizeIs(3));
  for (const auto& [gpu, races] : races_by_gpu()) EXPECT_THAT(races, AllOf(Ge(4), Le(14))) << gpu;
  EXPECT_THAT(open().races(), SizeIs(24)) << "a race stays on one GPU";
  // Nothing is missing, whichever GPU comes next.
  EXPECT_EQ(run_on(plan, std::span(three).last(1)).recorded, 0);
}

TEST_F(GpusTest, TheLongestRaceBeginsFirst) {
  const GemmProblem large{.m = 16384, .n = 16384, .k = 16384, .tag = ""};
  auto problems = shapes(6);
  problems.push_back(large);
  SlowGpu* const two[] = {&a_, &b_};
  run_on(plan(problems, configs(3)), two);
  EXPECT_THAT(listener_.races.at(0) + listener_.races.at(1), HasSubstr("16384x16384x16384"));
}

TEST_F(GpusTest, ALostGpuCostsItsRaceInHandOnly) {
  // After the first round of its third race, nothing works any more.
  int rounds = 0;
  b_.before_step = [&] {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    if (b_.opened == 3 && b_.asked.size() > 0 && ++rounds == 4) {
      b_.lose_open = b_.lose_round = b_.lose_settle = 1 << 20;
    }
  };
  TunePlan plan = this->plan(shapes(20), configs(6));
  SlowGpu* const two[] = {&a_, &b_};
  const TuneOutcome outcome = run_on(plan, two);
  EXPECT_THAT(outcome.set_aside_problems, IsEmpty());
  EXPECT_EQ(outcome.recorded, 20 * 6);
  for (const auto& [key, all] : trials()) EXPECT_THAT(all, SizeIs(1)) << key;
  EXPECT_THAT(listener_.warnings, Contains(AllOf(HasSubstr("GPU 1 (GPU-1) gave up"),
                                                 HasSubstr("which another GPU will race"))));
  EXPECT_THAT(listener_.warnings, Contains(HasSubstr("left out from now on")));
}

TEST_F(GpusTest, AGpuThatIsGoneIsLeftOutAtOnceAndForGood) {
  b_.before_step = [&] {
    if (b_.opened == 2) throw NoDevice("the NVIDIA driver finds no GPU that can be used: lost");
  };
  TunePlan plan = this->plan(shapes(12), configs(4));
  // These races are close; those of the first GPU could only be repeated on the lost one.
  plan.confirm = true;
  SlowGpu* const two[] = {&a_, &b_};
  EXPECT_GE(run_on(plan, two).recorded, 12 * 4);  // and what the first GPU repeats of the other's
  const auto left_out = std::ranges::count_if(listener_.warnings, [](const std::string& text) {
    return text.find("left out from now on") != text.npos;
  });
  EXPECT_EQ(left_out, 1);
}

TEST_F(GpusTest, ARaceThatTwoGpusGiveUpIsSetAside) {
  const auto problems = shapes(9);
  const GemmProblem bad = problems.at(4);
  for (SlowGpu* gpu : {&a_, &b_, &c_}) gpu->poison = to_string(bad);
  SlowGpu* const three[] = {&a_, &b_, &c_};
  const TuneOutcome outcome = run_on(plan(problems, configs(4)), three);
  EXPECT_THAT(outcome.set_aside_problems, ElementsAre(to_string(bad)));
  EXPECT_EQ(outcome.recorded, 8 * 4);
}

TEST_F(GpusTest, TheLastGpusLossEndsTheTuneWithItsReason) {
  for (SlowGpu* gpu : {&a_, &b_}) {
    gpu->before_step = [gpu] {
      if (gpu->opened == 2) gpu->lose_open = gpu->lose_round = gpu->lose_settle = 1 << 20;
    };
  }
  SlowGpu* const two[] = {&a_, &b_};
  EXPECT_THAT([&] { run_on(plan(shapes(12), configs(4)), two); },
              ThrowsMessage<Error>(HasSubstr("lost twice in a row")));
  // A later call does the rest.
  SlowGpu fresh(3);
  SlowGpu* const one[] = {&fresh};
  run_on(plan(shapes(12), configs(4)), one);
  EXPECT_THAT(trials(), SizeIs(12 * 4));
}

TEST_F(GpusTest, AStopEndsAllAndTheNextCallDoesTheRest) {
  std::atomic<int> polls = 0;
  TunePlan plan = this->plan(shapes(30), configs(5));
  SlowGpu* const three[] = {&a_, &b_, &c_};
  const auto first = run_on(plan, three, [&] { return ++polls > 150; });
  EXPECT_LT(first.recorded, 30 * 5);
  SlowGpu* const two[] = {&a_, &b_};
  EXPECT_EQ(run_on(plan, two).recorded, 30 * 5 - first.recorded);
  for (const auto& [key, all] : trials()) EXPECT_THAT(all, SizeIs(1)) << key;
}

TEST_F(GpusTest, AnErrorOnOneEndsAll) {
  b_.before_step = [&] {
    if (b_.opened == 2) throw Error("the disk is full");
  };
  SlowGpu* const two[] = {&a_, &b_};
  EXPECT_THAT([&] { run_on(plan(shapes(200), configs(4)), two); },
              ThrowsMessage<Error>(HasSubstr("the disk is full")));
  EXPECT_LT(open().races().size(), 200U);
}

TEST_F(GpusTest, GpusThatDifferAreRefused) {
  b_.where.environment.power_limit_w = 500;
  SlowGpu* const two[] = {&a_, &b_};
  EXPECT_THAT([&] { run_on(plan(shapes(2), configs(2)), two); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("power"), HasSubstr("--devices"))));
}

TEST_F(GpusTest, ADeadlineIsForAllGpusTogether) {
  TunePlan plan = this->plan(shapes(40), configs(40));
  plan.search.emplace();
  plan.search->deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  SlowGpu* const two[] = {&a_, &b_};
  const auto start = std::chrono::steady_clock::now();
  run_on(plan, two);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6));
  EXPECT_THAT(races_by_gpu(), SizeIs(2));
}

TEST_F(GpusTest, HooksAreCalledOneAtATime) {
  TunePlan plan = this->plan(shapes(30), configs(3));
  int inside = 0, most = 0;
  std::vector<std::string> begun, ended;
  const auto hook = [&](std::vector<std::string>& names) {
    return [&](const GemmProblem& problem, Regime) {
      most = std::max(most, ++inside);
      std::this_thread::yield();
      names.push_back(to_string(problem));
      --inside;
    };
  };
  plan.race_begins = hook(begun);
  plan.race_ended = hook(ended);
  SlowGpu* const three[] = {&a_, &b_, &c_};
  run_on(plan, three);
  EXPECT_EQ(most, 1);
  EXPECT_THAT(begun, UnorderedElementsAreArray(ended));
  EXPECT_THAT(ended, SizeIs(30));
}

/// Whether a GPU takes samples now, and how many labels it measures together.
struct Watch {
  std::mutex mutex;
  std::map<const SlowGpu*, std::size_t> measuring;  ///< 0: nothing

  void on(SlowGpu& gpu, std::function<void(std::size_t)> at_begin) {
    gpu.in_rounds = [this, &gpu, at_begin](std::size_t labels, bool begins) {
      const std::scoped_lock lock(mutex);
      measuring[&gpu] = begins ? labels : 0;
      if (begins) at_begin(labels);
    };
  }
};

TEST_F(GpusTest, WhereABusyNeighbourMovesTheRatioFinalsTakeTurns) {
  TunePlan plan = this->plan(shapes(12), configs(6));
  plan.pace_check = true;
  Watch watch;
  int overlaps = 0;
  std::atomic<bool> checked = false;
  for (SlowGpu* gpu : {&a_, &b_}) {
    SlowGpu* const other = gpu == &a_ ? &b_ : &a_;
    watch.on(*gpu, [&, gpu, other](std::size_t labels) {
      // The check times two labels on the first GPU, and cublas alone on the other.
      const bool busy = watch.measuring[other] > 0;
      gpu->model_us["cublas"] = busy ? 103 : 100;
      // The final has three configs, an algorithm of cuBLASLt and cublas; screening has nine.
      if (checked && (labels <= 5 || watch.measuring[other] - 1 < 5) && busy) ++overlaps;
    });
  }
  listener_.on_event = [&] { checked = !listener_.races.empty(); };
  SlowGpu* const two[] = {&a_, &b_};
  const TuneOutcome outcome = run_on(plan, two);
  EXPECT_EQ(outcome.recorded, 12 * 6);
  ASSERT_TRUE(outcome.pace);
  EXPECT_EQ(outcome.pace->neighbours, 1);
  EXPECT_DOUBLE_EQ(outcome.pace->alone.value, 1);
  EXPECT_NEAR(outcome.pace->beside.value, 1.03, 1e-9);
  EXPECT_TRUE(outcome.pace->moved());
  EXPECT_EQ(overlaps, 0);
  EXPECT_THAT(races_by_gpu(), SizeIs(2));
  ASSERT_THAT(open().studies("pace"), SizeIs(1));
  EXPECT_THAT(open().studies("pace").front().study.figures, SizeIs(3));
}

TEST_F(GpusTest, WhereItDoesNotTheyRunSideBySide) {
  TunePlan plan = this->plan(shapes(12), configs(6));
  plan.pace_check = true;
  Watch watch;
  int overlaps = 0;
  for (SlowGpu* gpu : {&a_, &b_}) {
    SlowGpu* const other = gpu == &a_ ? &b_ : &a_;
    watch.on(*gpu, [&, other](std::size_t labels) {
      overlaps += labels <= 5 && watch.measuring[other] > 0;
    });
  }
  SlowGpu* const two[] = {&a_, &b_};
  const TuneOutcome outcome = run_on(plan, two);
  ASSERT_TRUE(outcome.pace);
  EXPECT_FALSE(outcome.pace->moved());
  EXPECT_GT(overlaps, 0);
}

// ---- Two cards ----

TEST_F(GpusTest, CloseRacesAreRepeatedOnASecondCard) {
  TunePlan plan = this->plan(shapes(6), configs(8));
  plan.confirm = true;
  plan.policy.min_rounds = plan.policy.max_rounds = kMinIntervalRounds;
  for (SlowGpu* gpu : {&a_, &b_}) gpu->model_us = {{name(2), 80}, {name(4), 81}};
  // On one of the cards the other config is faster, by 2 %.
  b_.model_us[name(4)] = 78.5;
  SlowGpu* const two[] = {&a_, &b_};
  run_on(plan, two);
  const auto rows = best_rows(open().races());
  ASSERT_THAT(rows, SizeIs(6));
  for (const BestRow& row : rows) {
    ASSERT_TRUE(row.second_card) << to_string(row.problem);
    EXPECT_NE(row.second_card->gpu_uuid, row.run.gpu_uuid);
    EXPECT_FALSE(row.second_card->agrees);
    EXPECT_EQ(row.label, row.run.gpu_uuid == "GPU-1" ? name(4) : name(2));
    EXPECT_EQ(row.second_card->label, row.run.gpu_uuid == "GPU-1" ? name(2) : name(4));
  }
  // Each race was repeated once, with the two that are close; nothing is left to repeat.
  const std::vector<RecordedRace> races = open().races();
  EXPECT_THAT(races, SizeIs(12));
  std::vector<std::string> labels;
  for (const Trial& trial : races.back().race.trials) {
    if (!is_baseline(trial.label)) labels.push_back(trial.label);
  }
  EXPECT_THAT(labels, UnorderedElementsAre(name(2), name(4)));
  EXPECT_EQ(run_on(plan, two).recorded, 0);
}

TEST_F(GpusTest, ACardThatAgreesConfirms) {
  TunePlan plan = this->plan(shapes(4), configs(8));
  plan.confirm = true;
  for (SlowGpu* gpu : {&a_, &b_}) gpu->model_us = {{name(2), 80}, {name(4), 81}};
  SlowGpu* const two[] = {&a_, &b_};
  run_on(plan, two);
  for (const BestRow& row : best_rows(open().races())) {
    ASSERT_TRUE(row.second_card);
    EXPECT_TRUE(row.second_card->agrees);
  }
}

TEST_F(GpusTest, ARaceThatIsNotCloseIsNotRepeated) {
  TunePlan plan = this->plan(shapes(4), configs(8));
  plan.confirm = true;
  for (SlowGpu* gpu : {&a_, &b_}) gpu->model_us = {{name(2), 80}};
  SlowGpu* const two[] = {&a_, &b_};
  run_on(plan, two);
  EXPECT_THAT(open().races(), SizeIs(4));
}

TEST_F(GpusTest, ARaceSaysHowManyNeighboursWereBusy) {
  SlowGpu* const three[] = {&a_, &b_, &c_};
  run_on(plan(shapes(12), configs(4)), three);
  int most = 0;
  for (const RecordedRace& race : open().races()) {
    ASSERT_TRUE(race.race.timing.neighbours);
    most = std::max(most, *race.race.timing.neighbours);
  }
  EXPECT_EQ(most, 2);
  forget_everything();
  run_on(plan(shapes(2), configs(4)), std::span(three).first(1));
  EXPECT_EQ(open().races().front().race.timing.neighbours, 0);
}

}  // namespace
}  // namespace hgemm
