// Every tile order computes every tile of every grid exactly once.
#include "kernels/schedule.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <vector>

namespace hgemm {
namespace {

struct Order {
  TileOrder order;
  int group;
};
const Order kOrders[] = {{TileOrder::kLinear, 0},   {TileOrder::kGrouped, 1},
                         {TileOrder::kGrouped, 3},  {TileOrder::kGrouped, 8},
                         {TileOrder::kGrouped, 64}, {TileOrder::kHilbert, 0}};

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

TEST(Schedule, EveryOrderVisitsEveryTileOnce) {
  for (const TileGrid grid : grids()) {
    for (const Order order : kOrders) {
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

TEST(Schedule, HilbertStaysClose) {
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

TEST(Schedule, GroupedGoesDownTheRowsOfABandFirst) {
  const TileGrid grid{5, 3};
  const int expected_m[] = {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 4, 4, 4};
  const int expected_n[] = {0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 1, 2};
  for (int i = 0; i < grid.tiles(); ++i) {
    const TileCoord tile = grouped_tile(i, grid, 2);
    EXPECT_EQ(tile.m, expected_m[i]);
    EXPECT_EQ(tile.n, expected_n[i]);
  }
}

}  // namespace
}  // namespace hgemm
