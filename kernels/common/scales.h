// Shared memory for scales (common/scales.cuh, common/block_scales.cuh).
#pragma once

#include "common/types.h"

namespace hgemm {

/// Bytes for the scales of one consumer's part of a tile, of so many rows and columns as wgmma
/// computes it; a multiple of 16. None for scales of blocks, which lie in the stages.
HGEMM_HOST_DEVICE constexpr int scale_bytes(Scaling scaling, int rows, int cols) {
  const int numbers = scaling == Scaling::kRows ? rows + cols : scaling == Scaling::kTensor ? 2 : 0;
  return (numbers * 4 + 15) / 16 * 16;
}

/// Whether the sums of a tile are multiplied when they are complete (common/scales.cuh).
HGEMM_HOST_DEVICE constexpr bool scales_tiles(Scaling scaling) {
  return scaling == Scaling::kTensor || scaling == Scaling::kRows;
}

// ---- Scales of blocks: those of each stage arrive with it, because its depth is one block ----

/// Numbers in a box of scales of B's blocks, from a multiple of so many on: 16 bytes, of which one
/// number is used. They are those of as many blocks of K, unless packed scales end between them.
inline constexpr int kScaleBoxBlocks = 4;
/// Blocks of kScaleBlock rows of B of which a tile may have a part, if tiles begin at multiples of
/// `rows`, which is a multiple of 8.
HGEMM_HOST_DEVICE constexpr int row_blocks_of_tile(int rows) {
  if (kScaleBlock % rows == 0) return 1;
  if (rows % kScaleBlock == 0) return rows / kScaleBlock;
  return (rows - 8) / kScaleBlock + 2;
}
/// Whether each tile of `bn` rows of B begins with a block of scales, or lies within one.
HGEMM_HOST_DEVICE constexpr bool is_within_blocks(int bn) {
  return bn % kScaleBlock == 0 || kScaleBlock % bn == 0;
}
/// Columns of a consumer's part of a tile, from a multiple of so many on, that lie in one block of
/// B: the part has `cols`, and tiles begin at multiples of `bn`.
HGEMM_HOST_DEVICE constexpr int run_of_columns(int bn, int cols) {
  const int run = is_within_blocks(bn) ? kScaleBlock : cols & -cols;
  return run < kScaleBlock ? run : kScaleBlock;
}
/// Bytes of scales that arrive in a stage for so many rows of A, or of B.
HGEMM_HOST_DEVICE constexpr int arriving_scales_of_a(Scaling scaling, int rows) {
  return is_of_blocks(scaling) ? rows * 4 : 0;
}
HGEMM_HOST_DEVICE constexpr int arriving_scales_of_b(Scaling scaling, int rows) {
  if (has_row_blocks_of_b(scaling)) return row_blocks_of_tile(rows) * kScaleBoxBlocks * 4;
  return scaling == Scaling::kRowBlocks ? rows * 4 : 0;
}
/// Boxes of the copy engine begin at multiples of 128 bytes.
HGEMM_HOST_DEVICE constexpr int scale_box_end(int bytes) { return (bytes + 127) / 128 * 128; }
/// Bytes from the scales of a block of B's rows to those of the next one. Packed ones have a box
/// each, others one box for all.
HGEMM_HOST_DEVICE constexpr int row_block_step(Scaling scaling) {
  const int bytes = kScaleBoxBlocks * 4;
  return scaling == Scaling::kPackedBlocks ? scale_box_end(bytes) : bytes;
}
/// Bytes of a stage's scales in shared memory: A's, then B's.
HGEMM_HOST_DEVICE constexpr int stage_scale_bytes(Scaling scaling, int a_rows, int b_rows) {
  const int of_b = has_row_blocks_of_b(scaling)
                       ? row_blocks_of_tile(b_rows) * row_block_step(scaling)
                       : arriving_scales_of_b(scaling, b_rows);
  return scale_box_end(arriving_scales_of_a(scaling, a_rows)) + scale_box_end(of_b);
}

/// Bytes for the given scale of an 8-bit D (common/output_8_bit.cuh): a word of each warp.
HGEMM_HOST_DEVICE constexpr int output_scale_bytes(const GemmKind& kind, int threads) {
  return has_given_output_scale(kind) ? threads / 32 * 4 : 0;
}

/// Where scales lie in shared memory, and where they end. `from`: the first free byte.
struct ScaleRoom {
  int begin, end;
};
/// For `stages` stages of a tile of so many rows of A and of B, or for each of `consumers`, whose
/// part of a tile has `rows` by `cols`.
HGEMM_HOST_DEVICE constexpr ScaleRoom scale_room(Scaling scaling, int from, int stages, int a_rows,
                                                 int b_rows, int consumers, int rows, int cols) {
  if (scaling == Scaling::kNone) return {from, from};
  if (is_of_blocks(scaling)) {
    const int begin = scale_box_end(from);
    return {begin, begin + stages * stage_scale_bytes(scaling, a_rows, b_rows)};
  }
  const int begin = (from + 15) / 16 * 16;
  return {begin, begin + consumers * scale_bytes(scaling, rows, cols)};
}

}  // namespace hgemm
