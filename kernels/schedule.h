// Which output tile comes when: maps a position in the schedule to tile coordinates.
//
// Pure integer functions for host and device, so that a CPU test can show that every order visits
// every tile of any grid exactly once.
#pragma once

#include "config.h"

namespace hgemm {

struct TileCoord {
  int m, n;
};
/// The output in tiles (of a whole cluster: cluster_m * bm rows by cluster_n * bn columns).
struct TileGrid {
  int m, n;
  HGEMM_HOST_DEVICE int tiles() const { return m * n; }
};

HGEMM_HOST_DEVICE inline int ceil_div(int a, int b) { return (a + b - 1) / b; }

HGEMM_HOST_DEVICE inline TileGrid tile_grid(int m, int n, const KernelConfig& c) {
  return {ceil_div(m, c.bm * c.cluster_m), ceil_div(n, c.bn * c.cluster_n)};
}

/// Down the rows first: a wave of CTAs shares few columns of B and all rows of A.
HGEMM_HOST_DEVICE inline TileCoord linear_tile(int index, TileGrid grid) {
  return {index % grid.m, index / grid.m};
}

/// Bands of `group` rows of the grid, swept along N; within a band, down the rows first. A wave
/// then covers a block of about group x (SMs / group) tiles, and reads fewer distinct bytes the
/// squarer it is.
HGEMM_HOST_DEVICE inline TileCoord grouped_tile(int index, TileGrid grid, int group) {
  const int band_tiles = group * grid.n;
  const int band = index / band_tiles;
  const int within = index - band * band_tiles;
  const int rows_left = grid.m - band * group;
  const int rows = rows_left < group ? rows_left : group;
  return {band * group + within % rows, within / rows};
}

HGEMM_HOST_DEVICE inline int magnitude(int a) { return a < 0 ? -a : a; }
HGEMM_HOST_DEVICE inline int direction(int a) { return a < 0 ? -1 : 1; }
/// Half of a side, rounded away from zero to an even length: even parts join without a diagonal
/// step.
HGEMM_HOST_DEVICE inline int even_half(int a) {
  const int half = a / 2;
  return half % 2 != 0 && magnitude(a) > 2 ? half + direction(a) : half;
}

/// A Hilbert curve over any rectangle: every run of consecutive tiles is compact, at every scale,
/// so one order suits every wave size. The recursion is that of the generalised curve by J. Cerveny
/// ("gilbert"): a block travelled along side a, with side b across, is cut in two when it is long,
/// else into a part up along b, a part along a, and a part down again. Here it is walked down to
/// one tile by index: no table, and few registers, since the producer warp has only 32 a thread.
HGEMM_HOST_DEVICE inline TileCoord hilbert_tile(int index, TileGrid grid) {
  TileCoord at = {0, 0};
  bool a_along_n = grid.n >= grid.m;  // b is along the other axis
  int a = a_along_n ? grid.n : grid.m;
  int b = a_along_n ? grid.m : grid.n;
  while (magnitude(a) > 1 && magnitude(b) > 1) {
    int move_a = 0;
    int move_b = 0;
    bool turn = false;
    if (2 * magnitude(a) > 3 * magnitude(b)) {
      const int half = even_half(a);
      const int first = magnitude(half * b);
      if (index < first) {
        a = half;
      } else {
        index -= first;
        move_a = half;
        a -= half;
      }
    } else {
      const int b_half = even_half(b);
      const int up = magnitude(a / 2 * b_half);
      const int along = magnitude(a * (b - b_half));
      turn = index < up || index >= up + along;
      if (index >= up) {
        index -= up;
        move_b = b_half;
        if (!turn) b -= b_half;
      }
      if (turn) {  // what was across becomes the direction of travel
        const bool down = move_b != 0;
        if (down) {
          index -= along;
          move_a = a - direction(a);
          move_b -= direction(b);
        }
        b = down ? a / 2 - a : a / 2;
        a = down ? -b_half : b_half;
      }
    }
    (a_along_n ? at.n : at.m) += move_a;
    (a_along_n ? at.m : at.n) += move_b;
    if (turn) a_along_n = !a_along_n;
  }
  // A line of tiles is left.
  const bool along_a = magnitude(b) == 1;
  (along_a == a_along_n ? at.n : at.m) += direction(along_a ? a : b) * index;
  return at;
}

/// The tile at position `index` of the order, 0 <= index < grid.tiles().
HGEMM_HOST_DEVICE inline TileCoord tile_at(TileOrder order, int group, int index, TileGrid grid) {
  switch (order) {
    case TileOrder::kGrouped:
      return grouped_tile(index, grid, group);
    case TileOrder::kHilbert:
      return hilbert_tile(index, grid);
    case TileOrder::kLinear:
      break;
  }
  return linear_tile(index, grid);
}

}  // namespace hgemm
