// Truth from made-up races, and searches on it; then the searches that the recorded truth judges.
#include "results/replay.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <variant>

#include "search/figures.h"
#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using testing::SizeIs;
namespace fs = std::filesystem;

Trial failed(const std::string& label) {
  Trial trial;
  trial.label = label;
  trial.status = Status::kCompileFailed;
  return trial;
}

RecordedRace recorded(std::vector<Trial> trials, const GemmProblem& problem = test::kProblem) {
  RecordedRace recorded;
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.race.problem = problem;
  recorded.race.trials = std::move(trials);
  return recorded;
}

Trial cublas(double time_us, int rounds) {
  return test::ok(std::string(kCublasLabel), test::samples(time_us, 0, rounds));
}

double speed_of(const Truth& truth, const std::string& label) {
  for (const Truth::Entry& entry : truth.entries) {
    if (entry.config == parse_label(label)) return entry.speed;
  }
  return NAN;
}

TEST(Truths, FinalistsCountByTheirFinalAndOthersNoMoreThanTheMedianFinalist) {
  using test::kA, test::kB, test::kC;
  const auto screened = [](const std::string& label, double time_us) {
    return test::ok(label, test::samples(time_us, 0, 3), Stage::kScreen);
  };
  const std::string slow = label(TiledConfig{.bn = 32});
  const std::string broken = label(TiledConfig{.bn = 16});
  // Screening was at another clock: kC seems the fastest.
  const RecordedRace race = recorded({cublas(100, 9), test::ok(kA, test::samples(80, 3, 6)),
                                      test::ok(kB, test::samples(90, 3, 6)), screened(kC, 70),
                                      screened(slow, 140), failed(broken)});
  const auto all = truths({&race, 1});
  ASSERT_THAT(all, SizeIs(1));
  const Truth& truth = all.front();
  EXPECT_NEAR(speed_of(truth, kA), 100.0 / 80, 0.01);
  EXPECT_NEAR(truth.best(), 100.0 / 80, 0.01);
  const double median_finalist = (100.0 / 80 + 100.0 / 90) / 2;
  EXPECT_NEAR(speed_of(truth, kC), median_finalist, 0.01);
  EXPECT_NEAR(speed_of(truth, slow), median_finalist / 2, 0.01);
  EXPECT_EQ(speed_of(truth, broken), 0);
}

// Whoever was found slower in the final has rounds of the final only: they are as good as the
// others'.
TEST(Truths, WhoLeftTheFinalCountsByItsRounds) {
  const RecordedRace race = recorded({cublas(100, 9), test::ok(test::kA, test::samples(80, 3, 6)),
                                      test::ok(test::kB, test::samples(90, 3, 2), Stage::kScreen),
                                      test::ok(test::kC, test::samples(70, 0, 3), Stage::kScreen)});
  const Truth truth = truths({&race, 1}).front();
  EXPECT_NEAR(speed_of(truth, test::kB), 100.0 / 90, 0.01);
  EXPECT_NEAR(speed_of(truth, test::kC), 100.0 / 80, 0.01);
}

TEST(Truths, EachGpuHasItsOwn) {
  std::vector<RecordedRace> races = {
      recorded({cublas(100, 9), test::ok(test::kA, test::samples(80, 0, 9))}),
      recorded({cublas(100, 9), test::ok(test::kA, test::samples(70, 0, 9))})};
  races.back().environment.gpu_name = "NVIDIA H20";
  EXPECT_THAT(truths(races), SizeIs(2));
}

TEST(Truths, RacesOfTheSameConditionsArePooledAndUnfinishedShapesLeftOut) {
  const GemmProblem other{.m = 512, .n = 512, .k = 512, .tag = ""};
  const std::vector<RecordedRace> races = {
      recorded({cublas(100, 9), test::ok(test::kA, test::samples(80, 0, 9))}),
      recorded({cublas(100, 9), test::ok(test::kB, test::samples(85, 0, 9))}),
      recorded({cublas(10, 3), test::ok(test::kA, test::samples(9, 0, 3), Stage::kScreen)}, other)};
  const auto all = truths(races);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all.front().entries, SizeIs(2));
}

TEST(Truths, OfSeveralConditionsThoseWithTheMostConfigsAnswer) {
  std::vector<RecordedRace> races = {
      recorded({cublas(100, 9), test::ok(test::kA, test::samples(80, 0, 9)),
                test::ok(test::kB, test::samples(85, 0, 9))}),
      recorded({cublas(100, 9), test::ok(test::kA, test::samples(50, 0, 9))})};
  races.back().environment.driver = "newer";
  const auto all = truths(races);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_NEAR(all.front().best(), 100.0 / 80, 0.01);
}

TEST(Replay, ExhaustiveFindsTheBestAndOneTrialFindsThePredictedOne) {
  const RecordedRace race =
      recorded({cublas(100, 9), test::ok(test::kA, test::samples(80, 0, 9)),
                test::ok(test::kB, test::samples(90, 0, 9)), failed(test::kC)});
  const Truth truth = truths({&race, 1}).front();
  std::vector<double> predicted;
  for (const Truth::Entry& entry : truth.entries) {
    predicted.push_back(entry.config == parse_label(test::kB) ? 1 : 2);
  }
  const ReplayRow all = replay(truth, predicted, StrategyKind::kExhaustive, {.trials = 1}, 2);
  EXPECT_EQ(all.measured, 3u);
  EXPECT_DOUBLE_EQ(all.best_fraction, 1);
  EXPECT_EQ(all.found, test::kA);

  const ReplayRow one = replay(truth, predicted, StrategyKind::kModel, {.trials = 1}, 2);
  EXPECT_EQ(one.measured, 1u);
  EXPECT_EQ(one.found, test::kB);
  EXPECT_EQ(one.best, test::kA);
  EXPECT_NEAR(one.best_fraction, 80.0 / 90, 0.01);
  EXPECT_NEAR(one.measured_fraction(), 1.0 / 3, 1e-9);
}

// As in a tune: what the first race said decides what is in the second.
TEST(Replay, ASearchThatLearnsIsToldOnce) {
  std::vector<Trial> trials = {cublas(100, 9)};
  const std::vector<int> groups = {1, 2, 4, 8, 16, 32};
  for (const int bn : {128, 192}) {
    for (const int group : groups) {
      const TiledConfig config{.bn = bn, .order = TileOrder::kGroupedRows, .group = group};
      const double time_us = bn == 128 ? 90 : group == 1 ? 85 : 80;
      trials.push_back(test::ok(label(config), test::samples(time_us, 0, 9)));
    }
  }
  const RecordedRace race = recorded(std::move(trials));
  const Truth truth = truths({&race, 1}).front();
  std::vector<double> predicted;  // likes the slow family
  for (const Truth::Entry& entry : truth.entries) {
    predicted.push_back(std::get<TiledConfig>(entry.config).bn);
  }
  const ReplayRow model = replay(truth, predicted, StrategyKind::kModel, {.trials = 5}, 1);
  EXPECT_NEAR(model.best_fraction, 80.0 / 90, 0.01);
  const ReplayRow staged = replay(truth, predicted, StrategyKind::kStaged, {.trials = 5}, 1);
  EXPECT_EQ(staged.measured, 5u);
  EXPECT_GT(staged.best_fraction, 0.97) << "the first of its family is at 0.94";
  for (const StrategyKind kind : {StrategyKind::kAdaptive, StrategyKind::kLocal}) {
    EXPECT_EQ(replay(truth, predicted, kind, {.trials = 5}, 3).measured, 5u);
  }
}

TEST(ReplayOfTheWholeSpace, CountsWhatIsNearARecordedConfig) {
  const GemmProblem problem{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
  const Candidates candidates =
      candidates_in_whole_space({.problem = problem}, StrategyKind::kAdaptive, 0);
  // Recorded: of the proposals, those with two consumers. Persistent CTAs take the predicted time,
  // everything else twice that. (Ping-pong instead would not be found: it is predicted 10 % slower
  // than the best, and 60 measurements try no manner that is so far behind; search/crowding.cpp.)
  Truth truth{.problem = problem, .environment = {}, .entries = {}};
  for (std::size_t i = 0; i < candidates.configs.size(); ++i) {
    const auto& tile = std::get<TiledConfig>(candidates.configs[i]);
    if (tile.consumers != 2) continue;
    const double us = candidates.predicted_us[i];
    const bool fast = tile.scheduler == TileScheduler::kPersistent;
    truth.entries.push_back({candidates.configs[i], 1000 / (fast ? us : 2 * us)});
  }
  ASSERT_GT(truth.entries.size(), 100u);
  for (const StrategyKind kind : {StrategyKind::kModel, StrategyKind::kAdaptive}) {
    const ReplayRow row = replay_whole(truth, candidates, kind, 60, 2);
    EXPECT_EQ(row.measured, 60u);
    EXPECT_EQ(row.configs, candidates.configs.size());
    EXPECT_GT(row.known, 10u);
    EXPECT_LE(row.best_fraction, 1);
    EXPECT_GT(row.best_fraction, 0.5) << "nothing fast";
    if (kind == StrategyKind::kModel) continue;
    EXPECT_GT(row.best_fraction, 0.99) << "it learned which kind is fast";
    EXPECT_GT(row.reached, 0u);
  }

  // Nothing near was recorded: nothing counts.
  truth.entries = {{GemvConfig{}, 1}};
  const ReplayRow unknown = replay_whole(truth, candidates, StrategyKind::kModel, 20, 1);
  EXPECT_EQ(unknown.measured, 20u);
  EXPECT_EQ(unknown.known, 0u);
  EXPECT_EQ(unknown.best_fraction, 0);
  EXPECT_FALSE(unknown.reached);
}

/// What the README says of searching, for every truth that is recorded.
TEST(Replay, TheModelFindsTheRecordedBestInThreePercent) {
  const fs::path results = fs::path(HGEMM_SOURCE_DIR) / "results";
  const auto devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  int problems = 0;
  double log_sum = 0;
  for (const auto& device : fs::directory_iterator(results)) {
    const fs::path path = device.path() / "truth.db";
    if (!fs::exists(path)) continue;
    const auto races = Store::open(path.string(), Store::Mode::kReadOnly).races();
    for (const Truth& truth : truths(races)) {
      const CostFigures figures = cost_figures(devices, truth.environment, truth.regime);
      std::vector<double> predicted;
      for (const Truth::Entry& entry : truth.entries) {
        predicted.push_back(predict_cost(figures, entry.config, truth.problem).us());
      }
      const ReplayRow row = replay(truth, predicted, StrategyKind::kModel, {.share = 0.03}, 3);
      EXPECT_LE(row.measured_fraction(), 0.03);
      EXPECT_GE(row.worst_fraction, 0.97) << to_string(truth.problem);
      log_sum += std::log(row.best_fraction);
      ++problems;
    }
  }
  ASSERT_GT(problems, 0);
  EXPECT_GE(std::exp(log_sum / problems), 0.99);
}

}  // namespace
}  // namespace hgemm
