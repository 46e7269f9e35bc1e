// A tune that was killed or stopped anywhere, run again: it does the rest and no more.
#include <algorithm>

#include "support.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;

/// Every fault there is, on two shapes, one of them in two types, and one that the kernel does not
/// support.
class Resume : public TuneTest {
 protected:
  Resume() { compiler_.failing = {name(1)}; }

  static constexpr int kConfigs = 7;
  static std::vector<GemmProblem> raced() {
    GemmProblem fp16 = kSmall;
    fp16.set_types(DataType::kFp16);
    return {kSmall, fp16, kLarge};
  }
  static TunePlan everything() {
    std::vector<GemmProblem> problems = raced();
    problems.push_back(kOddK);
    return plan(problems, configs(kConfigs));
  }
  static std::int64_t all_trials() { return 4 * kConfigs; }
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
    EXPECT_THAT(all, SizeIs(all_trials()));
    for (const auto& [key, same] : all) EXPECT_THAT(same, SizeIs(1)) << key;
    for (const GemmProblem& problem : raced()) {
      EXPECT_EQ(status(problem, 0), Status::kOk);
      EXPECT_EQ(status(problem, 1), Status::kCompileFailed);
      EXPECT_EQ(status(problem, 2), Status::kWrongResult);
      EXPECT_EQ(status(problem, 3), Status::kCrashed);
      EXPECT_EQ(status(problem, 4), Status::kTimedOut);
      EXPECT_EQ(status(problem, 5), Status::kOk);
      EXPECT_EQ(status(problem, 6), Status::kOk);
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
    EXPECT_EQ(run(everything(), gpu), all_trials() - static_cast<std::int64_t>(before.size()));
    for (const auto& [key, same] : before) EXPECT_THAT(gpu.prepared, Not(Contains(key)));
    expect_complete_without_doubles();
    expect_consistent();
  }
};

TEST_F(Resume, AfterAKillAtAnyPoint) {
  int point = 0;
  for (bool killed = true; killed; ++point) {
    SCOPED_TRACE(fmt::format("killed at step {}", point));
    forget_everything();
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
    forget_everything();
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
