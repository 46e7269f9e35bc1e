#include "tune/tune.h"

#include <algorithm>

#include "base/error.h"
#include "results/best.h"
#include "search/figures.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSubsetOf;
using testing::IsSupersetOf;
using testing::Key;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

using Tune = TuneTest;

TEST_F(Tune, RacesToTheFastestAndKeepsCleanSamples) {
  FakeMeasurer gpu;
  gpu.model_us = {{name(0), 104}, {name(1), 98}, {name(2), 101}, {name(3), 103}, {name(4), 150}};
  gpu.model_us["cublaslt.1"] = 110;
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1), c(2), c(3), c(4)}), gpu), 5);

  EXPECT_EQ(listener_.leaders.back(), name(1));
  EXPECT_THAT(listener_.races, ElementsAre("0/1 256x512x128 sustained 5"));
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
}

TEST_F(Tune, EachTypeHasAKernelOfItsOwn) {
  GemmProblem fp16 = kSmall, fp32_output = kSmall, light = kLight;
  fp16.set_types(DataType::kFp16);
  fp32_output.d_type = DataType::kFp32;
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kSmall, fp16, fp32_output, light}, configs(2)), gpu), 8);
  EXPECT_THAT(gpu.prepared,
              UnorderedElementsAre("256x512x128 " + name(0), "256x512x128 " + name(1),
                                   "256x512x128.fp16 " + name(0), "256x512x128.fp16 " + name(1),
                                   "256x512x128.dfp32 " + name(0), "256x512x128.dfp32 " + name(1),
                                   "16x512x128 " + name(0), "16x512x128 " + name(1)));
  EXPECT_THAT(compiled_, SizeIs(6)) << "one for both bf16 problems";
  std::set<std::string> kernels;
  for (const GemmProblem& problem : {kSmall, fp16, fp32_output, light}) {
    for (const int i : {0, 1}) {
      const std::string id = trial(problem, name(i)).kernel_id;
      EXPECT_EQ(id, compiler_.trial_kernel(c(i), problem).kernel_id);
      kernels.insert(id);
    }
  }
  EXPECT_THAT(kernels, SizeIs(6));
}

TEST_F(Tune, TypesThatNoKernelHasAreRecordedAsInvalid) {
  GemmProblem fp32 = kSmall;
  fp32.set_types(DataType::kFp32);
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({fp32}, configs(1)), gpu), 1);
  EXPECT_EQ(status(fp32, 0), Status::kInvalidConfig);
  EXPECT_THAT(trial(fp32, name(0)).message, HasSubstr("bf16 and fp16"));
  EXPECT_EQ(gpu.opened, 0);
  EXPECT_THAT(compiled_, IsEmpty());
}

TEST_F(Tune, ABudgetTakesWhatTheModelLikesAndTheSameAgain) {
  TunePlan some = plan({kLarge}, configs(20));
  some.search = SearchPlan{StrategyKind::kModel, {.trials = 4}, {}};
  FakeMeasurer gpu;
  EXPECT_EQ(run(some, gpu), 4);
  EXPECT_THAT(compiled_, SizeIs(4)) << "nothing else is compiled";
  std::vector<std::pair<double, std::string>> ranked;
  for (const KernelConfig& config : configs(20)) {
    ranked.emplace_back(predict_cost({}, config, kLarge).us(), label(config));
  }
  std::ranges::sort(ranked);
  for (int i = 0; i < 3; ++i) {  // the fourth is a blind one
    EXPECT_THAT(compiled_, Contains(ranked[static_cast<std::size_t>(i)].second)) << i;
  }

  some.policy.seed = 99;  // of the data: another one at every call
  EXPECT_EQ(run(some, gpu), 0) << "the same command finds its trials";
  some.search->budget = {.trials = 20};
  EXPECT_EQ(run(some, gpu), 16) << "the rest";
}

// What a space has for other shapes is left out; what was asked for by name is not.
TEST_F(Tune, MeasuresOnlyWhatSuitsAShapeIfAskedTo) {
  const GemmProblem few{.m = 5, .n = 512, .k = 128, .tag = ""};
  const KernelConfig swapped = SwapAbConfig{.bm = 8};
  const KernelConfig tall = TiledConfig{.bm = 256};
  TunePlan suitable = plan({kSmall, few}, {swapped, tall});
  FakeMeasurer first, second;
  EXPECT_EQ(run(suitable, second), 4);
  suitable.problems = {{.m = 256, .n = 1024, .k = 128, .tag = ""},
                       {.m = 5, .n = 1024, .k = 128, .tag = ""}};
  suitable.only_suitable = true;
  EXPECT_EQ(run(suitable, first), 2);
  EXPECT_THAT(first.prepared,
              UnorderedElementsAre("256x1024x128 " + label(tall), "5x1024x128 " + label(swapped)));
}

TEST_F(Tune, TheSecondCallHasNothingToDo) {
  FakeMeasurer gpu;
  const TunePlan same = plan({kSmall, kLarge, kOddK}, {c(0), c(1)});
  compiler_.failing = {name(1)};
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
  for (const int i : {0, 1}) compiler_.new_codes[name(i)] = 1;
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(1)}), third), 2)
      << "other kernels: nothing that is known holds for them";
}

TEST_F(Tune, TwiceTheSameIsMeasuredOnce) {
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kSmall}, {c(0), c(0), c(1)}), gpu), 2);
  EXPECT_THAT(gpu.prepared, SizeIs(2));
}

TEST_F(Tune, CompilesOnceForAllShapesAndRecordsFailuresAtEach) {
  compiler_.failing = {name(1)};
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kSmall, kLarge, kOddK}, {c(0), c(1)}), gpu), 6);
  EXPECT_THAT(compiled_, UnorderedElementsAre(name(0), name(1)));
  for (const GemmProblem& problem : {kSmall, kLarge}) {
    EXPECT_EQ(status(problem, 0), Status::kOk);
    EXPECT_EQ(status(problem, 1), Status::kCompileFailed);
    EXPECT_EQ(trial(problem, name(1)).message, "spills 8 bytes");
    EXPECT_THAT(trial(problem, name(1)).samples, IsEmpty());
  }
  EXPECT_THAT(open().builds(), SizeIs(2));
}

TEST_F(Tune, AnUnsupportedShapeSaysWhyAndNeedsNoGpu) {
  FakeMeasurer gpu;
  EXPECT_EQ(run(plan({kOddK}, {c(0), c(1)}), gpu), 2);
  EXPECT_EQ(gpu.opened, 0);
  EXPECT_THAT(compiled_, IsEmpty());
  EXPECT_EQ(status(kOddK, 1), Status::kInvalidConfig);
  EXPECT_THAT(
      trial(kOddK, name(1)).message,
      HasSubstr("must be whole units of 16 bytes (multiples of 8), unless the config packs them"));
}

TEST_F(Tune, AConfigThatBreaksARuleIsNotCompiled) {
  const KernelConfig too_deep = TiledConfig{.bn = 72, .stages = 16};
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
  EXPECT_THAT(gpu.asked, Each(Not(Contains(name(0)))));
}

TEST_F(Tune, AShapeThatDoesNotFitDoesNotStopTheOthers) {
  FakeMeasurer gpu;
  gpu.too_large = {to_string(kLarge)};
  EXPECT_EQ(run(plan({kLarge, kSmall}, {c(0)}), gpu), 1);
  EXPECT_THAT(skipped_problems_, ElementsAre("2048x4096x4096"));
  EXPECT_THAT(listener_.warnings, ElementsAre(HasSubstr("needs 900 GiB")));
  EXPECT_THAT(trials(), UnorderedElementsAre(Key(key(kSmall, name(0)))));
}

TEST_F(Tune, AShapeWithoutALibraryDoesNotStopTheOthers) {
  FakeMeasurer gpu;
  gpu.without_libraries = {to_string(kLarge)};
  EXPECT_EQ(run(plan({kLarge, kSmall}, {c(0)}), gpu), 1);
  EXPECT_THAT(skipped_problems_, ElementsAre("2048x4096x4096"));
  EXPECT_THAT(listener_.warnings, ElementsAre(HasSubstr("cuBLASLt has no algorithm for it")));
  EXPECT_THAT(trials(), UnorderedElementsAre(Key(key(kSmall, name(0)))));
}

TEST_F(Tune, AShapeThatDoesNotFitIsSkippedOnce) {
  FakeMeasurer gpu;
  gpu.too_large = {to_string(kLarge)};
  TunePlan both = plan({kLarge, kSmall}, configs(1));
  both.regimes = {Regime::kSustained, Regime::kBurst};
  EXPECT_EQ(run(both, gpu), 2);
  EXPECT_THAT(skipped_problems_, SizeIs(1));
  EXPECT_THAT(listener_.warnings, SizeIs(1));
}

// ---- The final ----

TEST_F(Tune, AClearlySlowerFinalistLeavesTheFinal) {
  for (const bool keep : {false, true}) {
    forget_everything();
    FakeMeasurer gpu;
    gpu.model_us = {{name(1), 100.1}, {name(2), 112}, {"cublaslt.1", 112}};
    TunePlan longer = plan({kSmall}, configs(3));
    longer.policy.min_rounds = 8;
    longer.policy.max_rounds = 9;
    longer.policy.lt_finalists = 2;
    longer.policy.keep_finalists = keep;
    EXPECT_EQ(run(longer, gpu), 3);
    for (const std::string& slow : {name(2), std::string("cublaslt.1")}) {
      const Trial left = trial(kSmall, slow);
      EXPECT_EQ(left.status, Status::kOk);
      EXPECT_EQ(left.stage, keep ? Stage::kFinal : Stage::kScreen) << slow;
    }
    const auto rounds = rounds_of(trial(kSmall, name(2)));
    EXPECT_EQ(rounds.front(), 3);  // none of screening
    const auto winners_rounds = rounds_of(trial(kSmall, name(0)));
    EXPECT_EQ(rounds.size() == winners_rounds.size(), keep);
    EXPECT_THAT(rounds, IsSubsetOf(winners_rounds));
    EXPECT_EQ(gpu.held.contains(name(2)), keep);
  }
}

// ---- Regimes and paces ----

TEST_F(Tune, RacesAllShapesInOneRegimeThenInTheNext) {
  compiler_.failing = {name(1)};
  TunePlan both = plan({kSmall, kLight, kOddK}, configs(2));
  both.regimes = {Regime::kSustained, Regime::kBurst};
  FakeMeasurer gpu;
  EXPECT_EQ(run(both, gpu), 12);
  EXPECT_THAT(listener_.races,
              ElementsAre("0/6 256x512x128 sustained 1", "1/6 16x512x128 sustained 1",
                          "2/6 64x64x60 sustained 0", "3/6 256x512x128 burst 1",
                          "4/6 16x512x128 burst 1", "5/6 64x64x60 burst 0"));
  EXPECT_THAT(compiled_, UnorderedElementsAre(name(0), name(1)));
  EXPECT_THAT(open().races(), SizeIs(6));
  EXPECT_EQ(trial(kSmall, name(0), Regime::kBurst).stage, Stage::kFinal);
  EXPECT_EQ(trial(kLight, name(1), Regime::kBurst).status, Status::kCompileFailed);
  EXPECT_EQ(run(both, gpu), 0);
}

TEST_F(Tune, MeasuresOnlyTheRegimeThatIsMissing) {
  FakeMeasurer gpu;
  TunePlan both = plan({kSmall}, configs(2));
  run(both, gpu);
  both.regimes = {Regime::kSustained, Regime::kBurst};
  listener_.races.clear();
  EXPECT_EQ(run(both, gpu), 2);
  EXPECT_THAT(listener_.races, ElementsAre("0/1 256x512x128 burst 2"));
}

TEST_F(Tune, AWindowAtTheOwnPaceIsSeveralRounds) {
  FakeMeasurer gpu;
  gpu.noise = 0;
  gpu.own_samples = 2;
  TunePlan one = plan({kSmall}, configs(3));
  one.policy.min_rounds = one.policy.max_rounds = 6;
  EXPECT_EQ(run(one, gpu), 3);
  EXPECT_THAT(gpu.paces,
              ElementsAre(Pace::kRested, Pace::kRested, Pace::kOwn, Pace::kOwn, Pace::kOwn));
  EXPECT_THAT(rounds_of(trial(kSmall, name(0))), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(rounds_of(trial(kSmall, "cublas")), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(trial(kSmall, name(0)).stage, Stage::kFinal);
}

TEST_F(Tune, FewerGoToAFinalAtTheOwnPace) {
  for (const Regime regime : {Regime::kSustained, Regime::kBurst}) {
    forget_everything();
    FakeMeasurer gpu;
    TunePlan one = plan({kSmall}, configs(8));
    one.policy.finalists = 7;
    one.policy.own_finalists = 4;
    one.policy.keep_finalists = true;
    one.regimes = {regime};
    EXPECT_EQ(run(one, gpu), 8);
    const auto finalists = std::ranges::count_if(
        gpu.asked.back(), [](const std::string& label) { return !is_baseline(label); });
    EXPECT_EQ(finalists, regime == Regime::kSustained ? 4 : 7);
  }
}

TEST_F(Tune, EveryRaceHasThePaceOfItsProtocol) {
  using enum Pace;
  struct Case {
    const char* what;
    Regime regime;
    GemmProblem problem;
    bool power_capped;
    std::vector<Pace> settled, rounds;
  };
  const std::vector<Case> cases = {
      {"at the power cap",
       Regime::kSustained,
       kSmall,
       true,
       {kRested, kOwn},
       {kRested, kRested, kOwn, kOwn, kOwn}},
      {"below the power cap",
       Regime::kSustained,
       kSmall,
       false,
       {kRested, kOwn},  // full load, as shared needs it
       {kRested, kRested, kShared, kShared, kShared}},
      {"light", Regime::kSustained, kLight, true, {kShared}, std::vector(5, kShared)},
      {"burst", Regime::kBurst, kSmall, true, {kRested}, std::vector(5, kRested)},
      {"light burst", Regime::kBurst, kLight, true, {kRested}, std::vector(5, kRested)}};
  for (const Case& given : cases) {
    SCOPED_TRACE(given.what);
    forget_everything();
    FakeMeasurer gpu;
    gpu.noise = 0;
    gpu.power_capped = given.power_capped;
    TunePlan one = plan({given.problem}, configs(2));
    one.regimes = {given.regime};
    EXPECT_EQ(run(one, gpu), 2);
    EXPECT_EQ(gpu.settled, given.settled);
    EXPECT_EQ(gpu.paces, given.rounds);
    const Trial winner = trial(given.problem, name(0), given.regime);
    EXPECT_EQ(winner.samples.back().pace, given.rounds.back());
    EXPECT_EQ(trial(given.problem, "cublas", given.regime).samples[0].pace, given.rounds[0]);
  }
}

TEST_F(Tune, RemembersHowSamplesWereLaunched) {
  FakeMeasurer gpu;
  gpu.timing = {.cold = false, .graph = false, .pdl = true};
  run(plan({kSmall, kOddK}, configs(1)), gpu);
  const auto races = open().races();
  ASSERT_THAT(races, SizeIs(2));
  Timing expected = gpu.timing;
  expected.neighbours = 0;
  EXPECT_EQ(races[0].race.timing, expected);
  EXPECT_EQ(races[1].race.timing,
            Timing{.neighbours = 0});  // of invalid configs only: nothing was launched
}

TEST_F(Tune, SaysThatCoolingOrSupplyHeldTheClocksBack) {
  FakeMeasurer gpu;
  gpu.clock_events = clock_event::kPowerCap;  // expected
  run(plan({kLight}, configs(1)), gpu);
  EXPECT_THAT(listener_.warnings, IsEmpty());
  gpu.clock_events = clock_event::kPowerCap | clock_event::kThermal | clock_event::kPowerBrake;
  run(plan({kSmall}, configs(2)), gpu);
  EXPECT_THAT(listener_.warnings,
              ElementsAre(testing::AllOf(HasSubstr("256x512x128 (sustained)"),
                                         HasSubstr("(thermal power_brake)"), HasSubstr("kept"))));
  EXPECT_EQ(trial(kSmall, name(1)).samples[0].clock_events, gpu.clock_events);
}

// ---- Energy ----

TunePlan weighing(TunePlan plan) {
  plan.weighed = Weighed::kFinalists;
  return plan;
}

TEST_F(Tune, WeighsWhoReachedTheEndAndWhatTheyAreComparedWith) {
  std::set<std::vector<std::string>> orders;
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    forget_everything();
    listener_.weighed.clear();
    FakeMeasurer gpu;
    gpu.noise = 0;
    gpu.model_us = {{name(1), 100.1}, {name(2), 150}, {"cublaslt.0", 105}, {"cublaslt.1", 104.9}};
    TunePlan both = weighing(plan({kSmall}, configs(3)));
    both.regimes = {Regime::kSustained, Regime::kBurst};
    both.policy.lt_finalists = 2;
    both.policy.seed = seed;
    EXPECT_EQ(run(both, gpu), 6);
    EXPECT_THAT(gpu.weighed, UnorderedElementsAre(name(0), name(1), "cublas", "cublaslt.1"));
    EXPECT_THAT(listener_.weighed, ElementsAre("1/4", "2/4", "3/4", "4/4"));
    orders.insert(gpu.weighed);
    for (const std::string& label : gpu.weighed) {
      const auto energy = trial(kSmall, label).energy;
      ASSERT_TRUE(energy) << label;
      const double time_us = gpu.model_us.contains(label) ? gpu.model_us[label] : 100;
      EXPECT_DOUBLE_EQ(energy->joules(), 600 * time_us * 1e-6);
      EXPECT_EQ(energy->window_s, 2);
      EXPECT_FALSE(trial(kSmall, label, Regime::kBurst).energy);
    }
    EXPECT_FALSE(trial(kSmall, name(2)).energy);
    EXPECT_FALSE(trial(kSmall, "cublaslt.0").energy);
    EXPECT_EQ(run(both, gpu), 0);
  }
  EXPECT_GT(orders.size(), 1u);  // no label is always first
}

TEST_F(Tune, FinalistsWithoutEnergyAreMeasuredAgainWhereItIsWanted) {
  FakeMeasurer gpu;
  gpu.model_us = {{name(2), 150}};  // screened out: that holds
  EXPECT_EQ(run(plan({kSmall}, configs(3)), gpu), 3);
  EXPECT_THAT(gpu.weighed, IsEmpty());
  EXPECT_EQ(run(weighing(plan({kSmall}, configs(3))), gpu), 2);
  EXPECT_THAT(gpu.weighed, IsSupersetOf({name(0), name(1)}));
  EXPECT_EQ(run(weighing(plan({kSmall}, configs(3))), gpu), 0);
}

TEST_F(Tune, AListsWinnerAloneIsWeighedInItsRace) {
  FakeMeasurer gpu;
  gpu.noise = 0;
  gpu.model_us = {{name(1), 90}, {"cublaslt.0", 105}, {"cublaslt.1", 104}};
  TunePlan all = plan({kSmall}, configs(3));
  all.weighed = Weighed::kWinners;
  all.regimes = {Regime::kSustained, Regime::kBurst};
  EXPECT_EQ(run(all, gpu), 6);
  EXPECT_THAT(gpu.weighed, UnorderedElementsAre(name(1), "cublas", "cublaslt.1"));
  EXPECT_EQ(run(all, gpu), 0);
  EXPECT_THAT(gpu.weighed, SizeIs(3));
}

TEST_F(Tune, TheWinnersOfASearchAreWeighedAfterItsLastRace) {
  FakeMeasurer gpu;
  for (int i = 0; i < 20; ++i) gpu.model_us[name(i)] = i % 5 == 0 ? 100 : 110;
  TunePlan search = plan({kSmall, kLight}, configs(20));
  search.search =
      SearchPlan{.strategy = StrategyKind::kModel, .budget = {.trials = 5}, .devices = {}};
  EXPECT_EQ(run(search, gpu), 10);
  EXPECT_THAT(gpu.weighed, IsEmpty());
  search.weighed = Weighed::kWinners;
  listener_.races.clear();
  run(search, gpu);
  EXPECT_THAT(listener_.races, SizeIs(2)) << "one more race of each shape, with what is near";
  EXPECT_THAT(listener_.weighed, ElementsAre("1/3", "2/3", "3/3", "1/3", "2/3", "3/3"));
  for (const BestRow& row : best_rows(open().races())) {
    EXPECT_TRUE(row.joules && row.cublas_joules && row.cublaslt_joules) << to_string(row.problem);
  }
  EXPECT_EQ(run(search, gpu), 0);
  EXPECT_THAT(gpu.weighed, SizeIs(6));
}

TEST_F(Tune, SaysOnceThatTheGpuHasNoEnergyCounter) {
  FakeMeasurer gpu;
  gpu.has_energy_counter = false;
  EXPECT_EQ(run(weighing(plan({kSmall, kLight}, configs(2))), gpu), 4);
  EXPECT_THAT(listener_.warnings, ElementsAre(HasSubstr("no energy counter")));
  EXPECT_THAT(gpu.weighed, SizeIs(1));
  EXPECT_EQ(trial(kLight, name(1)).stage, Stage::kFinal);
}

TEST_F(Tune, WinnersAreNotRacedForAnEnergyThatTheGpuCannotMeasure) {
  FakeMeasurer gpu;
  gpu.has_energy_counter = false;
  TunePlan search = plan({kSmall, kLight}, configs(20));
  search.search =
      SearchPlan{.strategy = StrategyKind::kModel, .budget = {.trials = 5}, .devices = {}};
  search.weighed = Weighed::kWinners;
  run(search, gpu);
  EXPECT_THAT(listener_.races, SizeIs(3)) << "the first race for energy shows it";
  EXPECT_THAT(listener_.warnings, ElementsAre(HasSubstr("no energy counter")));
}

TEST_F(Tune, AFinalOutlivesItsEnergyWindows) {
  std::set<std::size_t> weighed_counts;
  for (const bool kill : {false, true}) {
    for (const std::uint64_t seed : {1, 2, 3, 4, 5, 6}) {
      const std::size_t windows = 1 + seed % 3;  // of four
      SCOPED_TRACE(fmt::format("{} after {} windows", kill ? "killed" : "stopped", windows));
      forget_everything();
      TunePlan times = plan({kSmall}, configs(3));
      times.policy.seed = seed;
      const TunePlan all = weighing(times);
      FakeMeasurer gpu, idle, again;
      gpu.model_us = again.model_us = {{name(2), 150}};
      const auto now = [&] { return gpu.weighed.size() == windows; };
      if (kill) {
        gpu.before_step = [&] {
          if (now()) throw Killed();
        };
        EXPECT_THROW(run(all, gpu), Killed);
      } else {
        EXPECT_EQ(run(all, gpu, now), 3);
      }
      EXPECT_THAT(gpu.weighed, SizeIs(windows));
      for (const int finalist : {0, 1}) {
        EXPECT_EQ(trial(kSmall, name(finalist)).stage, Stage::kFinal);
        EXPECT_THAT(rounds_of(trial(kSmall, name(finalist))), IsSupersetOf({3, 4, 5}));
      }
      std::set<std::string> weighed;
      for (const std::string& label : gpu.weighed) {
        EXPECT_TRUE(trial(kSmall, label).energy) << label;
        if (!is_baseline(label)) weighed.insert(label);
      }
      weighed_counts.insert(weighed.size());

      EXPECT_EQ(run(times, idle), 0);
      EXPECT_EQ(run(all, again), 2 - static_cast<std::int64_t>(weighed.size()));
      for (const std::string& label : weighed) EXPECT_THAT(again.weighed, Not(Contains(label)));
      EXPECT_EQ(run(all, idle), 0);
      EXPECT_EQ(idle.opened, 0);
    }
  }
  EXPECT_GT(weighed_counts.size(), 1u);
}

}  // namespace
}  // namespace hgemm
