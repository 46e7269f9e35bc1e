#include "tune/verify.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "results/best.h"
#include "support.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

/// A database with races of c(0), which is best, c(1) and c(2) at two shapes.
class Verify : public testing::Test {
 protected:
  Verify() {
    const auto run = store.begin_run(fake_machine(), "hgemm-tune test");
    for (const GemmProblem& problem : {kSmall, kLarge}) {
      std::vector<Trial> trials{trial({"cublas", ""}, 110)};
      for (int i = 0; i < 3; ++i) {
        trials.push_back(trial(compiler.trial_kernel(c(i), problem), 100 + 10 * i));
      }
      store.record(store.begin_race(run, problem, Regime::kSustained, Timing{}), trials);
    }
  }

  static Trial trial(const TrialKernel& candidate, double time_us) {
    Trial trial;
    trial.label = candidate.label;
    trial.kernel_id = candidate.kernel_id;
    trial.stage = Stage::kFinal;
    trial.verdict.correct = true;
    for (int round = 1; round <= 9; ++round) {
      Sample& sample = trial.samples.emplace_back();
      sample.round = round;
      sample.launches = 20;
      sample.time_us = time_us;
    }
    return trial;
  }

  /// The winners that the database has now, on draws 11, 12 and 13.
  VerifyPlan plan() const {
    VerifyPlan plan;
    for (const BestRow& row : best_rows(store.races())) {
      plan.winners.push_back({row.problem, row.regime, row.label.value()});
    }
    plan.seeds = {11, 12, 13};
    plan.command_line = "hgemm-tune verify";
    return plan;
  }

  void run(const VerifyPlan& plan, const std::function<bool()>& stop = nullptr) {
    Compiler counting = compiler.compiler();
    counting.compile_all = [this, all = counting.compile_all](std::span<const Kernel> kernels,
                                                              const CompileOptions& options,
                                                              const FakeCompiler::Done& done) {
      for (const Kernel& kernel : kernels) compiled.push_back(label(config_of(kernel)));
      all(kernels, options, done);
    };
    verify(
        plan, gpu, store, counting,
        [this](const Recheck& check) {
          done.push_back(fmt::format("{} {} {} {}", to_string(check.winner.problem),
                                     check.winner.label, check.seed,
                                     to_string(check.outcome.status)));
        },
        [this](const std::string& text) { warnings.push_back(text); }, stop);
  }

  static std::string line(const GemmProblem& problem, int config, int seed,
                          const std::string& status) {
    return fmt::format("{} {} {} {}", to_string(problem), name(config), seed, status);
  }

  std::vector<std::string> best_labels() const {
    std::vector<std::string> labels;
    for (const BestRow& row : best_rows(store.races())) labels.push_back(row.label.value_or(""));
    return labels;
  }

  test::TemporaryFolder folder;
  Store store = Store::open((folder.path() / "test.db").string(), Store::Mode::kReadWrite);
  FakeMeasurer gpu;
  FakeCompiler compiler;
  std::vector<std::string> compiled, done, warnings;
};

TEST_F(Verify, EveryWinnerRunsOnEveryDraw) {
  run(plan());
  EXPECT_THAT(done, ElementsAre(line(kSmall, 0, 11, "ok"), line(kSmall, 0, 12, "ok"),
                                line(kSmall, 0, 13, "ok"), line(kLarge, 0, 11, "ok"),
                                line(kLarge, 0, 12, "ok"), line(kLarge, 0, 13, "ok")));
  EXPECT_THAT(gpu.seeds, ElementsAre(11, 12, 13, 11, 12, 13));
  EXPECT_THAT(compiled, ElementsAre(name(0))) << "once, though it won at two shapes";
  EXPECT_THAT(gpu.held, IsEmpty());
  EXPECT_THAT(gpu.asked, IsEmpty()) << "nothing is timed";
  EXPECT_THAT(store.races(), SizeIs(2)) << "nothing is recorded";
}

TEST_F(Verify, WinnersAtOneShapeShareItsData) {
  VerifyPlan both = plan();
  both.winners.push_back({kSmall, Regime::kBurst, name(1)});
  run(both);
  EXPECT_THAT(done, SizeIs(9));
  EXPECT_THAT(gpu.seeds, ElementsAre(11, 12, 13, 11, 12, 13));
}

TEST_F(Verify, AWrongResultOnTheSecondDrawOnlyIsFoundAndAnotherWins) {
  gpu.timing.pdl = true;
  gpu.before_step = [this] {
    gpu.in_prepare.clear();
    if (gpu.opened == 2) gpu.in_prepare[name(0)] = {Status::kWrongResult};
  };
  run(plan());
  EXPECT_THAT(done, ElementsAre(line(kSmall, 0, 11, "ok"), line(kSmall, 0, 12, "wrong_result"),
                                line(kLarge, 0, 11, "ok"), line(kLarge, 0, 12, "ok"),
                                line(kLarge, 0, 13, "ok")));
  const auto races = store.races();
  ASSERT_THAT(races, SizeIs(3));
  const Race& race = races.back().race;
  EXPECT_TRUE(race.problem.same_problem(kSmall));
  EXPECT_EQ(race.timing, gpu.timing);
  ASSERT_THAT(race.trials, SizeIs(1));
  EXPECT_EQ(race.trials[0].label, name(0));
  EXPECT_EQ(race.trials[0].kernel_id, compiler.trial_kernel(c(0), kSmall).kernel_id);
  EXPECT_EQ(race.trials[0].status, Status::kWrongResult);
  EXPECT_EQ(race.trials[0].verdict.error, 2);
  EXPECT_THAT(race.trials[0].message, HasSubstr("scripted"));
  EXPECT_THAT(best_labels(), ElementsAre(name(1), name(0)));

  done.clear();
  gpu.before_step = [] {};
  run(plan());
  EXPECT_THAT(done, testing::Contains(line(kSmall, 1, 13, "ok"))) << "the new winner is checked";
}

TEST_F(Verify, AFailureIsRecordedInTheRegimeThatWasWon) {
  gpu.in_prepare[name(0)] = {Status::kLaunchFailed};
  VerifyPlan burst = plan();
  burst.winners = {{kSmall, Regime::kBurst, name(0)}};
  run(burst);
  EXPECT_EQ(store.races().back().race.regime, Regime::kBurst);
  EXPECT_THAT(store.finished(fake_machine().environment, kSmall, Regime::kBurst),
              ElementsAre(compiler.trial_kernel(c(0), kSmall)));
}

TEST_F(Verify, AWinnerThatTakesTheMeasurerDownHarmsOnlyItself) {
  for (const Status status : {Status::kCrashed, Status::kTimedOut}) {
    SCOPED_TRACE(to_string(status));
    done.clear();
    VerifyPlan three = plan();
    three.winners = {{kSmall, Regime::kSustained, name(0)},
                     {kSmall, Regime::kSustained, name(1)},
                     {kLarge, Regime::kSustained, name(2)}};
    three.seeds = {11, 12};
    gpu.in_prepare = {{name(0), {status}}};
    const std::string word(to_string(status));
    run(three);
    EXPECT_THAT(done, ElementsAre(line(kSmall, 0, 11, word), line(kSmall, 1, 11, "ok"),
                                  line(kSmall, 1, 12, "ok"), line(kLarge, 2, 11, "ok"),
                                  line(kLarge, 2, 12, "ok")));
    EXPECT_EQ(store.races().back().race.trials.at(0).status, status);
    EXPECT_EQ(best_labels()[0], name(1));
  }
}

TEST_F(Verify, WhoNoLongerCompilesHasFailed) {
  compiler.failing.insert(name(0));
  VerifyPlan one = plan();
  one.winners.resize(1);
  run(one);
  EXPECT_THAT(done, ElementsAre(line(kSmall, 0, 11, "compile_failed")));
  EXPECT_THAT(gpu.prepared, IsEmpty());
  EXPECT_EQ(store.races().back().race.trials.at(0).message, "spills 8 bytes");
}

TEST_F(Verify, ALossThatIsNobodysFaultCostsNobody) {
  gpu.lose_open = 1;
  gpu.lose_forget = 1;
  run(plan());
  EXPECT_THAT(done, SizeIs(6));
  EXPECT_THAT(done, testing::Each(testing::EndsWith(" ok")));
  EXPECT_THAT(store.races(), SizeIs(2));

  gpu.lose_open = 2;
  EXPECT_THAT([&] { run(plan()); },
              ThrowsMessage<Error>(AllOf(HasSubstr("256x512x128"), HasSubstr("twice in a row"))));
}

TEST_F(Verify, AnAlgorithmThatTakesTheMeasurerDownIsLeftOut) {
  gpu.in_open = {{"cublaslt.0", {Status::kTimedOut}}, {"cublaslt.1", {Status::kCrashed}}};
  run(plan());
  EXPECT_THAT(done, SizeIs(6));
  EXPECT_THAT(done, testing::Each(testing::EndsWith(" ok")));
  EXPECT_THAT(gpu.launched, SizeIs(2 * (2 + 3)));  // of each shape: two losses, three draws
  EXPECT_THAT(gpu.launched.back(), ElementsAre("cublas"));
}

TEST_F(Verify, ShapesThatDoNotFitAreLeftOutWithAWarning) {
  gpu.too_large = {to_string(kSmall)};
  run(plan());
  EXPECT_THAT(done, SizeIs(3));
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("256x512x128"), HasSubstr("900 GiB"))));
  EXPECT_THAT(store.races(), SizeIs(2));
}

TEST_F(Verify, StopsBetweenTwoWinners) {
  run(plan(), [this] { return done.size() == 2; });
  EXPECT_THAT(done, SizeIs(2));
  done.clear();
  run(plan(), [] { return true; });
  EXPECT_THAT(done, IsEmpty());
}

}  // namespace
}  // namespace hgemm
