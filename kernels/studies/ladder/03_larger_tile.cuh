// Step 3: a larger tile. 128 x 128 elements of D take two wgmmas of 64 x 128 for each 16 of K, and
// need half as many bytes per product as 64 x 64. Loads and products still take turns.
//
// The store is store_tile's (common.cuh), written as in the article: D has a 32-bit index, column *
// stride + row. The index may wrap around, so the compiler cannot relate two of them, and each of
// the 128 stores of a thread computes its own 64-bit address. This takes more than twice as many
// instructions as stores from one pointer.
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

template <Element kElement, int kBlocks, int kHalfCols>
__device__ __forceinline__ void store_by_index(const float (&d)[kBlocks][kHalfCols],
                                               const LadderParams& params, int left_row,
                                               int right_row) {
  const u32 stride = static_cast<u32>(params.n);
  const u32 row = threadIdx.x / 32 % 4 * 16 + threadIdx.x % 32 / 4;
  unsigned short* const tile = static_cast<unsigned short*>(params.d) +
                               static_cast<u64>(right_row) * stride + static_cast<u64>(left_row);
#pragma unroll
  for (u32 block = 0; block < kBlocks; ++block) {
    const auto index = [&](u32 i, u32 column) { return column * stride + (i + block * kMmaM); };
#pragma unroll
    for (u32 j = 0; j < kHalfCols / 4; ++j) {
      const u32 column = 8 * j + 2 * (threadIdx.x % 4);
      tile[index(row, column)] = rounded<kElement>(d[block][4 * j]);
      tile[index(row, column + 1)] = rounded<kElement>(d[block][4 * j + 1]);
      tile[index(row + 8, column)] = rounded<kElement>(d[block][4 * j + 2]);
      tile[index(row + 8, column + 1)] = rounded<kElement>(d[block][4 * j + 3]);
    }
  }
}

/// 128 threads, 128 x 128 elements of D.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void larger_tile(const LadderParams& params) {
  constexpr int kTile = 128;
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
  float d[2][kTile / 2];
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
  store_by_index<kElement>(d, params, left_row, right_row);
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == kWatchedThread, true);
}

}  // namespace hgemm::ladder
