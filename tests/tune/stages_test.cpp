// Searches that learn: a race of what they propose first, then one of what they propose when they
// were told how these did.
#include <algorithm>
#include <iterator>

#include "support.h"

namespace hgemm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsSubsetOf;
using testing::IsSupersetOf;
using testing::SizeIs;

using Labels = std::set<std::string>;

/// Kin: a tile in four orders, which the model cannot tell apart.
std::vector<KernelConfig> kin(int i) {
  std::vector<TiledConfig> members(4, std::get<TiledConfig>(c(i)));
  members[1].order = TileOrder::kHilbert;
  for (const int more : {2, 3}) {
    members[static_cast<std::size_t>(more)].order = TileOrder::kGroupedRows;
    members[static_cast<std::size_t>(more)].group = 4 * more;
  }
  return {members.begin(), members.end()};
}
std::vector<KernelConfig> all_kin(int count) {
  std::vector<KernelConfig> all;
  for (int i = 0; i < count; ++i) std::ranges::copy(kin(i), std::back_inserter(all));
  return all;
}
Labels labels_of_kin(int i) {
  Labels labels;
  for (const KernelConfig& config : kin(i)) labels.insert(label(config));
  return labels;
}
int kin_of_label(const std::string& label) {
  return (std::get<TiledConfig>(parse_label(label)).bn - 64) / 8;
}

constexpr int kKin = 6;
constexpr int kBudget = 8;  ///< four in the first stage

/// A time for each kin, and at another shape others.
class KinMeasurer : public FakeMeasurer {
 public:
  std::map<std::string, std::map<int, double>> kin_us;  ///< by shape; default: 150

 protected:
  double time_us(const GemmProblem& problem, const std::string& label, Pace pace) const override {
    const auto of_shape = kin_us.find(to_string(problem));
    if (is_baseline(label) || of_shape == kin_us.end()) {
      return FakeMeasurer::time_us(problem, label, pace);
    }
    const auto found = of_shape->second.find(kin_of_label(label));
    return found == of_shape->second.end() ? 150 : found->second;
  }
};

class Stages : public TuneTest {
 protected:
  static TunePlan staged(std::vector<GemmProblem> problems, int budget = kBudget,
                         StrategyKind strategy = StrategyKind::kStaged) {
    TunePlan some = plan(std::move(problems), all_kin(kKin));
    some.search = SearchPlan{strategy, {.trials = budget}, {}};
    return some;
  }

  /// What was prepared at the shape, in two halves.
  static std::vector<Labels> halves(const FakeMeasurer& gpu, const GemmProblem& problem) {
    std::vector<Labels> halves(2);
    std::size_t seen = 0;
    for (const std::string& prepared : gpu.prepared) {
      if (!prepared.starts_with(to_string(problem) + " ")) continue;
      halves.at(seen++ / (kBudget / 2)).insert(prepared.substr(to_string(problem).size() + 1));
    }
    return halves;
  }

  /// What the first stage proposes.
  std::vector<std::string> first_labels(const GemmProblem& problem) {
    FakeMeasurer gpu;
    run(staged({problem}), gpu);
    const Labels first = halves(gpu, problem)[0];
    forget_everything();
    compiled_.clear();
    listener_.races.clear();
    return {first.begin(), first.end()};
  }
  /// The kin of which that has one.
  std::vector<int> first_kin(const GemmProblem& problem) {
    std::set<int> found;
    const std::vector<std::string> first = first_labels(problem);
    for (const std::string& label : first) found.insert(kin_of_label(label));
    EXPECT_THAT(found, SizeIs(kBudget / 2)) << "one of each";
    return {found.begin(), found.end()};
  }

  Labels measured(const GemmProblem& problem) const {
    Labels labels;
    for (const auto& [key, same] : trials()) {
      EXPECT_THAT(same, SizeIs(1)) << key << " was measured twice";
      if (key.starts_with(to_string(problem) + " ")) labels.insert(same.front().label);
    }
    return labels;
  }
};

TEST_F(Stages, TheSecondRaceIsOfTheKinThatWereFastInTheFirst) {
  const std::vector<int> first = first_kin(kLarge);
  for (const int fast : first) {
    SCOPED_TRACE(fast);
    forget_everything();
    KinMeasurer gpu;
    gpu.kin_us = {{to_string(kLarge), {{fast, 100}}}};
    EXPECT_EQ(run(staged({kLarge}), gpu), kBudget);
    const auto both = halves(gpu, kLarge);
    EXPECT_THAT(both[0], SizeIs(4));
    EXPECT_THAT(both[1], SizeIs(4));
    Labels all = both[0];
    all.insert(both[1].begin(), both[1].end());
    EXPECT_THAT(all, SizeIs(kBudget)) << "nothing twice";
    EXPECT_THAT(all, IsSupersetOf(labels_of_kin(fast)));
    EXPECT_EQ(gpu.opened, 2);
    EXPECT_THAT(open().races(), SizeIs(2));
    EXPECT_THAT(gpu.efforts, Each(Effort::kFull));
    EXPECT_EQ(run(staged({kLarge}), gpu), 0) << "the same command has nothing to do";
    EXPECT_EQ(gpu.opened, 2);
  }
}

TEST_F(Stages, EachShapeLearnsFromItsOwnRaceAndKernelsAreCompiledTogether) {
  const auto of_large = first_kin(kLarge);
  const auto of_small = first_kin(kSmall);
  KinMeasurer gpu;
  gpu.kin_us = {{to_string(kLarge), {{of_large.front(), 100}}},
                {to_string(kSmall), {{of_small.back(), 100}}}};
  EXPECT_EQ(run(staged({kLarge, kSmall}), gpu), 2 * kBudget);
  EXPECT_THAT(measured(kLarge), IsSupersetOf(labels_of_kin(of_large.front())));
  EXPECT_THAT(measured(kSmall), IsSupersetOf(labels_of_kin(of_small.back())));
  EXPECT_THAT(listener_.races,
              ElementsAre("0/4 2048x4096x4096 sustained 4", "1/4 256x512x128 sustained 4",
                          "2/4 2048x4096x4096 sustained 4", "3/4 256x512x128 sustained 4"));
  const Labels kernels(compiled_.begin(), compiled_.end());
  const auto first = halves(gpu, kLarge)[0];
  EXPECT_THAT(first, IsSubsetOf(Labels(compiled_.begin(), compiled_.begin() + 8)));
  for (const GemmProblem& problem : {kLarge, kSmall})
    EXPECT_THAT(measured(problem), IsSubsetOf(kernels));
}

TEST_F(Stages, TheTimeThatIsOverGrowsThroughBothAlsoWhereTheFirstIsResumed) {
  std::vector<GemmProblem> problems(4, kLarge);
  for (int i = 0; i < 4; ++i) problems[static_cast<std::size_t>(i)].n += 128 * i;
  for (const auto kind : {StrategyKind::kStaged, StrategyKind::kAdaptive, StrategyKind::kLocal}) {
    FakeMeasurer gpu;
    const TunePlan learning = staged(problems, 20, kind);
    run(learning, gpu, [&] { return listener_.races.size() == 4; });
    const double stopped_at = listener_.shares.back();
    EXPECT_LT(stopped_at, 0.5);
    listener_.shares.clear();
    run(learning, gpu);
    EXPECT_TRUE(std::ranges::is_sorted(listener_.shares))
        << testing::PrintToString(listener_.shares);
    EXPECT_LT(listener_.shares.front(), 0.1) << "of what is left";
    EXPECT_GT(listener_.shares.back(), 0.8);
    EXPECT_LE(listener_.shares.back(), 1);
    forget_everything();
    listener_.races.clear();
  }
}

TEST_F(Stages, EachRegimeLearnsFromItsOwn) {
  const std::vector<int> first = first_kin(kSmall);
  const std::vector<std::pair<Regime, int>> fastest = {{Regime::kSustained, first.back()},
                                                       {Regime::kBurst, first.front()}};
  for (const auto& [regime, fast] : fastest) {
    KinMeasurer gpu;
    gpu.kin_us = {{to_string(kSmall), {{fast, 100}}}};
    TunePlan one = staged({kSmall});
    one.regimes = {regime};
    EXPECT_EQ(run(one, gpu), kBudget);
    for (const std::string& label : labels_of_kin(fast)) trial(kSmall, label, regime);
  }
  TunePlan both = staged({kSmall});
  both.regimes = {Regime::kSustained, Regime::kBurst};
  FakeMeasurer idle;
  EXPECT_EQ(run(both, idle), 0);
}

TEST_F(Stages, WhoFailedIsNotGood) {
  const auto first = first_kin(kLarge);
  const int broken = first[0];
  const int wrong = first[1];
  const int fast = first[2];
  for (const KernelConfig& config : kin(broken)) compiler_.failing.insert(label(config));
  KinMeasurer gpu;
  gpu.kin_us = {{to_string(kLarge), {{broken, 50}, {wrong, 50}, {fast, 100}}}};
  for (const std::string& label : labels_of_kin(wrong)) {
    gpu.in_prepare[label] = {Status::kWrongResult};
  }
  EXPECT_EQ(run(staged({kLarge}), gpu), kBudget);
  const Labels all = measured(kLarge);
  EXPECT_THAT(all, IsSupersetOf(labels_of_kin(fast)));
  for (const int failed : {broken, wrong}) {
    EXPECT_EQ(std::ranges::count_if(
                  all, [&](const std::string& label) { return kin_of_label(label) == failed; }),
              1)
        << failed;
  }
}

TEST_F(Stages, WhatWasMeasuredInBriefTeachesNothingOfFullEffort) {
  const std::vector<std::string> first = first_labels(kLarge);
  TunePlan brief = plan({kLarge}, all_kin(kKin));
  brief.policy = {};
  brief.search = SearchPlan{StrategyKind::kModel, {}, {}};
  brief.search->deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  FakeMeasurer hasty;
  hasty.model_us[first[0]] = 50;
  EXPECT_GT(run(brief, hasty), 0);
  ASSERT_THAT(hasty.efforts, Each(Effort::kBrief));
  ASSERT_EQ(trial(kLarge, first[0]).stage, Stage::kFinal);

  FakeMeasurer gpu;
  gpu.model_us = {{first[0], 150}, {first[1], 90}};
  EXPECT_EQ(run(staged({kLarge}), gpu), kBudget);
  const Labels second = halves(gpu, kLarge)[1];
  for (const std::string& label : labels_of_kin(kin_of_label(first[1]))) {
    EXPECT_TRUE(label == first[1] || second.contains(label)) << label;
  }
}

/// Who is fast for a while may be slow at the power cap.
class CappedMeasurer : public FakeMeasurer {
 public:
  std::map<std::string, double> own_us;

 protected:
  double time_us(const GemmProblem& problem, const std::string& label, Pace pace) const override {
    const auto found = own_us.find(label);
    return pace == Pace::kOwn && found != own_us.end()
               ? found->second
               : FakeMeasurer::time_us(problem, label, pace);
  }
};

// What is screened is weighed against finalists: those of the second race would move it.
TEST_F(Stages, WhatTheSecondRaceFoundDoesNotChangeWhatIsInIt) {
  const std::vector<std::string> first = first_labels(kLarge);
  CappedMeasurer gpu;
  for (const std::string& label : labels_of_kin(kin_of_label(first[0]))) {
    gpu.model_us[label] = 80;
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    gpu.model_us[first[i]] = 100 + static_cast<double>(i);
    gpu.own_us[first[i]] = 115 + 5 * static_cast<double>(i);
  }
  EXPECT_EQ(run(staged({kLarge}), gpu), kBudget);
  EXPECT_EQ(trial(kLarge, first[3]).stage, Stage::kScreen);
  EXPECT_THAT(measured(kLarge), IsSupersetOf(labels_of_kin(kin_of_label(first[0]))));
  EXPECT_EQ(run(staged({kLarge}), gpu), 0);
}

TEST_F(Stages, AllThatLearnKeepTheirBudgetAndDependOnWhatWasMeasured) {
  constexpr int kMore = 16;
  for (const StrategyKind kind :
       {StrategyKind::kStaged, StrategyKind::kAdaptive, StrategyKind::kLocal}) {
    SCOPED_TRACE(to_string(kind));
    forget_everything();
    compiled_.clear();
    FakeMeasurer gpu;
    EXPECT_EQ(run(staged({kLarge}, kMore, kind), gpu), kMore);
    const std::size_t in_first = first_stage(kind, kMore);
    const std::vector<std::string> first(compiled_.begin(),
                                         compiled_.begin() + static_cast<std::ptrdiff_t>(in_first));
    std::set<Labels> outcomes;
    for (const std::string& fast : first) {
      forget_everything();
      FakeMeasurer again;
      again.model_us[fast] = 10;
      EXPECT_EQ(run(staged({kLarge}, kMore, kind), again), kMore);
      EXPECT_THAT(measured(kLarge), IsSupersetOf(first));
      outcomes.insert(measured(kLarge));
    }
    EXPECT_GT(outcomes.size(), 1u);
  }
}

TEST_F(Stages, ASmallBudgetHasNoSecondRaceAndALargeOneMeasuresTheRest) {
  FakeMeasurer gpu;
  EXPECT_EQ(run(staged({kLarge}, 1), gpu), 1);
  EXPECT_EQ(gpu.opened, 1);
  EXPECT_EQ(run(staged({kLarge}, 1000), gpu), 4 * kKin - 1);
  EXPECT_THAT(measured(kLarge), SizeIs(4 * kKin));
}

TEST_F(Stages, WithinATimeThereIsOneRaceInTheFirstOrder) {
  TunePlan timed = staged({kLarge});
  timed.search->deadline = std::chrono::steady_clock::now() + std::chrono::hours(1);
  FakeMeasurer gpu;
  EXPECT_EQ(run(timed, gpu), 4 * kKin);
  EXPECT_EQ(gpu.opened, 1);
}

TEST_F(Stages, ExhaustiveGoesInTheSpacesOrder) {
  FakeMeasurer gpu;
  EXPECT_EQ(run(staged({kLarge}, 5, StrategyKind::kExhaustive), gpu), 5);
  const auto all = all_kin(kKin);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(compiled_[i], label(all[i]));
  EXPECT_THAT(open().races(), SizeIs(1));
}

TEST_F(Stages, AShapeThatDoesNotFitHasNoSecondRace) {
  FakeMeasurer gpu;
  gpu.too_large = {to_string(kLarge)};
  EXPECT_EQ(run(staged({kLarge, kSmall}), gpu), kBudget);
  EXPECT_THAT(skipped_problems_, ElementsAre(to_string(kLarge)));
  EXPECT_THAT(listener_.warnings, SizeIs(1));
}

// ---- Interruption and resuming ----

class StagesResume : public Stages {
 protected:
  /// Times far enough apart that noise changes no order; the model's favourites crash.
  KinMeasurer scripted() {
    KinMeasurer gpu;
    for (const auto& [problem, first] : first_) {
      gpu.kin_us[to_string(problem)] = {{first[3], 100}, {first[1], 115}, {first[2], 140}};
      for (const std::string& label : labels_of_kin(first[0])) {
        gpu.in_prepare[label] = {Status::kCrashed};
      }
    }
    return gpu;
  }

  using Measured = std::map<std::string, Labels>;
  Measured all_measured() const {
    Measured all;
    for (const auto& [problem, first] : first_) all[to_string(problem)] = measured(problem);
    return all;
  }

  std::vector<std::pair<GemmProblem, std::vector<int>>> first_ = {{kLarge, first_kin(kLarge)},
                                                                  {kSmall, first_kin(kSmall)}};
};

TEST_F(StagesResume, AKillAtAnyPointChangesNothing) {
  const TunePlan tuned = staged({kLarge, kSmall});
  KinMeasurer whole = scripted();
  EXPECT_EQ(run(tuned, whole), 2 * kBudget);
  const Measured expected = all_measured();
  int point = 0, after_the_first_stage = 0;
  for (bool killed = true; killed; ++point) {
    SCOPED_TRACE(fmt::format("killed at step {}", point));
    forget_everything();
    KinMeasurer gpu = scripted();
    int steps = 0;
    gpu.before_step = listener_.on_event = [&] {
      if (steps++ == point) throw Killed();
    };
    killed = false;
    try {
      run(tuned, gpu);
    } catch (const Killed&) {
      killed = true;
    }
    listener_.on_event = [] {};
    const auto before = static_cast<std::int64_t>(trials().size());
    if (killed && before >= kBudget) ++after_the_first_stage;
    KinMeasurer rest = scripted();
    EXPECT_EQ(run(tuned, rest), 2 * kBudget - before);
    EXPECT_EQ(all_measured(), expected);
    if (HasFailure()) return;
  }
  EXPECT_GT(point, 60);  // the script really was cut at many places
  EXPECT_GT(after_the_first_stage, 20);
}

}  // namespace
}  // namespace hgemm
