// Step 2: the tensor cores. The copy engine (TMA) copies a 64 x 64 tile of each operand to shared
// memory, and one warpgroup multiplies them with wgmma. Only then are the next tiles requested, so
// nothing overlaps except other CTAs on the same SM.
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

/// 128 threads, 64 x 64 elements of D.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void tensor_cores(const LadderParams& params) {
  constexpr int kTile = 64;
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 left = aligned_smem(smem);
  const u32 right = left + tile_bytes(kTile);
  const BlockBarrier left_full{right + tile_bytes(kTile)};
  const BlockBarrier right_full{left_full.address + 8};

  const int right_tiles = params.m / kTile;
  const int left_row = static_cast<int>(blockIdx.x) / right_tiles * kTile;
  const int right_row = static_cast<int>(blockIdx.x) % right_tiles * kTile;

  if (threadIdx.x == 0) {
    left_full.init(blockDim.x);
    right_full.init(blockDim.x);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  Stopwatch<kProbe> watch;
  float d[1][kTile / 2];
  zero(d);
  for (int k = 0; k < params.k; k += kDepth) {
    u64 left_token;
    u64 right_token;
    if (threadIdx.x == 0) {
      left_token = left_full.arrive_expect(tile_bytes(kTile));
      ptx::tma_load(left, params.b_map, left_full.address, k, left_row);
      right_token = right_full.arrive_expect(tile_bytes(kTile));
      ptx::tma_load(right, params.a_map, right_full.address, k, right_row);
    } else {
      left_token = left_full.arrive();
      right_token = right_full.arrive();
    }
    left_full.wait(left_token);
    right_full.wait(right_token);
    watch.stop(Phase::kLoad);

    ptx::wgmma_fence();
    multiply<kElement>(d, left, right);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    __syncthreads();  // no warp reads the tiles any more: they may be overwritten
    watch.stop(Phase::kMma);
  }
  settle(d);
  store_tile<kElement>(d, params, left_row, right_row);
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == kWatchedThread, true);
}

}  // namespace hgemm::ladder
