// Every tile order computes every tile of every grid exactly once, and every scheduler every part
// of it.
#include "kernels/tiled/tile_scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

namespace hgemm {
namespace {

struct Order {
  TileOrder order;
  int group;
};
std::vector<Order> orders() {
  std::vector<Order> orders = {{TileOrder::kLinear, 0}, {TileOrder::kHilbert, 0}};
  for (const TileOrder order : {TileOrder::kGroupedRows, TileOrder::kGroupedColumns,
                                TileOrder::kSnakeRows, TileOrder::kSnakeColumns}) {
    for (const int group : {1, 2, 3, 8, 64}) orders.push_back({order, group});
  }
  return orders;
}

std::vector<TileGrid> grids() {
  std::vector<TileGrid> grids;
  for (int m = 1; m <= 24; ++m) {
    for (int n = 1; n <= 24; ++n) grids.push_back({m, n});
  }
  std::mt19937 random(1);
  std::uniform_int_distribution<int> side(1, 300);
  for (int i = 0; i < 1500; ++i) grids.push_back({side(random), side(random) % 90 + 1});
  grids.push_back({1, 5000});
  grids.push_back({5000, 1});
  grids.push_back({2, 4999});
  grids.push_back({256, 256});
  return grids;
}

TEST(TileScheduler, EveryOrderVisitsEveryTileOnce) {
  const std::vector<Order> all = orders();
  for (const TileGrid grid : grids()) {
    for (const Order order : all) {
      std::vector<bool> visited(static_cast<std::size_t>(grid.tiles()));
      for (int i = 0; i < grid.tiles(); ++i) {
        const TileCoord tile = tile_at(order.order, order.group, i, grid);
        ASSERT_TRUE(tile.m >= 0 && tile.m < grid.m && tile.n >= 0 && tile.n < grid.n)
            << grid.m << " x " << grid.n << " at " << i;
        const auto at = static_cast<std::size_t>(tile.m * grid.n + tile.n);
        ASSERT_FALSE(visited[at]) << grid.m << " x " << grid.n << " twice, at " << i;
        visited[at] = true;
      }
    }
  }
}

TEST(TileScheduler, HilbertStaysClose) {
  int steps = 0;
  int jumps = 0;
  for (const TileGrid grid : grids()) {
    TileCoord previous = hilbert_tile(0, grid);
    for (int i = 1; i < grid.tiles(); ++i, ++steps) {
      const TileCoord tile = hilbert_tile(i, grid);
      const int distance = std::max(std::abs(tile.m - previous.m), std::abs(tile.n - previous.n));
      ASSERT_EQ(distance, 1) << grid.m << " x " << grid.n << " at " << i;
      jumps += tile.m != previous.m && tile.n != previous.n;  // a diagonal step, at odd lengths
      previous = tile;
    }
  }
  EXPECT_LT(jumps, steps / 100);
}

void expect_order(TileOrder order, TileGrid grid, const std::vector<int>& m,
                  const std::vector<int>& n) {
  for (int i = 0; i < grid.tiles(); ++i) {
    const TileCoord tile = tile_at(order, 2, i, grid);
    EXPECT_EQ(tile.m, m[static_cast<std::size_t>(i)]) << i;
    EXPECT_EQ(tile.n, n[static_cast<std::size_t>(i)]) << i;
  }
}

TEST(TileScheduler, BandsOfRowsAreSweptAlongN) {
  const std::vector<int> m = {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4, 4, 4};
  expect_order(TileOrder::kGroupedRows, {5, 3}, m, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 1, 2});
  expect_order(TileOrder::kSnakeRows, {5, 3}, m, {0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0, 0, 1, 2});
}

TEST(TileScheduler, BandsOfColumnsAreSweptAlongM) {
  const std::vector<int> n = {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4, 4, 4};
  expect_order(TileOrder::kGroupedColumns, {3, 5}, {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 1, 2},
               n);
  expect_order(TileOrder::kSnakeColumns, {3, 5}, {0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0, 0, 1, 2}, n);
}

/// Coordinates along the sweep of a snake's bands, and across it.
int swept(TileOrder order, TileCoord tile) {
  return order == TileOrder::kSnakeRows ? tile.n : tile.m;
}
int across(TileOrder order, TileCoord tile) {
  return order == TileOrder::kSnakeRows ? tile.m : tile.n;
}

// A snake moves by at most one step along the sweep, also where a band ends: there it goes on with
// the same columns (rows), in the next band.
TEST(TileScheduler, SnakesTurnWhereABandEnds) {
  for (const TileGrid grid : grids()) {
    for (const TileOrder order : {TileOrder::kSnakeRows, TileOrder::kSnakeColumns}) {
      const int group = 3;
      TileCoord previous = tile_at(order, group, 0, grid);
      for (int i = 1; i < grid.tiles(); ++i) {
        const TileCoord tile = tile_at(order, group, i, grid);
        const int step = std::abs(swept(order, tile) - swept(order, previous));
        const bool turns = across(order, tile) / group != across(order, previous) / group;
        ASSERT_LE(step, turns ? 0 : 1) << grid.m << " x " << grid.n << " at " << i;
        ASSERT_LE(std::abs(across(order, tile) - across(order, previous)), group);
        previous = tile;
      }
    }
  }
}

/// All pieces of work of a launch, checked against one another.
void expect_all_work_done_once(const TiledConfig& config, int clusters, int tiles, int k_blocks) {
  SCOPED_TRACE(::testing::Message()
               << "scheduler " << static_cast<int>(config.scheduler) << ", splits " << config.splits
               << ", " << clusters << " clusters, " << tiles << " tiles of " << k_blocks
               << " k blocks");
  struct Part {
    int tile, first;
  };
  const auto blocks = static_cast<std::size_t>(k_blocks);
  std::vector<int> done(static_cast<std::size_t>(tiles) * blocks);
  std::map<int, Part> left;  // by slot
  std::vector<Work> adders;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    const WorkList list(config, cluster, clusters, tiles, k_blocks);
    for (int index = 0; index < list.count; ++index) {
      const Work work = list.at(index);
      ASSERT_TRUE(work.tile >= 0 && work.tile < tiles);
      ASSERT_TRUE(0 <= work.first && work.first < work.end && work.end <= k_blocks);
      for (int k = work.first; k < work.end; ++k) {
        ++done[static_cast<std::size_t>(work.tile) * blocks + static_cast<std::size_t>(k)];
      }
      if (work.parts < 0) {
        ASSERT_LT(work.end, k_blocks) << "who has the last block stores";
        ASSERT_TRUE(work.slot >= 0 && work.slot < partial_slots(config, clusters, tiles, k_blocks));
        ASSERT_TRUE(left.emplace(work.slot, Part{work.tile, work.first}).second);
      } else {
        ASSERT_EQ(work.end, k_blocks);
        ASSERT_EQ(work.parts > 0, work.first > 0);
        adders.push_back(work);
      }
    }
  }
  ASSERT_TRUE(std::ranges::all_of(done, [](int times) { return times == 1; }));
  std::size_t added = 0;
  for (const Work& work : adders) {
    int after = -1;
    for (int slot = work.slot; slot < work.slot + work.parts; ++slot, ++added) {
      ASSERT_TRUE(left.contains(slot));
      ASSERT_EQ(left[slot].tile, work.tile);
      ASSERT_GT(left[slot].first, after) << "added in the order of K";
      after = left[slot].first;
    }
  }
  ASSERT_EQ(added, left.size());
}

TEST(TileScheduler, EverySchedulerComputesEveryBlockOfKOnce) {
  std::mt19937 random(1);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  for (int i = 0; i < 6000; ++i) {
    const int tiles = up_to(i % 2 == 0 ? 40 : 700);
    const int k_blocks = up_to(i % 3 == 0 ? 20 : 300);
    const int resident = up_to(140);
    expect_all_work_done_once({}, std::min(resident, tiles), tiles, k_blocks);
    expect_all_work_done_once({.scheduler = TileScheduler::kSingle}, tiles, tiles, k_blocks);
    expect_all_work_done_once({.scheduler = TileScheduler::kStreamK}, resident, tiles, k_blocks);
    if (HasFatalFailure()) return;
  }
}

/// All pieces of work of a launch whose tiles are cut into equal parts: every block of K once,
/// every part in a slot of its own in the order of K, and no cluster waits for ever.
void expect_parts_of_all_tiles(const TiledConfig& config, int clusters, int tiles, int k_blocks) {
  SCOPED_TRACE(::testing::Message()
               << "splits " << config.splits << ", " << clusters << " clusters, " << tiles
               << " tiles of " << k_blocks << " k blocks");
  const int parts = split_parts(config, k_blocks, clusters);
  ASSERT_EQ(partial_slots(config, clusters, tiles, k_blocks), 1LL * tiles * parts);
  std::map<int, Work> slots;
  std::vector<WorkList> lists;
  for (int cluster = 0; cluster < clusters; ++cluster) {
    lists.emplace_back(config, cluster, clusters, tiles, k_blocks);
    for (int index = 0; index < lists.back().count; ++index) {
      const Work work = lists.back().at(index);
      ASSERT_EQ(work.parts, parts);
      ASSERT_TRUE(slots.emplace(work.slot, work).second);
    }
  }
  ASSERT_EQ(slots.size(), static_cast<std::size_t>(tiles) * static_cast<std::size_t>(parts));
  int end = 0;
  for (const auto& [slot, work] : slots) {
    ASSERT_EQ(work.tile, slot / parts);
    ASSERT_EQ(work.first, slot % parts == 0 ? 0 : end);
    ASSERT_LT(work.first, work.end);
    ASSERT_LE(work.end - work.first, k_blocks / parts + 1) << "even";
    end = work.end;
    if (slot % parts == parts - 1) {
      ASSERT_EQ(end, k_blocks);
    }
  }
  // A cluster leaves its part, then waits until all parts of the tile were left.
  std::vector<int> left(static_cast<std::size_t>(tiles));
  std::vector<int> at(static_cast<std::size_t>(clusters), 0);
  std::vector<bool> waits(static_cast<std::size_t>(clusters), false);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (at[i] == lists[i].count) continue;
      const auto tile = static_cast<std::size_t>(lists[i].at(at[i]).tile);
      if (!waits[i]) {
        ++left[tile];
        waits[i] = true;
        moved = true;
      }
      if (left[tile] == parts) {
        ++at[i];
        waits[i] = false;
        moved = true;
      }
    }
  }
  for (std::size_t i = 0; i < lists.size(); ++i) ASSERT_EQ(at[i], lists[i].count) << "waits";
}

TEST(TileScheduler, EqualPartsAreAllOfKAndNeverWaitForEver) {
  std::mt19937 random(2);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  for (int i = 0; i < 3000; ++i) {
    const int tiles = up_to(i % 2 == 0 ? 8 : 90);
    const int k_blocks = up_to(i % 3 == 0 ? 20 : 300);
    const TiledConfig split{.scheduler = TileScheduler::kSplitK,
                            .splits = 1 + up_to(kMaxSplits - 1),
                            .gpc = i % 4 >= 2};
    const int resident = up_to(140);
    const int pieces = tiles * split_parts(split, k_blocks, resident);
    expect_parts_of_all_tiles(split, std::min(resident, pieces), tiles, k_blocks);
    if (HasFatalFailure()) return;
  }
}

// So that the clusters of a GPC, which have neighbouring numbers, read the same k blocks.
TEST(TileScheduler, NumberedClustersHaveTheSamePartOfAllTilesFirst) {
  const TiledConfig numbered{.scheduler = TileScheduler::kSplitK, .splits = 4, .gpc = true};
  for (int cluster = 0; cluster < 128; ++cluster) {
    const Work work = WorkList(numbered, cluster, 128, 32, 64).at(0);
    EXPECT_EQ(work.tile, cluster % 32);
    EXPECT_EQ(work.first, cluster / 32 * 16);
    EXPECT_EQ(work.slot, work.tile * 4 + cluster / 32) << "sums are added in the order of K";
  }
  // With more pieces than clusters, they could wait for each other so.
  EXPECT_EQ(WorkList(numbered, 1, 127, 32, 64).at(0).tile, 0);
}

TEST(TileScheduler, PartsOfAClustersTileAreAllOfK) {
  for (int parts = 1; parts <= kMaxClusterSplits; ++parts) {
    const TiledConfig config{.scheduler = TileScheduler::kClusterSplitK, .splits = parts};
    for (const int k_blocks : {1, 2, 3, 7, 8, 64, 1000, 1 << 25}) {
      int end = 0;
      for (int part = 0; part < parts; ++part) {
        const WorkList list(config, 3, 5, 5, k_blocks, part);
        ASSERT_EQ(list.count, 1);
        const Work work = list.at(0);
        EXPECT_EQ(work.tile, 3);
        EXPECT_EQ(work.parts, 0) << "nothing is left in the workspace, nor added from there";
        EXPECT_EQ(work.first, end);
        EXPECT_LE(work.end - work.first, k_blocks / parts + 1) << "even";
        end = work.end;
      }
      EXPECT_EQ(end, k_blocks);
    }
  }
}

TEST(TileScheduler, GridsThatOverlapAreWholeLayersOfCtas) {
  const TiledConfig two{.ctas_per_sm = 2, .pdl = true};
  EXPECT_EQ(grid_clusters(two, 128, 264), 132);
  EXPECT_EQ(grid_clusters(two, 132, 264), 132);
  EXPECT_EQ(grid_clusters(two, 133, 264), 264);
  EXPECT_EQ(grid_clusters(two, 1'000'000'000'000, 264), 264);
  // Without overlap, one CTA on an SM or shares cut along K: one cluster per piece of work.
  EXPECT_EQ(grid_clusters({.ctas_per_sm = 2}, 128, 264), 128);
  EXPECT_EQ(grid_clusters({.pdl = true}, 128, 132), 128);
  EXPECT_EQ(grid_clusters({.scheduler = TileScheduler::kStreamK, .ctas_per_sm = 2, .pdl = true},
                          128, 264),
            128);
}

TEST(TileScheduler, NoGridExceedsWhatIsResident) {
  for (int resident = 1; resident <= 265; ++resident) {
    for (const int pieces : {1, 2, 65, 131, 132, 133, 263, 264, 265, 100'000}) {
      const int clusters = grid_clusters({.ctas_per_sm = 2, .pdl = true}, pieces, resident);
      ASSERT_GE(clusters, std::min(pieces, resident));
      ASSERT_LE(clusters, resident);
    }
  }
}

TEST(TileScheduler, CtasWithoutWorkComputeNothing) {
  for (const int tiles : {1, 5, 128}) expect_all_work_done_once({}, 132, tiles, 8);
}

// 2^25 blocks of K, and two CTAs on each SM.
TEST(TileScheduler, StreamedSharesOfTheLongestKAreExact) {
  constexpr std::int64_t kBlocks = (1 << 30) / 32;
  for (int cluster = 0; cluster <= 264; ++cluster) {
    const StreamCut cut = stream_cut(cluster, 264, 265, static_cast<int>(kBlocks));
    ASSERT_EQ(cut.tile * kBlocks + cut.k, cluster * 265 * kBlocks / 264) << cluster;
  }
}

TEST(TileScheduler, StreamedSharesAreEven) {
  for (const int tiles : {1, 5, 128, 131, 133, 264, 300}) {
    int least = INT_MAX;
    int most = 0;
    for (int cluster = 0; cluster < 132; ++cluster) {
      const WorkList list({.scheduler = TileScheduler::kStreamK}, cluster, 132, tiles, 256);
      int blocks = 0;
      for (int i = 0; i < list.count; ++i) blocks += list.at(i).end - list.at(i).first;
      least = std::min(least, blocks);
      most = std::max(most, blocks);
    }
    if (tiles == 1) {  // shares below kMinStreamBlocks are not worth it
      EXPECT_EQ(least, 0);
    } else {
      EXPECT_LE(most - least, 1) << tiles << " tiles";
    }
  }
}

}  // namespace
}  // namespace hgemm
