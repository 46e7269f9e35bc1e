// Step 6: as many CTAs as the GPU holds, each of which computes many tiles: while the consumers
// write one tile, the producer already loads the next. Now the order of the tiles is ours to
// choose. What runs at the same time should share rows and columns, so that the L2 cache serves
// most loads:
//   6   each CTA takes a run of neighbouring tiles: the CTAs are spread over all of D
//   6b  the CTAs together take 16 x 8 tiles at a time
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

/// 384 threads, 256 rows x 128 columns of D at a time. `kTogether`: the good order.
template <Element kElement, bool kProbe, bool kTogether>
__device__ __forceinline__ void persistent(const LadderParams& params) {
  constexpr int kLeft = 128;
  constexpr int kRight = 256;
  constexpr int kStages = 3;
  constexpr u32 kStageBytes = tile_bytes(kLeft) + tile_bytes(kRight);
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 stages = aligned_smem(smem);
  const auto left = [&](int stage) { return stages + static_cast<u32>(stage) * kStageBytes; };
  const auto right = [&](int stage) { return left(stage) + tile_bytes(kLeft); };
  const auto full = [&](int stage) {
    return BlockBarrier{stages + kStages * kStageBytes + static_cast<u32>(stage) * 8};
  };
  const auto empty = [&](int stage) { return BlockBarrier{full(stage).address + kStages * 8}; };

  // The tiles of this CTA: positions first, first + step, ... < end of the order.
  const TileGrid grid = {params.n / kLeft, params.m / kRight};  // left x right
  const int cta = static_cast<int>(blockIdx.x);
  const int ctas = static_cast<int>(gridDim.x);
  const int run = ceil_div(grid.tiles(), ctas);
  const int first = kTogether ? cta : cta * run;
  const int step = kTogether ? ctas : 1;
  const int end = kTogether || first + run > grid.tiles() ? grid.tiles() : first + run;
  const auto tile_at = [&](int position) -> TileCoord {
    if constexpr (kTogether) return grouped_tile(position, grid, kTilesTogether);
    return {position / grid.n, position % grid.n};
  };

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      full(stage).init(2 * 128 + 1);  // all consumer threads and the producer
      empty(stage).init(2 * 128 + 1);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  Stopwatch<kProbe> watch;
  const int warpgroup = warpgroup_index();
  if (warpgroup == 0) {  // the producer
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) {
      int stage = 0;
      for (int position = first; position < end; position += step) {
        const TileCoord tile = tile_at(position);
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
        for (int k = 0; k < params.k; k += kDepth) {
          empty(stage).wait(empty(stage).arrive());
          watch.stop(Phase::kWaitEmpty);
          full(stage).arrive_expect(kStageBytes);
          ptx::tma_load(left(stage), params.b_map, full(stage).address, k, tile.m * kLeft);
          ptx::tma_load(right(stage), params.a_map, full(stage).address, k, tile.n * kRight);
          watch.stop(Phase::kIssue);
          stage = stage + 1 < kStages ? stage + 1 : 0;
        }
      }
      watch.write(params, true, false);
    }
  } else {  // a consumer
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    const int consumer_row = (warpgroup - 1) * kMmaM;
    for (int stage = 0; stage < kStages; ++stage) empty(stage).arrive();  // all stages are free
    float d[1][kRight / 2];
    int stage = 0;
    for (int position = first; position < end; position += step) {
      const TileCoord tile = tile_at(position);
      zero(d);
      for (int k = 0; k < params.k; k += kDepth) {
        full(stage).wait(full(stage).arrive());
        watch.stop(Phase::kWaitFull);
        ptx::wgmma_fence();
        multiply<kElement>(d, left(stage) + tile_bytes(consumer_row), right(stage));
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
        empty(stage).arrive();
        watch.stop(Phase::kMma);
        stage = stage + 1 < kStages ? stage + 1 : 0;
      }
      settle(d);
      store_tile<kElement>(d, params, tile.m * kLeft + consumer_row, tile.n * kRight);
      watch.stop(Phase::kStore);
    }
    watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
  }
}

template <Element kElement, bool kProbe>
__device__ __forceinline__ void persistent_apart(const LadderParams& params) {
  persistent<kElement, kProbe, false>(params);
}
template <Element kElement, bool kProbe>
__device__ __forceinline__ void persistent_together(const LadderParams& params) {
  persistent<kElement, kProbe, true>(params);
}

}  // namespace hgemm::ladder
