// Searches in the whole space, on times that are made up from the model's.
#include "search/search.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <variant>

#include "gemm/codec.h"

namespace hgemm {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const Scope kScope{.problem = parse_problem("129x4096x4096")};

std::set<std::string> labels_of(const std::vector<KernelConfig>& configs) {
  std::set<std::string> labels;
  for (const KernelConfig& config : configs) labels.insert(label(config));
  return labels;
}

/// A speed by which everything takes its predicted time, but swapped tiles take half of it.
std::optional<double> speed_of(const KernelConfig& config) {
  const double us = predict_cost(kScope.figures, config, kScope.problem).us();
  const auto* tiled = std::get_if<TiledConfig>(&config);
  return 1 / (tiled && tiled->swap ? us / 2 : us);
}

Search search(StrategyKind strategy, std::optional<std::size_t> budget) {
  return {candidates_in_whole_space(kScope, strategy, budget.value_or(0)),
          {.strategy = strategy, .budget = budget}};
}

TEST(Search, LearnsInItsSecondStageAndKeepsToItsBudget) {
  Search adaptive = search(StrategyKind::kAdaptive, 50);
  const auto first = adaptive.first();
  EXPECT_EQ(first.size() + adaptive.left(), 50u);
  const auto second = adaptive.second(speed_of);
  EXPECT_THAT(second, SizeIs(adaptive.left()));
  auto all = labels_of(first);
  for (const std::string& label : labels_of(second)) {
    EXPECT_TRUE(all.insert(label).second) << label << " twice";
  }
  const auto swapped = [](const std::vector<KernelConfig>& configs) {
    return static_cast<double>(std::ranges::count_if(configs,
                                                     [](const KernelConfig& config) {
                                                       const auto* tiled =
                                                           std::get_if<TiledConfig>(&config);
                                                       return tiled && tiled->swap;
                                                     })) /
           static_cast<double>(configs.size());
  };
  EXPECT_GT(swapped(second), swapped(first)) << "they are twice as fast as was predicted";
  EXPECT_GT(swapped(second), 0.8);
}

TEST(Search, TheSecondStageTakesNeighboursThatWereNotProposed) {
  const Candidates proposals = candidates_in_whole_space(kScope, StrategyKind::kAdaptive, 0);
  const auto proposed = labels_of(proposals.configs);
  Search adaptive(proposals, {.strategy = StrategyKind::kAdaptive, .budget = 200});
  // The tile that the model likes least of the first is by far the fastest.
  const auto first = adaptive.first();
  const auto predicted_us = [](const KernelConfig& config) {
    return predict_cost(kScope.figures, config, kScope.problem).us();
  };
  const KernelConfig fast = *std::ranges::max_element(first, {}, predicted_us);
  const auto second = adaptive.second(
      [&](const KernelConfig& config) { return std::optional(config == fast ? 10.0 : 1.0); });
  const auto near = labels_of([&] {
    std::vector<KernelConfig> configs;
    for (Proposal& proposal : neighbours(kScope, fast)) configs.push_back(proposal.config);
    return configs;
  }());
  int new_ones = 0;
  for (const std::string& label : labels_of(second)) {
    if (near.contains(label) && !proposed.contains(label)) ++new_ones;
  }
  EXPECT_GT(new_ones, 10) << label(fast);
}

TEST(Search, ProposesTheSameWhenItIsAskedAgain) {
  const auto both = [] {
    Search adaptive = search(StrategyKind::kAdaptive, 40);
    auto all = adaptive.first();
    for (const KernelConfig& config : adaptive.second(speed_of)) all.push_back(config);
    return all;
  };
  EXPECT_EQ(both(), both());
}

TEST(Search, WithoutABudgetItGoesOnFromWhatWasMeasured) {
  Search adaptive = search(StrategyKind::kAdaptive, std::nullopt);
  const auto all = adaptive.first();
  EXPECT_EQ(adaptive.left(), 0u);
  const std::set<std::string> measured =
      labels_of({all.begin(), all.begin() + 30});  // then the time was over
  const auto second = adaptive.second([&](const KernelConfig& config) -> std::optional<double> {
    return measured.contains(label(config)) ? speed_of(config) : std::nullopt;
  });
  EXPECT_GE(second.size(), all.size() - 30);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_FALSE(measured.contains(label(second[i])));

  Search blind = search(StrategyKind::kAdaptive, std::nullopt);
  const auto first = blind.first();
  EXPECT_EQ(blind.second([](const KernelConfig&) { return std::nullopt; }), first);
}

TEST(Search, RandomTakesTheWholeSpaceAtRandom) {
  Search random = search(StrategyKind::kRandom, 30);
  const auto first = random.first();
  EXPECT_THAT(first, SizeIs(30));
  EXPECT_EQ(random.left(), 0u);
  const auto proposals =
      labels_of(candidates_in_whole_space(kScope, StrategyKind::kModel, 0).configs);
  int among = 0;
  for (const std::string& label : labels_of(first)) among += proposals.contains(label) ? 1 : 0;
  EXPECT_LT(among, 5);
}

}  // namespace
}  // namespace hgemm
