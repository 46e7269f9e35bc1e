// Arithmetic of output tiles and of parts of K, for host and device.
#pragma once

#include "common/types.h"

namespace hgemm {

HGEMM_HOST_DEVICE constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

struct TileCoord {
  int m, n;
};
/// The output as a grid of tiles.
struct TileGrid {
  int m, n;
  HGEMM_HOST_DEVICE constexpr int tiles() const { return m * n; }
};

/// Down the rows first, so that a wave of CTAs shares few columns of B and all rows of A.
HGEMM_HOST_DEVICE constexpr TileCoord linear_tile(int index, TileGrid grid) {
  return {index % grid.m, index / grid.m};
}

/// K blocks [first, end) of one of `parts` CTAs that share a tile. Computed in 64 bits, because
/// there may be 2^25 k blocks.
struct KRange {
  int first, end;
};
HGEMM_HOST_DEVICE constexpr KRange part_of_k(int k_blocks, int part, int parts) {
  return {static_cast<int>(1LL * k_blocks * part / parts),
          static_cast<int>(1LL * k_blocks * (part + 1) / parts)};
}

// ---- Operand tiles in shared memory ----

/// A TMA box row with 128-byte swizzle holds 64 16-bit elements; deeper stages consist of several
/// such slabs.
inline constexpr int kSlabK = 64;
/// Rows of one TMA box: the slice, or half of it if it is taller than a box may be.
HGEMM_HOST_DEVICE constexpr int box_rows(int slice_rows) {
  return slice_rows <= kMaxBoxRows ? slice_rows : slice_rows / 2;
}

}  // namespace hgemm
