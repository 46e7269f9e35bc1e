// Step 7: the barriers in PTX. A wait needs no arrival and no token if it names the parity of its
// phase, and nobody has to arrive but those whose arrival says something: the producer once per
// stage at `full`; at `empty` one lane for each consumer warp, since a warp's wait for its wgmmas
// says nothing of the other warps. 9 arrivals a stage instead of 514, and the consumers no longer
// wait for each other.
#pragma once

#include "common/pipeline.cuh"
#include "studies/ladder/common.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

/// 384 threads, 256 rows x 128 columns of D at a time.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void ptx_barriers(const LadderParams& params) {
  constexpr int kLeft = 128;
  constexpr int kRight = 256;
  constexpr int kStages = 3;
  constexpr u32 kStageBytes = tile_bytes(kLeft) + tile_bytes(kRight);
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 stages = aligned_smem(smem);
  const auto left = [&](int stage) { return stages + static_cast<u32>(stage) * kStageBytes; };
  const auto right = [&](int stage) { return left(stage) + tile_bytes(kLeft); };
  const auto full = [&](int stage) {
    return stages + kStages * kStageBytes + static_cast<u32>(stage) * 8;
  };
  const auto empty = [&](int stage) { return full(stage) + kStages * 8; };

  const TileGrid grid = {params.n / kLeft, params.m / kRight};  // left x right
  const int first = static_cast<int>(blockIdx.x);
  const int step = static_cast<int>(gridDim.x);

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);       // the producer
      ptx::mbarrier_init(empty(stage), 2 * 4);  // the consumers' warps
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  Stopwatch<kProbe> watch;
  const int warpgroup = warpgroup_index();
  PipelineState<kStages> state;
  if (warpgroup == 0) {  // the producer
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) {
      for (int position = first; position < grid.tiles(); position += step) {
        const TileCoord tile = grouped_tile(position, grid, kTilesTogether);
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
        for (int k = 0; k < params.k; k += kDepth) {
          const int stage = state.stage;
          // The phase before the first one counts as complete: all stages are free.
          ptx::mbarrier_wait(empty(stage), state.parity() ^ 1);
          watch.stop(Phase::kWaitEmpty);
          ptx::mbarrier_arrive_expect_tx(full(stage), kStageBytes);
          ptx::tma_load(left(stage), params.b_map, full(stage), k, tile.m * kLeft);
          ptx::tma_load(right(stage), params.a_map, full(stage), k, tile.n * kRight);
          watch.stop(Phase::kIssue);
          state.advance();
        }
      }
      watch.write(params, true, false);
    }
  } else {  // a consumer
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    const int consumer_row = (warpgroup - 1) * kMmaM;
    const bool first_lane = threadIdx.x % 32 == 0;
    float d[1][kRight / 2];
    for (int position = first; position < grid.tiles(); position += step) {
      const TileCoord tile = grouped_tile(position, grid, kTilesTogether);
      zero(d);
      for (int k = 0; k < params.k; k += kDepth) {
        const int stage = state.stage;
        ptx::mbarrier_wait(full(stage), state.parity());
        watch.stop(Phase::kWaitFull);
        ptx::wgmma_fence();
        multiply<kElement>(d, left(stage) + tile_bytes(consumer_row), right(stage));
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
        if (first_lane) ptx::mbarrier_arrive(empty(stage));
        watch.stop(Phase::kMma);
        state.advance();
      }
      settle(d);
      store_tile<kElement>(d, params, tile.m * kLeft + consumer_row, tile.n * kRight);
      watch.stop(Phase::kStore);
    }
    watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
  }
}

}  // namespace hgemm::ladder
