// Strategies on made-up times: what they promise whatever the times are, and what learning is for.
#include "search/strategy.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "families/family.h"

namespace hgemm {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Not;

constexpr StrategyKind kAll[] = {StrategyKind::kModel,    StrategyKind::kStaged,
                                 StrategyKind::kAdaptive, StrategyKind::kLocal,
                                 StrategyKind::kRandom,   StrategyKind::kExhaustive};

const TiledConfig& tiled(const KernelConfig& config) { return std::get<TiledConfig>(config); }

/// Tiles of 8 to 256 columns with 2 to 9 stages.
std::vector<KernelConfig> some_configs() {
  std::vector<KernelConfig> configs;
  for (int bn = 8; bn <= 256; bn += 8) {
    for (int stages = 2; stages < 10; ++stages) {
      configs.emplace_back(TiledConfig{.bn = bn, .stages = stages});
    }
  }
  return configs;
}

/// 40 tiles that are predicted nearly alike.
std::pair<std::vector<KernelConfig>, std::vector<double>> tiles_of_one_kind() {
  std::vector<KernelConfig> configs;
  std::vector<double> predicted;
  for (int i = 0; i < 40; ++i) {
    configs.emplace_back(TiledConfig{.bn = 8 * (i % 32 + 1), .bk = i < 32 ? 64 : 128});
    predicted.push_back(1 + 1e-4 * i);
  }
  return {configs, predicted};
}

/// Fastest at 160 columns and six stages.
double true_time(const KernelConfig& config) {
  const TiledConfig& c = tiled(config);
  return 10 + std::abs(std::log2(c.bn / 160.0)) + 0.3 * std::abs(c.stages - 6);
}

/// The best time that a search of this budget finds, in two stages.
double found(StrategyKind kind, const std::vector<double>& predicted, std::size_t budget,
             std::uint64_t seed = 0) {
  const auto configs = some_configs();
  Strategy strategy(configs, predicted, {.kind = kind, .seed = seed});
  double best = INFINITY;
  const std::size_t first = first_stage(kind, budget);
  for (const std::size_t stage : {first, budget - first}) {
    for (const std::size_t i : strategy.next(stage)) {
      strategy.tell(i, true_time(configs[i]));
      best = std::min(best, true_time(configs[i]));
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
    Strategy strategy(configs, predicted, {.kind = kind, .seed = 3});
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
  std::vector<double> predicted;  // so far apart that no group is crowded
  for (std::size_t i = 0; i < configs.size(); ++i) {
    predicted.push_back(std::exp(static_cast<double>(configs.size() - i)));
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

TEST(Strategies, ModelSpreadsWhatItHardlyTellsApart) {
  // 40 tiles of one kind are predicted a little faster than the only two of others.
  auto [configs, predicted] = tiles_of_one_kind();
  configs.emplace_back(TiledConfig{.bn = 64, .scheduler = TileScheduler::kStreamK});
  configs.emplace_back(SwapAbConfig{.bm = 64});
  predicted.insert(predicted.end(), {1.02, 1.03});
  Strategy strategy(configs, predicted, {.random_share = 0});
  const auto first = strategy.next(20);
  EXPECT_EQ(first.front(), 0u);
  EXPECT_THAT(first, testing::IsSupersetOf({40u, 41u}));
  // Five times as slow is slower, however many came before.
  predicted[41] = 5;
  EXPECT_EQ(Strategy(configs, predicted, {.random_share = 0}).next(42).back(), 41u);
}

TEST(Strategies, WhatIsAddedIsProposedAsIfItHadBeenThere) {
  const auto configs = some_configs();
  std::vector<double> right;
  for (const KernelConfig& config : configs) right.push_back(true_time(config));
  const std::size_t half = configs.size() / 2;  // the fastest is in the other half
  for (const StrategyKind kind :
       {StrategyKind::kAdaptive, StrategyKind::kLocal, StrategyKind::kStaged}) {
    SCOPED_TRACE(to_string(kind));
    Strategy strategy(std::span<const KernelConfig>(configs).first(half),
                      std::span<const double>(right).first(half), {.kind = kind});
    const auto first = strategy.next(10);
    for (const std::size_t i : first) strategy.tell(i, right[i]);
    EXPECT_TRUE(
        std::ranges::is_sorted(strategy.fastest(), {}, [&](std::size_t i) { return right[i]; }));
    strategy.add(configs, right);  // the first half is known
    std::set<std::size_t> then;
    for (const std::size_t i : strategy.next(configs.size())) then.insert(i);
    EXPECT_EQ(then.size(), configs.size() - first.size());
    EXPECT_EQ(strategy.config(configs.size() - 1), configs.back());
  }
  Strategy adaptive(std::span<const KernelConfig>(configs).first(half),
                    std::span<const double>(right).first(half), {.kind = StrategyKind::kAdaptive});
  for (const std::size_t i : adaptive.next(10)) adaptive.tell(i, right[i]);
  adaptive.add(configs, right);
  const std::size_t next = adaptive.next(1).front();
  EXPECT_GE(next, half) << "none of the first half is as fast";
}

TEST(Strategies, LessonsFromNearProblemsMendAModelThatIsWrong) {
  const auto configs = some_configs();
  const std::vector<double> predicted(configs.size(), 1.0);
  const auto first_time = [&](double distance) {
    std::vector<Lesson> lessons;
    for (std::size_t i = 0; i < configs.size(); i += 4) {
      lessons.push_back({configs[i], std::log(true_time(configs[i]) / 12), distance});
    }
    Strategy strategy(configs, predicted, {.kind = StrategyKind::kAdaptive, .random_share = 0});
    strategy.hear(std::move(lessons));
    return true_time(configs[strategy.next(1).front()]);
  };
  const auto times = [&](auto best_of) { return true_time(*best_of(configs, {}, true_time)); };
  const double least = times(std::ranges::min_element), most = times(std::ranges::max_element);
  EXPECT_LT(first_time(0), least + 0.2 * (most - least));
  Strategy without(configs, predicted, {.kind = StrategyKind::kAdaptive, .random_share = 0});
  EXPECT_EQ(first_time(60), true_time(configs[without.next(1).front()])) << "another world";
}

TEST(Strategies, AProblemThatIsSearchedAgainWithLessonsIsOfferedOtherKinds) {
  // 40 tiles of one kind, and one of another that is predicted 10 % slower.
  const auto tiles = tiles_of_one_kind();
  const auto& configs = tiles.first;
  const auto& predicted = tiles.second;
  const std::vector<KernelConfig> other = {SwapAbConfig{.bm = 64}};
  const auto has_other_kind_next = [&](std::vector<Lesson> lessons) {
    Strategy strategy(configs, predicted, {.kind = StrategyKind::kAdaptive, .random_share = 0});
    for (const std::size_t i : strategy.next(30)) strategy.tell(i, predicted[i]);
    strategy.add(other, std::vector{1.10});
    strategy.hear(std::move(lessons));
    const auto next = strategy.next(2);
    return std::ranges::find(next, 40u) != next.end();
  };
  EXPECT_FALSE(has_other_kind_next({}));
  EXPECT_TRUE(has_other_kind_next({Lesson{configs[0], 0, 1}}));
}

/// Tiles with PDL, and behind them their twins without, predicted to take twice as long.
std::pair<std::vector<KernelConfig>, std::vector<double>> tiles_and_twins() {
  std::vector<KernelConfig> configs;
  std::vector<double> predicted;
  for (const bool pdl : {true, false}) {
    for (int bn = 8; bn <= 256; bn += 8) {
      configs.emplace_back(TiledConfig{.bn = bn, .stages = 4, .pdl = pdl});
      predicted.push_back((pdl ? 1 : 2) * (1 + 0.002 * bn));
    }
  }
  return {configs, predicted};
}

TEST(Strategies, TheFirstOfEachProposalMeetTheirTwinsWithoutPdl) {
  const auto [configs, predicted] = tiles_and_twins();
  const std::size_t tiles = configs.size() / 2;
  for (const StrategyKind kind : {StrategyKind::kModel, StrategyKind::kAdaptive}) {
    SCOPED_TRACE(to_string(kind));
    Strategy strategy(configs, predicted, {.kind = kind, .random_share = 0});
    // One for eight others, in each of two proposals.
    EXPECT_THAT(strategy.next(16),
                ElementsAre(0, 1, 2, 3, 4, 5, 6, tiles, 7, 8, 9, 10, 11, 12, 13, tiles + 1));
    EXPECT_THAT(strategy.next(8), ElementsAre(14, 15, 16, 17, 18, 19, 20, tiles + 14));
  }
  Strategy without(configs, predicted, {.kind = StrategyKind::kLocal});
  EXPECT_THAT(without.next(8), Each(testing::Lt(tiles)));
}

TEST(Strategies, TwinsTeachWhatTheModelErrsByWithoutPdl) {
  const auto tiles = tiles_and_twins();
  const auto& configs = tiles.first;
  const auto& predicted = tiles.second;
  // 15 % faster than they are with it, and the model's order of tiles is wrong, too.
  const auto time = [&](std::size_t i) {
    const TiledConfig& c = tiled(configs[i]);
    return (c.pdl ? 1 : 0.85) * (10 + std::abs(std::log2(c.bn / 64.0)));
  };
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kAdaptive, .random_share = 0});
  for (const std::size_t i : strategy.next(16)) strategy.tell(i, time(i));
  const auto second = strategy.next(10);
  const auto without =
      std::ranges::count_if(second, [&](std::size_t i) { return !tiled(configs[i]).pdl; });
  EXPECT_GE(without, 8);
}

TEST(Strategies, LessonsWithoutPdlAreNotTakenForLessonsAboutTheirTiles) {
  const auto tiles = tiles_and_twins();
  const auto& configs = tiles.first;
  const auto& predicted = tiles.second;
  // Here and elsewhere the model errs about what is without PDL, and about no tile. Elsewhere the
  // widest tiles ran without PDL only.
  const double error = 0.7;
  std::vector<Lesson> lessons;
  for (std::size_t i = configs.size() - 8; i < configs.size(); ++i) {
    lessons.push_back({configs[i], std::log(error), 0});
  }
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kAdaptive, .random_share = 0});
  for (const std::size_t i : strategy.next(16)) {
    strategy.tell(i, predicted[i] * (tiled(configs[i]).pdl ? 1 : error));
  }
  strategy.hear(std::move(lessons));
  EXPECT_THAT(strategy.next(7), ElementsAre(14, 15, 16, 17, 18, 19, 20));
}

TEST(Strategies, WhatIsTakenBackIsProposedAgain) {
  const auto configs = some_configs();
  const std::vector<double> predicted(configs.size(), 1.0);
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kExhaustive});
  const auto first = strategy.next(3);
  strategy.take_back(first[1]);
  EXPECT_EQ(strategy.next(1).front(), first[1]);
}

TEST(Strategies, ALargerBudgetGoesOnWhereASmallerOneEnded) {
  const auto configs = some_configs();
  std::vector<double> predicted;
  for (const KernelConfig& config : configs) predicted.push_back(true_time(config));
  for (const StrategyKind kind : {StrategyKind::kModel, StrategyKind::kRandom}) {
    const auto chosen = [&](std::size_t budget) {
      return Strategy(configs, predicted, {.kind = kind}).next(budget);
    };
    auto more = chosen(90);
    more.resize(25);
    EXPECT_EQ(more, chosen(25)) << to_string(kind);
  }
}

// One that is far off is mended by more stages, or by chance, but hardly by two.
TEST(Strategies, LearningMendsAModelThatIsSomewhatWrong) {
  const auto configs = some_configs();
  std::vector<double> wrong;  // it likes narrow tiles, and knows nothing of stages
  for (const KernelConfig& config : configs) {
    wrong.push_back(10 + std::abs(std::log2(tiled(config).bn / 96.0)));
  }
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const double by_model = found(StrategyKind::kModel, wrong, 100, seed);
    EXPECT_LT(found(StrategyKind::kAdaptive, wrong, 100, seed), by_model) << seed;
    EXPECT_LT(found(StrategyKind::kLocal, wrong, 100, seed), by_model) << seed;
  }
}

TEST(Strategies, WhatIsChosenLastIsNotChosenBlindly) {
  const auto configs = some_configs();
  std::vector<double> right;
  for (const KernelConfig& config : configs) right.push_back(true_time(config));
  Strategy strategy(configs, right, {.kind = StrategyKind::kAdaptive});
  const auto first = strategy.next(40);
  double slowest = 0;
  for (const std::size_t i : first) {
    strategy.tell(i, right[i]);
    slowest = std::max(slowest, right[i]);
  }
  const auto then = strategy.next(40);
  const double slowest_then =
      right[*std::ranges::max_element(then, {}, [&](std::size_t i) { return right[i]; })];
  EXPECT_LT(slowest_then, slowest) << "one of the first was a blind one";
}

TEST(Strategies, AModelThatIsWrongByOneFactorIsRight) {
  // All take ten times as long as it says: that says nothing of one config more than of another.
  const auto configs = some_configs();
  std::vector<double> predicted;
  for (const KernelConfig& config : configs) predicted.push_back(true_time(config));
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kAdaptive});
  for (const std::size_t i : strategy.next(40)) strategy.tell(i, 10 * predicted[i]);
  // In the model's order, as far as that tells configs apart.
  const auto then = strategy.next(configs.size());
  for (std::size_t i = 1; i < then.size(); ++i) {
    EXPECT_LE(predicted[then[i - 1]], 1.1 * predicted[then[i]]);
  }
}

TEST(Strategies, ModelWithNothingAtRandomIsTheModelsOrder) {
  const auto configs = some_configs();
  std::vector<double> predicted;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    predicted.push_back(std::exp(static_cast<double>(i)));
  }
  Strategy strategy(configs, predicted, {.random_share = 0});
  const auto all = strategy.next(configs.size());
  EXPECT_TRUE(std::ranges::is_sorted(all));
}

/// Three tiles, each in four tile orders, with a hint, and with extents that are constants.
std::vector<KernelConfig> three_tiles() {
  std::vector<KernelConfig> configs;
  for (const int bn : {128, 192, 256}) {
    const TiledConfig tile{.bm = 128, .bn = bn};
    for (const TileOrder order : {TileOrder::kLinear, TileOrder::kHilbert}) {
      TiledConfig other = tile;
      other.order = order;
      configs.emplace_back(other);
    }
    for (const int group : {4, 8}) {
      TiledConfig other = tile;
      other.order = TileOrder::kGroupedRows;
      other.group = group;
      configs.emplace_back(other);
    }
    TiledConfig hinted = tile;
    hinted.b_hint = CacheHint::kEvictLast;
    configs.emplace_back(hinted);
    TiledConfig fixed = tile;
    fixed.fixed = true;
    configs.emplace_back(fixed);
  }
  return configs;
}

TEST(Strategies, KinDifferInOrderHintsAndConstantsOnly) {
  const auto configs = three_tiles();
  std::set<int> widths;
  for (const KernelConfig& a : configs) {
    widths.insert(tiled(without_minor_axes(a)).bn);
    for (const KernelConfig& b : configs) {
      EXPECT_EQ(without_minor_axes(a) == without_minor_axes(b), tiled(a).bn == tiled(b).bn);
    }
  }
  EXPECT_EQ(widths.size(), 3u);
  const KernelConfig plain = TiledConfig{.bn = 128};
  for (const TiledConfig& other :
       {TiledConfig{.bn = 128, .promotion = 128}, TiledConfig{.bn = 128, .pdl = true}}) {
    EXPECT_NE(without_minor_axes(other), without_minor_axes(plain));
  }
}

TEST(Strategies, KinOfTheOtherFamiliesDifferSoToo) {
  const SwapAbConfig swapped{
      .bm = 24, .a_hint = CacheHint::kEvictFirst, .d_hint = CacheHint::kEvictLast, .fixed = true};
  EXPECT_EQ(without_minor_axes(swapped), KernelConfig(SwapAbConfig{.bm = 24}));
  const GemvConfig vectors{.vectors = 4, .pdl = true, .fixed = true};
  EXPECT_EQ(without_minor_axes(vectors), KernelConfig(GemvConfig{.vectors = 4, .pdl = true}));
}

TEST(Strategies, StagedMeasuresOneOfEachKinThenAllOfTheFastest) {
  const auto configs = three_tiles();
  std::vector<double> predicted;  // likes wide tiles
  for (const KernelConfig& config : configs) predicted.push_back(1.0 / tiled(config).bn);
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kStaged});
  const auto first = strategy.next(3);
  std::vector<int> widths;
  for (const std::size_t i : first) widths.push_back(tiled(configs[i]).bn);
  EXPECT_THAT(widths, ElementsAre(256, 192, 128)) << "in the model's order";

  const auto of = [&](int bn) { return first[bn == 256 ? 0 : bn == 192 ? 1 : 2]; };
  strategy.tell(of(128), 2);
  strategy.tell(of(192), 1);
  strategy.tell(of(256), std::nullopt);  // who failed is not among the fast
  std::vector<int> then;
  for (const std::size_t i : strategy.next(100)) {
    EXPECT_THAT(first, Not(testing::Contains(i)));
    then.push_back(tiled(configs[i]).bn);
  }
  EXPECT_THAT(
      then, ElementsAre(192, 192, 192, 192, 192, 128, 128, 128, 128, 128, 256, 256, 256, 256, 256));
}

TEST(Strategies, StagedTakesATenthOfTheFirstKinAtRandom) {
  const auto configs = some_configs();  // no two are kin
  std::vector<double> predicted;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    predicted.push_back(static_cast<double>(i + 1));
  }
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kStaged});
  const auto chosen = strategy.next(20);
  std::size_t favourites = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i % 10 == 9) continue;
    EXPECT_EQ(chosen[i], favourites++);
  }
  EXPECT_GT(chosen[9], 20u);
  strategy.tell(chosen[0], 1);
  EXPECT_TRUE(std::ranges::is_sorted(strategy.next(20))) << "and none once it was told";
}

TEST(Strategies, AFirstStageThatFailedTeachesNothing) {
  const auto configs = some_configs();
  std::vector<double> predicted;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    predicted.push_back(std::exp(static_cast<double>(i)));
  }
  for (const StrategyKind kind : {StrategyKind::kAdaptive, StrategyKind::kLocal}) {
    Strategy strategy(configs, predicted, {.kind = kind});
    for (const std::size_t i : strategy.next(4)) strategy.tell(i, std::nullopt);
    EXPECT_THAT(strategy.next(3), ElementsAre(4, 5, 6)) << to_string(kind);
  }
}

TEST(Strategies, TheFirstStageIsAPartOfTheBudgetForThoseThatLearn) {
  for (const StrategyKind kind : kAll) {
    SCOPED_TRACE(to_string(kind));
    for (const std::size_t budget : {1u, 2u, 3u, 10u, 104u}) {
      const std::size_t first = first_stage(kind, budget);
      EXPECT_GE(first, 1u);
      EXPECT_LE(first, budget);
      EXPECT_TRUE(learns(kind) || first == budget);
    }
    EXPECT_EQ(first_stage(kind, 104) < 104, learns(kind));
  }
  EXPECT_EQ(first_stage(StrategyKind::kLocal, 20), 3u) << "15 %";
  EXPECT_EQ(first_stage(StrategyKind::kLocal, 10), 3u) << "fewer teach nothing";
}

TEST(Strategies, LocalGoesToWhatIsNearestToTheBest) {
  const auto configs = some_configs();
  const std::vector<double> predicted(configs.size(), 1.0);
  Strategy strategy(configs, predicted, {.kind = StrategyKind::kLocal});
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
  const KernelConfig a = TiledConfig{.bm = 128, .bn = 128};
  const KernelConfig near = TiledConfig{.bm = 128, .bn = 136};
  const KernelConfig far = TiledConfig{.bm = 64, .bn = 256, .schedule = Schedule::kColumns};
  EXPECT_EQ(config_distance(a, a), 0);
  EXPECT_GT(config_distance(a, near), 0);
  EXPECT_LT(config_distance(a, near), config_distance(a, far));
  EXPECT_DOUBLE_EQ(config_distance(a, far), config_distance(far, a));
}

TEST(Strategies, DistanceToAnotherFamilyIsAtLeastOneAndGrowsWithTheTile) {
  const KernelConfig tile = TiledConfig{.bm = 64, .bn = 64, .bk = 128, .consumers = 1};
  const KernelConfig near = SwapAbConfig{.bm = 64, .bn = 64};
  const KernelConfig far = SwapAbConfig{.bm = 8, .bn = 64, .pdl = true};
  const KernelConfig vectors = GemvConfig{};
  EXPECT_GE(config_distance(tile, near), 1);
  EXPECT_LT(config_distance(tile, near), config_distance(tile, far));
  EXPECT_GE(config_distance(near, vectors), 1);
  for (const KernelConfig& other : {near, far, vectors}) {
    EXPECT_EQ(config_distance(other, other), 0);
    EXPECT_DOUBLE_EQ(config_distance(tile, other), config_distance(other, tile));
  }
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
