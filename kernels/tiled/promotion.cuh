// Sums of 8-bit products: the tensor cores keep about 14 bits of a sum, so every `promote` elements
// of K a consumer adds what they have to sums of its own in fp32 registers, and they begin again.
//
// While a consumer adds, the tensor cores multiply for another one, if there is one. Both sums take
// registers. Where an interval is one stage, the stage is multiplied and added in pieces
// (promoted_pieces()), whose partial sums share registers; or the next stage is multiplied
// meanwhile, into sums of its own (promotes_in_flight()).
#pragma once

#include "common/mma.cuh"
#include "common/promotion.cuh"
#include "common/ptx.cuh"
#include "tiled/store.cuh"

namespace hgemm {

/// A stage's tile of wgmma's 64-row operand, and of the other one.
template <TiledKernel kKernel>
using RowsTile = OperandTile<rows_major(kKernel), mma_rows(kKernel), kKernel.bk,
                             element_bytes(kKernel.gemm.input)>;
template <TiledKernel kKernel>
using ColsTile = OperandTile<cols_major(kKernel), mma_cols(kKernel), kKernel.bk,
                             element_bytes(kKernel.gemm.input)>;
/// wgmma for kCols columns.
template <TiledKernel kKernel, int kCols>
using TileMma = Mma<kCols, kKernel.swap ? input_b(kKernel.gemm) : input_a(kKernel.gemm),
                    kKernel.swap ? input_a(kKernel.gemm) : input_b(kKernel.gemm),
                    rows_major(kKernel), cols_major(kKernel)>;

/// The pieces of a consumer's part of a tile, each some of its 64-row blocks by some of its
/// columns.
template <TiledKernel kKernel>
struct PromotedPieces {
  static constexpr int kCount = promoted_pieces(kKernel);
  static constexpr bool kAreBlocks = kCount > 1 && mma_blocks(kKernel) > 1;
  static constexpr int kBlocks = kAreBlocks ? 1 : mma_blocks(kKernel);
  static constexpr int kCols = consumer_cols(kKernel) / (kAreBlocks ? 1 : kCount);
  using Sums = float[kBlocks][kCols / 2];

  static HGEMM_HOST_DEVICE constexpr int first_block(int piece) { return kAreBlocks ? piece : 0; }
  static HGEMM_HOST_DEVICE constexpr int first_col(int piece) {
    return kAreBlocks ? 0 : piece * kCols;
  }
};

/// Issues the wgmmas of a piece of one stage: `rows` describes wgmma's 64-row operand of this
/// consumer's part, `cols` the other one.
template <TiledKernel kKernel>
__device__ __forceinline__ void multiply_piece(typename PromotedPieces<kKernel>::Sums& sums,
                                               int piece, u64 rows, u64 cols, int accumulate) {
  using Pieces = PromotedPieces<kKernel>;
  using Rows = RowsTile<kKernel>;
  using Cols = ColsTile<kKernel>;
#pragma unroll
  for (int k = 0; k < kKernel.bk; k += mma_k(kKernel.gemm.input)) {
    const u64 cols_k =
        cols + static_cast<u64>(Cols::k_units(k) + Cols::mn_units(Pieces::first_col(piece)));
#pragma unroll
    for (int block = 0; block < Pieces::kBlocks; ++block) {
      const int row = (Pieces::first_block(piece) + block) * kMmaM;
      const u64 rows_k = rows + static_cast<u64>(Rows::k_units(k) + Rows::mn_units(row));
      TileMma<kKernel, Pieces::kCols>::mma(sums[block], rows_k, cols_k, k > 0 ? 1 : accumulate);
    }
  }
}

/// What a consumer multiplies the sums of a stage by.
template <TiledKernel kKernel>
using StageScales =
    PromotionScales<kKernel, mma_blocks(kKernel), consumer_cols(kKernel), kKernel.swap>;

/// Stages in straight code. With several pieces and no cluster ptxas 13.0 then computes addresses
/// in the registers of each thread rather than in those of the warp, and 4096x4096x7168 takes 3 %
/// longer (128x256, scaling-blocks); in a cluster it takes 1 % less (256x128 in 1x2). With a scale
/// for each column kernels of several pieces spill, and those that a cluster adds up.
template <TiledKernel kKernel>
HGEMM_HOST_DEVICE constexpr int promoted_group() {
  if (kKernel.mma_depth > 0) return kPromotedGroup;
  const bool has_pieces = promoted_pieces(kKernel) > 1;
  if (has_pieces && cluster_size(kKernel) == 1) return 1;
  const bool has_many_scales = kKernel.gemm.scaling == Scaling::kRowBlocks;
  return has_many_scales && (has_pieces || adds_in_cluster(kKernel)) ? 1 : kPromotedGroup;
}

/// Loads the scales of the rows of a piece that no earlier piece of the stage has.
template <TiledKernel kKernel>
__device__ __forceinline__ void load_rows_of_piece(StageScales<kKernel>& scales, int piece) {
  using Pieces = PromotedPieces<kKernel>;
  if constexpr (is_of_blocks(kKernel.gemm.scaling)) {
    if (piece > 0 && Pieces::first_block(piece) == 0) return;
#pragma unroll
    for (int block = 0; block < Pieces::kBlocks; ++block) {
      scales.load_rows(Pieces::first_block(piece) + block);
    }
  }
}

/// Adds the sums of a piece, whose wgmmas are complete, to the consumer's own.
template <TiledKernel kKernel>
__device__ __forceinline__ void promote_piece(Accumulators<kKernel>& accumulators,
                                              typename PromotedPieces<kKernel>::Sums& sums,
                                              int piece, StageScales<kKernel>& scales) {
  using Pieces = PromotedPieces<kKernel>;
  const int first_col = Pieces::first_col(piece);
#pragma unroll
  for (int block = 0; block < Pieces::kBlocks; ++block) settle_sums<Pieces::kCols / 2>(sums[block]);
#pragma unroll
  for (int block = 0; block < Pieces::kBlocks; ++block) {
    const int of_tile = Pieces::first_block(piece) + block;
    add_promoted<Pieces::kCols / 8>(accumulators[of_tile] + first_col / 2, sums[block], scales,
                                    of_tile, first_col / 8);
  }
}

}  // namespace hgemm
