// Tunes of the whole space: each shape has proposals of its own, and the second race has others.
#include <algorithm>
#include <utility>

#include "results/best.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::Each;
using testing::Gt;
using testing::IsEmpty;
using testing::SizeIs;

using Labels = std::set<std::string>;

class Whole : public TuneTest {
 protected:
  static TunePlan whole(std::vector<GemmProblem> problems, int trials,
                        StrategyKind strategy = StrategyKind::kAdaptive) {
    TunePlan some = plan(std::move(problems), {});
    some.whole = WholeSpace{};
    some.search = SearchPlan{strategy, {.trials = trials}, {}};
    return some;
  }
  static TunePlan within(double seconds, std::vector<GemmProblem> problems) {
    TunePlan some = whole(std::move(problems), 0);
    some.compile.jobs = 16;
    some.search->deadline = std::chrono::steady_clock::now() +
                            std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
    return some;
  }

  std::vector<Labels> labels_of_races() const {
    std::vector<Labels> all;
    for (const RecordedRace& race : open().races()) {
      Labels& labels = all.emplace_back();
      for (const Trial& trial : race.race.trials) {
        if (!is_baseline(trial.label)) labels.insert(trial.label);
      }
    }
    return all;
  }
};

TEST_F(Whole, MeasuresItsNumberOfConfigsInTwoRacesAndNothingTwice) {
  FakeMeasurer gpu;
  const TunePlan tune = whole({kLarge}, 40);
  EXPECT_EQ(run(tune, gpu), 40);
  const auto races = labels_of_races();
  ASSERT_THAT(races, SizeIs(2));
  Labels all = races[0];
  all.insert(races[1].begin(), races[1].end());
  EXPECT_THAT(all, SizeIs(40));
  for (const std::string& label : all) EXPECT_TRUE(suits(parse_label(label), kLarge)) << label;
  EXPECT_EQ(run(tune, gpu), 0) << "the same command has nothing to do";
  EXPECT_THAT(open().races(), SizeIs(2));
}

TEST_F(Whole, AnInterruptedTuneMeasuresWhatIsMissing) {
  FakeMeasurer gpu;
  const TunePlan tune = whole({kLarge, kSmall}, 30);
  const auto some =
      run(tune, gpu, [&] { return listener_.races.size() == 2 && gpu.prepared.size() > 20; });
  EXPECT_LT(some, 60);
  EXPECT_EQ(some + run(tune, gpu), 60);
  for (const auto& [key, same] : trials()) EXPECT_THAT(same, SizeIs(1)) << key;
  EXPECT_EQ(run(tune, gpu), 0);
}

TEST_F(Whole, TheSecondRaceIsNearTheFastestOfTheFirst) {
  FakeMeasurer blind;
  run(whole({kLarge}, 100), blind);
  const Labels first = labels_of_races().at(0);
  for (const std::string& fast : {*first.begin(), *first.rbegin()}) {
    SCOPED_TRACE(fast);
    forget_everything();
    FakeMeasurer gpu;
    gpu.model_us[fast] = 50;
    run(whole({kLarge}, 100), gpu);
    int near = 0;
    const Labels second = labels_of_races().at(1);
    for (const std::string& label : second) {
      near += config_distance(parse_label(label), parse_label(fast)) <= 1 ? 1 : 0;
    }
    EXPECT_GT(near, 20) << "of 60";
  }
}

TEST_F(Whole, ALargerNumberGoesOnWhereASmallerOneEnded) {
  FakeMeasurer gpu;
  EXPECT_EQ(run(whole({kLarge}, 20, StrategyKind::kModel), gpu), 20);
  EXPECT_EQ(run(whole({kLarge}, 35, StrategyKind::kModel), gpu), 15);
  EXPECT_EQ(run(whole({kLarge}, 10, StrategyKind::kRandom), gpu), 10);
  EXPECT_EQ(run(whole({kLarge}, 25, StrategyKind::kRandom), gpu), 15);
}

TEST_F(Whole, UsesOnlyThePdlKindsThatAreAllowed) {
  for (const PdlKind most : {PdlKind::kOff, PdlKind::kSafe}) {
    forget_everything();
    FakeMeasurer gpu;
    TunePlan tune = whole({kLight}, 40);
    tune.whole->allowed.pdl = most;
    EXPECT_EQ(run(tune, gpu), 40);
    const auto races = labels_of_races();
    for (const Labels& labels : races) {
      for (const std::string& label : labels) {
        EXPECT_LE(pdl_kind(parse_label(label)), most) << label;
      }
    }
  }
}

TEST_F(Whole, UsesOnlyBatchInvariantConfigsIfAsked) {
  // So few tiles of so long a K that the fastest cut it.
  const GemmProblem deep{.m = 256, .n = 256, .k = 16384, .tag = ""};
  FakeMeasurer gpu;
  const auto is_invariant = [](const std::string& label) {
    return allows({.batch_invariant = true}, parse_label(label));
  };
  run(whole({deep}, 40), gpu);
  const std::size_t races_of_any_kind = labels_of_races().size();
  for (const Labels& labels : labels_of_races()) {
    EXPECT_FALSE(std::ranges::all_of(labels, is_invariant));
  }
  TunePlan tune = whole({deep}, 40);
  tune.whole->allowed.batch_invariant = true;
  EXPECT_GT(run(tune, gpu), 0);
  const auto races = labels_of_races();
  EXPECT_GT(races.size(), races_of_any_kind);
  for (std::size_t i = races_of_any_kind; i < races.size(); ++i) {
    EXPECT_TRUE(std::ranges::all_of(races[i], is_invariant)) << "also near the fastest of any kind";
  }
}

TEST_F(Whole, AWinnerOfAllowedPdlMeetsANewPeer) {
  FakeMeasurer gpu;
  run(whole({kLarge}, 20), gpu);
  const std::string winner = *best_rows(open().races()).at(0).label;
  gpu.peers = {"peer.a.0"};
  TunePlan meeting = whole({kLarge}, 20);
  meeting.peers = {Peer{.name = "a", .file = "/a.so", .hash = "aa", .options = ""}};
  EXPECT_GE(run(meeting, gpu), 1);
  EXPECT_TRUE(labels_of_races().back().contains(winner));
}

TEST_F(Whole, WithTimeForTwoRacesAtFullEffortItLearnsBetweenThem) {
  FakeMeasurer gpu;
  TunePlan patient = within(600, {kLight});
  patient.policy = {};
  patient.policy.min_rounds = patient.policy.max_rounds = 3;
  run(patient, gpu);
  EXPECT_THAT(gpu.efforts, Each(Effort::kFull));
  EXPECT_THAT(open().races(), SizeIs(2));
  EXPECT_THAT(late_problems_, IsEmpty());
}

TEST_F(Whole, WithLittleTimeItReturnsBrieflyToTheProblemThatIsFarthestBehind) {
  FakeMeasurer gpu;
  // At the power cap, full effort takes over 20 s. Choosing and compiling take seconds on a slow
  // machine, and the return needs some of its kernels in time.
  constexpr double kSeconds = 20;
  TunePlan hasty = within(kSeconds, {kLarge, kLarger});
  hasty.policy = {};
  run(hasty, gpu);
  EXPECT_THAT(gpu.efforts, Each(Effort::kBrief));
  const auto races = labels_of_races();
  ASSERT_THAT(races, SizeIs(3)) << "one for each shape, and one more";
  const auto all = open().races();
  const auto first = std::ranges::find_if(all, [&](const RecordedRace& race) {
    return race.race.problem.same_problem(all[2].race.problem);
  });
  const std::string winner = *best_rows({&*first, 1}).at(0).label;
  EXPECT_TRUE(races[2].contains(winner));
  EXPECT_THAT(races[2], SizeIs(Gt(1u)));

  FakeMeasurer again;
  hasty.search = within(kSeconds, {}).search;
  run(hasty, again);
  EXPECT_THAT(again.efforts, SizeIs(1)) << "where all have a winner, it only returns";
}

}  // namespace
}  // namespace hgemm
