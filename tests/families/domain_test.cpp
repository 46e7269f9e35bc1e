// The whole space: the domain of every axis, and what follows from them.
#include "families/domain.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "families/groups.h"
#include "families/visit.h"
#include "gemm/codec.h"
#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(Domains, AreWordsAndRanges) {
  EXPECT_THAT(domain_words("8:24:8, all"), ElementsAre("8", "16", "24", "all"));
  EXPECT_THAT(domain_words("3:8:2"), ElementsAre("3", "5", "7"));
  EXPECT_THAT(domain_words("tma"), ElementsAre("tma"));
  EXPECT_THAT(domain_words(""), IsEmpty());
  for (const char* bad : {"8:24", "8:24:0", "24:8:8", "a:b:c", "1,,2", "1:2:3:4"}) {
    EXPECT_THROW(domain_words(bad), std::logic_error) << bad;
  }
}

/// Calls `visit` with each axis of each family.
template <class Visit>
void for_each_axis(const Visit& visit) {
  for_each_family([&]<class Config>(const Config&) {
    for (const Axis<Config>& axis : Family<Config>::axes()) visit(axis);
  });
}

TEST(Domains, EveryAxisOfSpacesHasValuesThatItReadsAndPrintsAlike) {
  for_each_axis([]<class Config>(const Axis<Config>& axis) {
    SCOPED_TRACE(std::string(Family<Config>::kName) + " " + std::string(axis.text.name));
    const std::vector<std::string> words = domain_words(axis.text.domain);
    EXPECT_EQ(words.empty(), !axis.text.in_spaces);
    std::set<std::string> distinct;
    for (const std::string& word : words) {
      EXPECT_TRUE(distinct.insert(word).second) << word << " twice";
      Config config;
      ASSERT_TRUE(axis.parse(config, word)) << word;
      EXPECT_EQ(axis.print(config), word);
    }
    EXPECT_EQ(domain_values(axis).size(), std::max<std::size_t>(1, words.size()));
  });
}

TEST(Domains, HaveTheDefault) {
  for_each_axis([]<class Config>(const Axis<Config>& axis) {
    // "max" stands for a number; the sizes of a tile have no default in spaces.
    if (axis.text.otherwise.empty() || axis.text.otherwise == "max") return;
    if (!axis.text.in_spaces) return;
    EXPECT_THAT(domain_words(axis.text.domain), Contains(std::string(axis.text.otherwise)))
        << axis.text.name;
  });
}

TEST(Groups, ACoreDiffersInNoDetailAKindInNoNumberAndAMannerOnlyInHowWorkIsCut) {
  const TiledConfig a{.bm = 128, .bn = 128, .scheduler = TileScheduler::kSplitK, .splits = 2};
  const auto groups = [](const TiledConfig& config) { return groups_of(KernelConfig(config)); };
  TiledConfig other = a;
  other.stages = 6;
  other.pdl = true;
  other.order = TileOrder::kHilbert;
  EXPECT_EQ(groups(a).core, groups(other).core);
  other.bn = 136;
  EXPECT_NE(groups(a).core, groups(other).core);
  EXPECT_EQ(groups(a).kind, groups(other).kind);
  other.splits = 4;
  EXPECT_EQ(groups(a).kind, groups(other).kind);
  other.cluster_m = 2;
  EXPECT_NE(groups(a).kind, groups(other).kind);
  EXPECT_EQ(groups(a).manner, groups(other).manner);
  other.scheduler = TileScheduler::kClusterSplitK;
  EXPECT_NE(groups(a).manner, groups(other).manner);
  EXPECT_NE(groups_of(KernelConfig(SwapAbConfig{})).manner, groups(a).manner);
}

/// The tiles of the output in the config's order.
std::vector<std::pair<int, int>> tiles_of(const TiledConfig& config, const GemmProblem& problem) {
  const TileGrid grid = tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), config);
  std::vector<std::pair<int, int>> tiles;
  for (int i = 0; i < grid.tiles(); ++i) {
    const TileCoord at = tile_at(config.order, config.group, i, grid);
    tiles.emplace_back(at.m, at.n);
  }
  return tiles;
}

TEST(Simplest, VisitsTheSameTilesInTheSameOrder) {
  std::mt19937_64 random(3);
  int simplified = 0;
  for (int i = 0; i < 5000; ++i) {
    TiledConfig config{.bm = 64, .bn = 64};
    config.order = static_cast<TileOrder>(random() % 6);
    config.group = has_bands(config.order) ? 1 + static_cast<int>(random() % 9) : 0;
    config.cluster_m = 1 + static_cast<int>(random() % 2);
    const GemmProblem problem{.m = 64 * (1 + static_cast<std::int64_t>(random() % 8)),
                              .n = 64 * (1 + static_cast<std::int64_t>(random() % 8)),
                              .k = 64,
                              .tag = ""};
    const TiledConfig simple = Family<TiledConfig>::simplest(config, problem);
    if (simple == config) continue;
    ++simplified;
    EXPECT_EQ(tiles_of(simple, problem), tiles_of(config, problem))
        << label(config) << " at " << to_string(problem);
    EXPECT_EQ(Family<TiledConfig>::simplest(simple, problem), simple);
  }
  EXPECT_GT(simplified, 500);
}

}  // namespace
}  // namespace hgemm
