// Streamed tiles (TileScheduler::kStreamK), which several CTAs compute, each a part of K: one CTA
// leaves its sums, another adds them.
//
// It works warp by warp: the same warp of every CTA has the same elements of the tile in the same
// registers. So sums go through the workspace in register order, with the 16 bytes of each lane
// side by side. Each has a flag. The warp that leaves the sums raises it, and the warp that adds
// them lowers it, so that all flags are lowered at the next launch.
#pragma once

#include "common/ptx.cuh"
#include "tiled/store.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm {

/// One warp's part of a slot.
template <TiledKernel kKernel>
struct WarpPartial {
  static constexpr int kValues = accumulators_per_thread(kKernel);
  float* sums;  ///< this lane's first sums; its next four are 32 lanes further
  u32* flag;

  __device__ __forceinline__ WarpPartial(const KernelParams& params, int slot, u32 rank, int reader,
                                         int warp, int lane) {
    const u64 index = ((static_cast<u64>(slot) * cluster_size(kKernel) + rank) * readers(kKernel) +
                       static_cast<u64>(reader)) *
                          4 +
                      static_cast<u64>(warp);
    sums = params.partials + index * (kValues * 32) + lane * 4;
    flag = params.flags + index;
  }
};

/// Writes a warp's sums in register order. `sums`: for this lane's first four.
template <TiledKernel kKernel>
__device__ __forceinline__ void write_sums(const Accumulators<kKernel>& accumulators, float* sums) {
  constexpr int kCols = consumer_cols(kKernel) / 2;
#pragma unroll
  for (int block = 0; block < mma_blocks(kKernel); ++block) {
#pragma unroll
    for (int i = 0; i < kCols; i += 4) {
      ptx::store_v4(sums + (block * kCols + i) * 32, &accumulators[block][i]);
    }
  }
}

template <TiledKernel kKernel>
__device__ __forceinline__ void leave_sums(const Accumulators<kKernel>& accumulators,
                                           const WarpPartial<kKernel>& partial, int lane) {
  write_sums<kKernel>(accumulators, partial.sums);
  __syncwarp();
  if (lane == 0) ptx::store_release(partial.flag, 1);
  __syncwarp();
}

template <TiledKernel kKernel>
__device__ __forceinline__ void add_sums(Accumulators<kKernel>& accumulators,
                                         const WarpPartial<kKernel>& partial, int lane) {
  constexpr int kCols = consumer_cols(kKernel) / 2;
  if (lane == 0) {
    ptx::wait_until_set(partial.flag);
    *partial.flag = 0;
  }
  __syncwarp();
#pragma unroll
  for (int block = 0; block < mma_blocks(kKernel); ++block) {
#pragma unroll
    for (int i = 0; i < kCols; i += 4) {
      float sums[4];
      ptx::load_v4(sums, partial.sums + (block * kCols + i) * 32);
#pragma unroll
      for (int j = 0; j < 4; ++j) accumulators[block][i + j] += sums[j];
      // Otherwise ptxas 13.0 loads as many sums at once as there are accumulators, and spills.
      if ((block * kCols + i) % 64 == 60) __syncwarp();
    }
  }
}

}  // namespace hgemm
