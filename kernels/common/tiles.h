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
/// The same for any type: 128 8-bit elements.
HGEMM_HOST_DEVICE constexpr int slab_k(DataType type) {
  return kSwizzleBytes / element_bytes(type);
}
/// Rows of one TMA box: the slice, or half of it if it is taller than a box may be.
HGEMM_HOST_DEVICE constexpr int box_rows(int slice_rows) {
  return slice_rows <= kMaxBoxRows ? slice_rows : slice_rows / 2;
}

// An MN-major tile (rows along M of A, or along N of B) consists of chunks of 64 of these elements:
// a row of 128 bytes for each element of K. Eight such rows are a 128-byte swizzle atom (PTX ISA,
// "Shared Memory Matrix Layout" of wgmma), so a chunk of 32 elements of K or more begins with an
// atom if its stage does. Boxes are always a chunk wide. The last chunk may reach beyond the tile;
// that part is fetched, and not multiplied.

inline constexpr int kChunkMn = kSwizzleBytes / kInputBytes;
HGEMM_HOST_DEVICE constexpr int chunks_of(int extent) { return ceil_div(extent, kChunkMn); }
/// Bytes of a chunk with bk elements of K.
HGEMM_HOST_DEVICE constexpr int chunk_bytes(int bk) { return bk * kSwizzleBytes; }
/// Where the row of element k of a chunk lies in a stage with bk elements of K.
HGEMM_HOST_DEVICE constexpr int chunk_offset(int chunk, int k, int bk) {
  return chunk * chunk_bytes(bk) + k * kSwizzleBytes;
}
/// Elements of M or N that a stage holds for a tile with `extent` of them.
HGEMM_HOST_DEVICE constexpr int staged_extent(int extent, Major major) {
  return major == Major::kK ? extent : chunks_of(extent) * kChunkMn;
}

/// Whether the tensor cores' sums of a stage are added while those of the next one are multiplied,
/// so that both have registers of their own: each stage is promoted, and a wgmma group stays in
/// flight.
HGEMM_HOST_DEVICE constexpr bool promotes_in_flight(int promote, int bk, int mma_depth) {
  return promote != 0 && promote == bk && mma_depth > 0;
}
/// Promoted stages in straight code, of which the sums of the last one are added with none in
/// flight (common/promotion.cuh).
inline constexpr int kPromotedGroup = 4;

}  // namespace hgemm
