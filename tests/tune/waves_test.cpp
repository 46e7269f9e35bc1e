// Tunes of many problems within a time: pilots, those that learn from them, and those to which the
// tune returns.
#include <algorithm>
#include <string>

#include "results/best.h"
#include "search/figures.h"
#include "search/proposer.h"
#include "support.h"
#include "tune/compile_ahead.h"
#include "tune/informed.h"

namespace hgemm {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

GemmProblem of_rows(int rows) { return {.m = rows, .n = 256, .k = 512, .tag = ""}; }

std::vector<GemmProblem> problems(int count) {
  std::vector<GemmProblem> all;
  for (int i = 1; i <= count; ++i) all.push_back(of_rows(16 * i));
  return all;
}

TEST(WavesOf, AQuarterArePilotsOfAllSizes) {
  std::vector<GemmProblem> all = problems(40);
  std::ranges::reverse(all);
  const Waves waves = waves_of(all, 2);
  ASSERT_THAT(waves.pilots, SizeIs(10));
  EXPECT_THAT(waves.others, SizeIs(30));
  EXPECT_LE(waves.pilots.front().m, 64);
  EXPECT_GE(waves.pilots.back().m, 576);
  std::set<std::int64_t> rows;
  for (const auto* wave : {&waves.pilots, &waves.others}) {
    for (const GemmProblem& problem : *wave) rows.insert(problem.m);
  }
  EXPECT_THAT(rows, SizeIs(40));
}

TEST(WavesOf, FewProblemsAreAllPilotsAndSoAreThoseOfManyGpus) {
  EXPECT_THAT(waves_of(problems(8), 1).pilots, SizeIs(8));
  EXPECT_THAT(waves_of(problems(8), 1).others, IsEmpty());
  EXPECT_THAT(waves_of({}, 1).pilots, IsEmpty());
  EXPECT_THAT(waves_of(problems(24), 6).pilots, SizeIs(6));
  EXPECT_THAT(waves_of(problems(24), 7).pilots, SizeIs(24)) << "six pilots leave a GPU idle";
}

class InWaves : public TuneTest {
 protected:
  /// Runs a tune of 16 problems within a time that is enough for this machine. Returns, for each
  /// problem, its races.
  std::map<std::int64_t, std::vector<RecordedRace>> races_of(FakeMeasurer& gpu) {
    const auto begin = std::chrono::steady_clock::now();
    propose({.problem = of_rows(16)});
    const std::chrono::duration<double> proposing = std::chrono::steady_clock::now() - begin;
    TunePlan some = plan(problems(16), {});
    some.whole = WholeSpace{};
    some.policy = {};
    some.compile.jobs = 16;
    some.search = SearchPlan{StrategyKind::kAdaptive, {}, {}};
    some.search->deadline =
        std::chrono::steady_clock::now() +
        std::chrono::milliseconds(static_cast<int>(1e3 * std::max(14.0, 60 * proposing.count())));
    run(some, gpu);
    std::map<std::int64_t, std::vector<RecordedRace>> races;
    for (const RecordedRace& recorded : open().races()) {
      races[recorded.race.problem.m].push_back(recorded);
    }
    return races;
  }
  TunePlan within_a_minute(std::vector<GemmProblem> of_problems) {
    TunePlan within = plan(std::move(of_problems), {});
    within.whole = WholeSpace{};
    within.search = SearchPlan{StrategyKind::kAdaptive, {}, {}};
    within.search->deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    return within;
  }
  static CandidatesAhead candidates_of(const TunePlan& within) {
    return {
        within,
        {{Regime::kSustained, cost_figures({}, fake_machine().environment, Regime::kSustained)}},
        within.problems};
  }
  static bool has(const Race& race, const std::string& label) {
    return std::ranges::find(race.trials, label, &Trial::label) != race.trials.end();
  }
};

TEST_F(InWaves, WhatIsFastAtAProblemIsTriedFirstAtItsNeighbour) {
  const GemmProblem known = of_rows(64), next = of_rows(80);
  const TunePlan within = within_a_minute({known, next});
  const CandidatesAhead candidates = candidates_of(within);
  const Environment environment = fake_machine().environment;
  const auto place_of = [&](const std::string& config) {
    const Store store = open();
    CurrentKernels kernels(compiler_.compiler().source_key, store.builds());
    const GemmProblem problems[] = {next};
    const auto races = find_informed(within, problems, candidates, store, environment, kernels);
    return std::ranges::find(races.at(0).configs, config,
                             [](const KernelConfig& one) { return label(one); }) -
           races.at(0).configs.begin();
  };
  // Every tenth of the likeliest is measured, and the last of them is twice as fast as the others.
  TunePlan measured = plan({known}, {});
  for (std::size_t i = 0; i < 400; i += 10) {
    measured.configs.push_back(candidates.at(known, Regime::kSustained).configs.at(i));
  }
  const std::string fast = label(measured.configs.back());
  FakeMeasurer gpu;
  run(measured, gpu);
  const auto before = place_of(fast);
  forget_everything();
  gpu.model_us[fast] = 50;
  run(measured, gpu);
  EXPECT_GT(before, 50);
  EXPECT_LT(place_of(fast), 10);
}

TEST_F(InWaves, AReturnTriesTheWinnersOfTheNearestProblemsFirst) {
  const GemmProblem known = of_rows(64), next = of_rows(80);
  const TunePlan within = within_a_minute({known, next});
  const CandidatesAhead candidates = candidates_of(within);
  const Environment environment = fake_machine().environment;
  const auto likeliest = [&](const GemmProblem& problem, std::size_t first, std::size_t last) {
    TunePlan some = plan({problem}, {});
    for (std::size_t i = first; i < last; i += 10) {
      some.configs.push_back(candidates.at(problem, Regime::kSustained).configs.at(i));
    }
    return some;
  };
  // Both have a winner. That of the first problem is one of its less likely configs, and is far
  // ahead of those which the second one has raced.
  const TunePlan of_known = likeliest(known, 0, 400);
  const std::string fast = label(of_known.configs.back());
  FakeMeasurer gpu;
  gpu.model_us[fast] = 50;
  run(of_known, gpu);
  run(likeliest(next, 0, 40), gpu);
  const Store store = open();
  CurrentKernels kernels(compiler_.compiler().source_key, store.builds());
  const auto races = find_behind(within, candidates, store, environment, kernels, 1);
  const auto race = std::ranges::find_if(
      races, [&](const Missing& one) { return one.problem.same_problem(next); });
  ASSERT_NE(race, races.end());
  ASSERT_GT(race->again, 0u);
  ASSERT_GT(race->configs.size(), race->again);
  EXPECT_EQ(label(race->configs[race->again]), fast);
}

TEST_F(InWaves, AReturnTriesTheWinnerOfAnotherRegime) {
  const GemmProblem problem = of_rows(64);
  const TunePlan within = within_a_minute({problem});
  const CandidatesAhead candidates = candidates_of(within);
  const auto measure = [&](Regime regime, std::size_t first, std::size_t last) {
    TunePlan some = plan({problem}, {});
    some.regimes = {regime};
    for (std::size_t i = first; i < last; i += 10) {
      some.configs.push_back(candidates.at(problem, Regime::kSustained).configs.at(i));
    }
    FakeMeasurer gpu;
    gpu.model_us[label(some.configs.back())] = 50;
    run(some, gpu);
    return label(some.configs.back());
  };
  const std::string of_burst = measure(Regime::kBurst, 200, 400);
  measure(Regime::kSustained, 0, 100);
  const Store store = open();
  CurrentKernels kernels(compiler_.compiler().source_key, store.builds());
  const auto races = find_behind(within, candidates, store, fake_machine().environment, kernels, 1);
  ASSERT_THAT(races, SizeIs(1));
  ASSERT_GT(races[0].configs.size(), races[0].again);
  EXPECT_EQ(label(races[0].configs[races[0].again]), of_burst);
}

TEST_F(InWaves, ReturnsToThoseThatAreBehindWithTheirWinners) {
  FakeMeasurer gpu;  // cublas and all configs take the same time
  const auto races = races_of(gpu);
  ASSERT_THAT(races, SizeIs(16));
  EXPECT_THAT(late_problems_, IsEmpty());
  int returns = 0;
  for (const auto& [rows, of_problem] : races) {
    SCOPED_TRACE(rows);
    if (of_problem.size() == 1) continue;
    ASSERT_THAT(of_problem, SizeIs(2));
    ++returns;
    const std::string winner = *best_rows({of_problem.data(), 1}).at(0).label;
    EXPECT_TRUE(has(of_problem[1].race, winner));
    int known = 0, others = 0;
    for (const Trial& trial : of_problem[1].race.trials) {
      if (is_baseline(trial.label)) continue;
      ++(has(of_problem[0].race, trial.label) ? known : others);
    }
    EXPECT_LE(known, 4);
    EXPECT_GE(others, 1);
  }
  EXPECT_GE(returns, 2) << "an eighth at least";
  EXPECT_LE(returns, 8) << "half at most";
}

/// At one problem the baselines are ahead of all configs.
class BehindAt : public FakeMeasurer {
 public:
  explicit BehindAt(std::int64_t rows) : rows_(rows) {}

 protected:
  double time_us(const GemmProblem& problem, const std::string& label, Pace pace) const override {
    const double us = FakeMeasurer::time_us(problem, label, pace);
    return problem.m == rows_ && !is_baseline(label) ? 1.5 * us : us;
  }

 private:
  std::int64_t rows_;
};

TEST_F(InWaves, WhatTwoStagesLeaveOfTheTimeIsForTheProblemsThatAreBehind) {
  const GemmProblem even = of_rows(64), behind = of_rows(80);
  BehindAt gpu(behind.m);
  TunePlan two_stages = within_a_minute({even, behind});
  two_stages.search->deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  two_stages.policy = {};
  two_stages.policy.min_rounds = two_stages.policy.max_rounds = 3;
  two_stages.compile.jobs = 16;
  run(two_stages, gpu);
  std::map<std::int64_t, std::vector<Race>> races;
  for (const RecordedRace& one : open().races()) races[one.race.problem.m].push_back(one.race);
  EXPECT_THAT(races[even.m], SizeIs(2));
  ASSERT_THAT(races[behind.m], SizeIs(3));
  const Race& last = races[behind.m].back();
  const auto is_new = [&](const Trial& trial) {
    return !is_baseline(trial.label) && !has(races[behind.m][0], trial.label) &&
           !has(races[behind.m][1], trial.label);
  };
  EXPECT_GT(std::ranges::count_if(last.trials, is_new), 10);
}

TEST_F(InWaves, ATuneThatGoesOnBeginsWithTheProblemsThatHaveNoWinner) {
  TunePlan some = plan({of_rows(16), of_rows(32), of_rows(48)}, configs(4));
  some.problems.pop_back();
  FakeMeasurer gpu;
  run(some, gpu);
  some.problems.push_back(of_rows(48));
  const Store store = open();
  CurrentKernels kernels(compiler_.compiler().source_key, store.builds());
  const auto left = without_winner(some, store, fake_machine().environment, kernels);
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left.front().m, 48);
  some.regimes = {Regime::kSustained, Regime::kBurst};
  EXPECT_THAT(without_winner(some, store, fake_machine().environment, kernels), SizeIs(3));
}

TEST(CompileAhead, TellsFromItsRateWhetherAllWillBeCompiled) {
  std::atomic<bool> go_on = false;
  const Compiler compiler{.source_key = [](const Kernel&) { return std::string(); },
                          .compile_all =
                              [&](std::span<const Kernel> kernels, const CompileOptions&,
                                  const std::function<void(Build)>& done) {
                                for (std::size_t i = 0; i < kernels.size(); ++i) {
                                  while (i == 1 && !go_on)
                                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                  Build build;
                                  build.kernel = kernels[i];
                                  done(std::move(build));
                                }
                              }};
  std::vector<Kernel> kernels;
  for (const KernelConfig& config : configs(4)) kernels.push_back(kernel_for(config, kLarge));
  CompileAhead ahead(compiler, kernels, {});
  const auto now = [] { return std::chrono::steady_clock::now(); };
  EXPECT_TRUE(ahead.will_be_done_by(now())) << "nothing is known yet";
  while (ahead.take().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(ahead.will_be_done_by(now() + std::chrono::milliseconds(100)));
  EXPECT_TRUE(ahead.will_be_done_by(now() + std::chrono::hours(1)));
  go_on = true;
  while (!ahead.is_done()) ahead.take();
  EXPECT_TRUE(ahead.will_be_done_by(now()));
}

}  // namespace
}  // namespace hgemm
