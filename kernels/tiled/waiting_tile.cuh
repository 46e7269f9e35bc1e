// The overlapped store: a computed tile that waits to be stored, until the tensor cores multiply
// the next one.
#pragma once

#include "tiled/store.cuh"

namespace hgemm {

/// Waits in registers of its own, in the output type, so that the accumulators are free for the
/// next tile. One box is stored after the wgmmas of each stage.
template <TiledKernel kKernel, bool kInSums = waits_in_sums(kKernel)>
struct WaitingTile {
  using Boxes = StoreBoxes<kKernel>;
  u32 words[output_blocks(kKernel)][output_words<kKernel>(output_cols(kKernel))];
  TileOrigin<kKernel> begin;
  int next = Boxes::kCount;  ///< the box to be stored next

  __device__ __forceinline__ void take(Accumulators<kKernel>& accumulators,
                                       const KernelParams& params, TileOrigin<kKernel> tile,
                                       int lane) {
#pragma unroll
    for (int block = 0; block < output_blocks(kKernel); ++block) {
      if constexpr (is_gated(kKernel.gemm)) {
        take_gated(accumulators, params, block, tile, lane);
        continue;
      } else if constexpr (has_epilogue(kKernel.gemm)) {
        finish_columns<kKernel, output_cols(kKernel) / 8>(accumulators[block], params, tile,
                                                          block * kMmaM, 0, lane);
      }
      scale_columns<kKernel, output_cols(kKernel)>(accumulators[block], params, tile, block * kMmaM,
                                                   0, lane);
      convert_box<kKernel, output_cols(kKernel)>(accumulators[block], words[block]);
    }
    begin = tile;
    next = 0;
  }
  __device__ __forceinline__ void take_gated(const Accumulators<kKernel>& accumulators,
                                             const KernelParams& params, int block,
                                             TileOrigin<kKernel> tile, int lane) {
    constexpr int kNow = finds_output_scales(kKernel.gemm) ? kScaleBlock / 8 : 1;
#pragma unroll
    for (int group = 0; group < output_cols(kKernel) / 8; group += kNow) {
      float outputs[kNow * 4];
      gate_columns<kKernel, kNow>(accumulators, block, group, outputs);
      scale_columns<kKernel, kNow * 8>(outputs, params, tile, block * kMmaM, group * 8, lane);
      convert_box<kKernel, kNow * 8>(outputs, &words[block][output_words<kKernel>(group * 8)]);
    }
  }
  /// Stores the next box, if one is left, or all remaining ones. (kBox: the registers must be known
  /// at compile time.)
  template <int kBox = 0>
  __device__ __forceinline__ void store(const KernelParams& params, Staging& staging, bool all,
                                        int lane) {
    if constexpr (kBox < Boxes::kCount) {
      if (next == kBox) {
        store_box<kKernel, kBox>(
            &words[Boxes::block(kBox)][output_words<kKernel>(Boxes::column(kBox))], params, staging,
            begin, lane);
        next = kBox + 1;
        if (!all) return;
      }
      store<kBox + 1>(params, staging, all, lane);
    }
  }
};

/// Waits in the sums themselves, to which nothing is added before the first stage of the next tile
/// is multiplied. A block is stored while the tensor cores compute what is added to it then, and
/// begins at zero after. So consumers of a main loop that promotes each stage need no registers for
/// it. (In registers of its own a tile of 128x256 does not fit.)
template <TiledKernel kKernel>
struct WaitingTile<kKernel, true> {
  TileOrigin<kKernel> begin;
  bool is_there = false;

  __device__ __forceinline__ void take(Accumulators<kKernel>&, const KernelParams&,
                                       TileOrigin<kKernel> tile, int) {
    begin = tile;
    is_there = true;
  }
  /// Stores the blocks [first, end), and sets their sums to zero.
  __device__ __forceinline__ void store(Accumulators<kKernel>& accumulators,
                                        const KernelParams& params, Staging& staging, int first,
                                        int end, int lane) const {
    if (is_there) store_boxes(accumulators, params, staging, first, end, lane);
#pragma unroll
    for (int block = 0; block < mma_blocks(kKernel); ++block) {
      if (block < first || block >= end) continue;
#pragma unroll
      for (int i = 0; i < consumer_cols(kKernel) / 2; ++i) accumulators[block][i] = 0;
    }
  }

 private:
  template <int kBox = 0>
  __device__ __forceinline__ void store_boxes(Accumulators<kKernel>& accumulators,
                                              const KernelParams& params, Staging& staging,
                                              int first, int end, int lane) const {
    using Boxes = StoreBoxes<kKernel>;
    if constexpr (kBox < Boxes::kCount) {
      if (Boxes::block(kBox) >= first && Boxes::block(kBox) < end) {
        finish_and_store_box<kKernel, kBox>(accumulators, params, staging, begin, lane);
      }
      store_boxes<kBox + 1>(accumulators, params, staging, first, end, lane);
    }
  }
};

}  // namespace hgemm
