// Scales of blocks of 8-bit operands (is_of_blocks()): what a block of K adds to a sum is
// multiplied by the scales of its row of A and of its row, or block of rows, of B.
//
// A stage is one block deep. Its scales are copied with it, and a consumer reads those of its
// fragments from shared memory when it adds the tensor cores' sums to its own, which it does for
// each stage (tiled/promotion.cuh).
#pragma once

#include "common/params.h"
#include "common/pipeline.cuh"
#include "common/ptx.cuh"
#include "common/scales.h"
#include "common/tma.cuh"

namespace hgemm {

/// Bytes of scales that arrive in a stage.
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int arriving_scales() {
  return arriving_scales_of_a(kKernel.gemm.scaling, kKernel.bm) +
         arriving_scales_of_b(kKernel.gemm.scaling, kKernel.bn);
}

/// Address of the scales of A in a stage, and of those of B.
template <auto kKernel>
__device__ __forceinline__ u32 stage_scales_of_a(const Pipeline<kKernel>& pipeline, int stage) {
  return pipeline.smem_base +
         static_cast<u32>(smem_layout(kKernel).scales +
                          stage * stage_scale_bytes(kKernel.gemm.scaling, kKernel.bm, kKernel.bn));
}
template <auto kKernel>
__device__ __forceinline__ u32 stage_scales_of_b(const Pipeline<kKernel>& pipeline, int stage) {
  constexpr int kOfA = scale_box_end(arriving_scales_of_a(kKernel.gemm.scaling, kKernel.bm));
  return stage_scales_of_a(pipeline, stage) + static_cast<u32>(kOfA);
}

/// For one lane: copies the scales of the tile that begins with row `m` of A and `n` of B, for the
/// block of K that begins with element `k`. The stage waits for arriving_scales() bytes more.
template <auto kKernel>
__device__ __forceinline__ void load_block_scales(const KernelParams& params,
                                                  const Pipeline<kKernel>& pipeline, int stage,
                                                  int k, int m, int n) {
  if constexpr (is_of_blocks(kKernel.gemm.scaling)) {
    const auto& scaled = static_cast<const BlockScaledParams&>(params);
    const u32 full = pipeline.full(stage);
    const int block = k / kScaleBlock;
    const auto load_rows = [&](u32 target, const TensorMap& map, int rows, int first) {
      for (int row = 0; row < rows; row += box_rows(rows)) {
        ptx::tma_load(target + static_cast<u32>(row * 4), map, full, first + row, block);
      }
    };
    load_rows(stage_scales_of_a(pipeline, stage), scaled.scale_a_map, kKernel.bm, m);
    const u32 of_b = stage_scales_of_b(pipeline, stage);
    if constexpr (kKernel.gemm.scaling == Scaling::kBlocks) {
      // A box begins at a multiple of 16 bytes (other coordinates are an illegal instruction, as
      // for stores: StorePath::kStaged).
      ptx::tma_load(of_b, scaled.scale_b_map, full, block / kScaleBoxBlocks * kScaleBoxBlocks,
                    n / kScaleBlock);
    } else if constexpr (kKernel.gemm.scaling == Scaling::kPackedBlocks) {
      const int k_blocks = ceil_div(extent_k<kKernel>(params), kScaleBlock);
      int index = n / kScaleBlock * k_blocks + block;
#pragma unroll
      for (int i = 0; i < row_blocks_of_tile(kKernel.bn); ++i, index += k_blocks) {
        ptx::tma_load(of_b + static_cast<u32>(i * row_block_step(kKernel.gemm.scaling)),
                      scaled.scale_b_map, full, index / kScaleBoxBlocks * kScaleBoxBlocks, 0);
      }
    } else {
      load_rows(of_b, scaled.scale_b_map, kKernel.bn, n);
    }
  }
}

/// No scales of blocks: sums are added as they are.
struct NoBlockScales {
  static constexpr bool kAreInRegisters = true;
  static constexpr u32 read = 0;

  __device__ __forceinline__ void factors(float (&by)[4], int /*block*/, int /*group*/) const {
    by[0] = by[1] = by[2] = by[3] = 1;
  }
};

/// The scales of a stage for the fragments of a consumer's thread: kBlocks blocks of wgmma's 64
/// rows by kCols columns. kSwapped: the rows are those of B.
template <auto kKernel, int kBlocks, int kCols, bool kSwapped>
struct BlockScales {
  static constexpr bool kBIsOfBlocks = has_row_blocks_of_b(kKernel.gemm.scaling);
  static constexpr bool kIsPacked = kKernel.gemm.scaling == Scaling::kPackedBlocks;
  static constexpr bool kRowsAreOfBlocks = kSwapped && kBIsOfBlocks;
  static constexpr bool kColsAreOfBlocks = !kSwapped && kBIsOfBlocks;
  /// Whether load() reads all scales, so that the stage may be released before the sums are added.
  static constexpr bool kAreInRegisters = kColsAreOfBlocks;
  static constexpr int kBn = kKernel.bn;
  /// Whether a tile's columns may begin anywhere within a block of B.
  static constexpr bool kAreShifted = !is_within_blocks(kBn);
  static constexpr int kRun = run_of_columns(kBn, kCols);  ///< whose sums share a factor
  /// Blocks of B of which the columns may have a part.
  static constexpr int kColBlocks = !kColsAreOfBlocks ? 1
                                    : kAreShifted     ? (kCols - 8) / kScaleBlock + 2
                                                      : (kCols + kScaleBlock - 1) / kScaleBlock;
  static constexpr int kBlockBytes = row_block_step(kKernel.gemm.scaling);

  float rows[kBlocks][2];
  float cols[kColBlocks];
  u32 rows_address;            ///< of this lane's first row, or of the blocks of B
  u32 cols_address;            ///< of this lane's first pair of columns
  int first_row;               ///< of this lane, or of this consumer within its block of B
  int shift;                   ///< where the first column lies within its block of B
  int k_blocks, first_number;  ///< of packed scales: of a block of B, and of the tile's first one
  u32 read = 0;                ///< the words read of the stage, XORed (Pipeline::release_read)

  /// When the stage is full; load_rows() must follow. `k_block`: its block of K. `b_row`: the
  /// tile's first row of B. (part_row, part_col): the first of this consumer's part within a tile,
  /// as wgmma has it.
  __device__ __forceinline__ void load_cols(const KernelParams& params,
                                            const Pipeline<kKernel>& pipeline, int stage,
                                            int k_block, int b_row, int part_row, int part_col,
                                            int warp, int lane) {
    const u32 of_a = stage_scales_of_a(pipeline, stage);
    const u32 of_b = stage_scales_of_b(pipeline, stage) +
                     (kBIsOfBlocks && !kIsPacked ? bytes(k_block) % kScaleBoxBlocks * 4 : 0u);
    read = 0;
    if constexpr (kIsPacked) {
      k_blocks = ceil_div(extent_k<kKernel>(params), kScaleBlock);
      first_number = b_row / kScaleBlock * k_blocks + k_block;
    }
    first_row = part_row + (kRowsAreOfBlocks ? b_row % kScaleBlock : warp * 16 + lane / 4);
    rows_address = (kSwapped ? of_b : of_a) + (kRowsAreOfBlocks ? 0u : bytes(first_row * 4));
    if constexpr (kColsAreOfBlocks) {
      const int first = (kAreShifted ? b_row % kScaleBlock : 0) + part_col;
      shift = first % kScaleBlock;
      constexpr int kLast = row_blocks_of_tile(kBn) - 1;
#pragma unroll
      for (int i = 0; i < kColBlocks; ++i) {
        const int block = first / kScaleBlock + i;  // behind the tile's last one it is not used
        cols[i] = of_block_of_b(of_b, kAreShifted ? min(block, kLast) : block);
      }
    } else {
      cols_address = (kSwapped ? of_a : of_b) + bytes((part_col + 2 * (lane % 4)) * 4);
    }
  }
  /// The scales of the rows of a 64-row block.
  __device__ __forceinline__ void load_rows(int block) {
    if constexpr (kRowsAreOfBlocks) {  // tiles have whole 64 rows, which lie in one block of B
      const int of_rows = (first_row + block * kMmaM) / kScaleBlock;
      rows[block][0] = of_block_of_b(rows_address, of_rows);
      rows[block][1] = rows[block][0];
    } else {
      rows[block][0] = number(rows_address + bytes(block * kMmaM * 4));
      rows[block][1] = number(rows_address + bytes((block * kMmaM + 8) * 4));
    }
  }

  /// What each sum of a group of 8 columns of a 64-row block is multiplied by.
  __device__ __forceinline__ void factors(float (&by)[4], int block, int group) {
    float of_cols[2];
    if constexpr (kColsAreOfBlocks) {
      of_cols[0] = of_cols[1] = of_group(group);
    } else {
      ptx::load_shared_v2(of_cols, cols_address + bytes(group * 8 * 4));
      read ^= __float_as_uint(of_cols[0]) ^ __float_as_uint(of_cols[1]);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) by[i] = rows[block][i / 2] * of_cols[i % 2];
  }

 private:
  static __device__ __forceinline__ u32 bytes(int offset) { return static_cast<u32>(offset); }
  /// The scale of a block of B, of those of which the tile has a part.
  __device__ __forceinline__ float of_block_of_b(u32 of_b, int block) {
    const int within_box = kIsPacked ? (first_number + block * k_blocks) % kScaleBoxBlocks * 4 : 0;
    return number(of_b + bytes(block * kBlockBytes + within_box));
  }
  __device__ __forceinline__ float number(u32 address) {
    const u32 word = ptx::load_shared(address);
    read ^= word;
    return __uint_as_float(word);
  }
  __device__ __forceinline__ float of_group(int group) const {
    if constexpr (!kAreShifted) {
      return cols[group * 8 / kScaleBlock];
    } else {
      const int run = group * 8 / kRun * kRun;
      float factor = cols[0];
#pragma unroll
      for (int i = 1; i < kColBlocks; ++i) {
        if (shift + run >= i * kScaleBlock) factor = cols[i];
      }
      return factor;
    }
  }
};

template <bool kAreOfBlocks, auto kKernel, int kBlocks, int kCols, bool kSwapped>
struct PromotionScalesOf {
  using Type = NoBlockScales;
};
template <auto kKernel, int kBlocks, int kCols, bool kSwapped>
struct PromotionScalesOf<true, kKernel, kBlocks, kCols, kSwapped> {
  using Type = BlockScales<kKernel, kBlocks, kCols, kSwapped>;
};
/// What the sums of a stage are multiplied by when they are promoted.
template <auto kKernel, int kBlocks, int kCols, bool kSwapped>
using PromotionScales = typename PromotionScalesOf<is_of_blocks(kKernel.gemm.scaling), kKernel,
                                                   kBlocks, kCols, kSwapped>::Type;

}  // namespace hgemm
