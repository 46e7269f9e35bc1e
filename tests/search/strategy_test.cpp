// Strategies on made-up times: what they promise whatever the times are, and what learning is for.
#include "search/strategy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::Not;

constexpr StrategyKind kAll[] = {StrategyKind::kModel, StrategyKind::kAdaptive,
                                 StrategyKind::kLocal, StrategyKind::kRandom,
                                 StrategyKind::kExhaustive};

/// Tiles of 8 to 256 columns with 2 to 9 stages.
std::vector<KernelConfig> some_configs() {
  std::vector<KernelConfig> configs;
  for (int bn = 8; bn <= 256; bn += 8) {
    for (int stages = 2; stages < 10; ++stages) configs.push_back({.bn = bn, .stages = stages});
  }
  return configs;
}

/// Fastest at 160 columns and six stages.
double true_time(const KernelConfig& c) {
  return 10 + std::abs(std::log2(c.bn / 160.0)) + 0.3 * std::abs(c.stages - 6);
}

/// The best time that a search of this budget finds, in batches of four.
double found(StrategyKind kind, const std::vector<double>& predicted, std::size_t budget,
             std::uint64_t seed = 0) {
  const auto configs = some_configs();
  Strategy strategy(configs, predicted, {.kind = kind, .budget = budget, .seed = seed});
  double best = INFINITY;
  for (std::size_t measured = 0; measured < budget;) {
    for (const std::size_t i : strategy.next(std::min<std::size_t>(4, budget - measured))) {
      strategy.tell(i, true_time(configs[i]));
      best = std::min(best, true_time(configs[i]));
      ++measured;
    }
  }
  return best;
}

TEST(Strategies, NamesAreReadBack) {
  for (const StrategyKind kind : kAll) EXPECT_EQ(find_strategy(to_string(kind)), kind);
  EXPECT_EQ(find_strategy("bayes"), std::nullopt);
}

TEST(Strategies, EachProposesEveryConfigOnce) {
  const auto configs = some_configs();
  const std::vector<double> predicted(configs.size(), 1.0);
  for (const StrategyKind kind : kAll) {
    SCOPED_TRACE(to_string(kind));
    Strategy strategy(configs, predicted, {.kind = kind, .budget = 40, .seed = 3});
    std::set<std::size_t> seen;
    for (std::size_t batch = 1;; ++batch) {
      const auto proposed = strategy.next(batch);
      if (proposed.empty()) break;
      for (const std::size_t i : proposed) {
        EXPECT_TRUE(seen.insert(i).second) << i << " twice";
        strategy.tell(i, i % 7 == 0 ? std::nullopt : std::optional(1.0 + static_cast<double>(i)));
      }
    }
    EXPECT_EQ(seen.size(), configs.size());
  }
}

TEST(Strategies, ModelTakesItsFavouritesAndATenthAtRandom) {
  const auto configs = some_configs();
  std::vector<double> predicted;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    predicted.push_back(static_cast<double>(configs.size() - i));
  }
  const auto chosen_by = [&](std::uint64_t seed) {
    return Strategy(configs, predicted, {.kind = StrategyKind::kModel, .seed = seed}).next(20);
  };
  const auto chosen = chosen_by(1);
  std::size_t favourites = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i % 10 == 9) continue;
    EXPECT_EQ(chosen[i], configs.size() - 1 - favourites++);
  }
  EXPECT_LT(chosen[9], configs.size() - 20) << "the same as in the model's order";
  EXPECT_THAT(chosen_by(1), testing::ElementsAreArray(chosen)) << "the same seed";
  EXPECT_THAT(chosen_by(2), Not(testing::ElementsAreArray(chosen))) << "another one";
}

TEST(Strategies, ALargerBudgetGoesOnWhereASmallerOneEnded) {
  const auto configs = some_configs();
  std::vector<double> predicted;
  for (const KernelConfig& config : configs) predicted.push_back(true_time(config));
  for (const StrategyKind kind : {StrategyKind::kModel, StrategyKind::kRandom}) {
    const auto chosen = [&](std::size_t budget) {
      return Strategy(configs, predicted, {.kind = kind, .budget = budget}).next(budget);
    };
    auto more = chosen(90);
    more.resize(25);
    EXPECT_EQ(more, chosen(25)) << to_string(kind);
  }
}

TEST(Strategies, LearningMendsAModelThatIsWrong) {
  const auto configs = some_configs();
  std::vector<double> wrong;  // it likes narrow tiles
  for (const KernelConfig& c : configs) wrong.push_back(10 + std::abs(std::log2(c.bn / 48.0)));
  double best = INFINITY;
  for (const KernelConfig& c : configs) best = std::min(best, true_time(c));
  int mended = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_GT(found(StrategyKind::kModel, wrong, 40, seed), 1.05 * best);
    mended += found(StrategyKind::kAdaptive, wrong, 40, seed) < 1.05 * best ? 1 : 0;
  }
  EXPECT_GE(mended, 3) << "of five seeds";
}

TEST(Strategies, ModelWithNothingAtRandomIsTheModelsOrder) {
  const auto configs = some_configs();
  std::vector<double> predicted;
  for (std::size_t i = 0; i < configs.size(); ++i)
    predicted.push_back(1.0 + static_cast<double>(i));
  Strategy strategy(configs, predicted, {.random_share = 0});
  const auto all = strategy.next(configs.size());
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

TEST(Strategies, LocalGoesToWhatIsNearestToTheBest) {
  const auto configs = some_configs();
  const std::vector<double> predicted(configs.size(), 1.0);
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kLocal, .budget = 20});
  const auto first = strategy.next(3);
  for (const std::size_t i : first) strategy.tell(i, i == first[1] ? 1 : 2);
  const std::size_t next = strategy.next(1).front();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (i == next || std::ranges::find(first, i) != first.end()) continue;
    EXPECT_LE(config_distance(configs[next], configs[first[1]]),
              config_distance(configs[i], configs[first[1]]));
  }
}

TEST(Strategies, DistanceIsNoneToItselfAndGrowsWithTheTile) {
  const KernelConfig a{.bm = 128, .bn = 128};
  const KernelConfig near{.bm = 128, .bn = 136};
  const KernelConfig far{.bm = 64, .bn = 256, .schedule = Schedule::kColumns};
  EXPECT_EQ(config_distance(a, a), 0);
  EXPECT_GT(config_distance(a, near), 0);
  EXPECT_LT(config_distance(a, near), config_distance(a, far));
  EXPECT_DOUBLE_EQ(config_distance(a, far), config_distance(far, a));
}

TEST(Budgets, AreAShareOrANumberAndNeverNothing) {
  EXPECT_EQ((Budget{.share = 0.03}.of(3477)), 104u);
  EXPECT_EQ((Budget{.share = 0.03}.of(10)), 1u);
  EXPECT_EQ((Budget{.share = 0.29}.of(100)), 29u);
  EXPECT_EQ((Budget{.trials = 50}.of(3477)), 50u);
  EXPECT_EQ((Budget{.trials = 50}.of(20)), 20u);
}

}  // namespace
}  // namespace hgemm
