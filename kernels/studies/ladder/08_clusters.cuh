// Step 8: clusters. Two CTAs that lie side by side along the left operand need the same right tile:
// each fetches half of it and multicasts it to both, so the L2 cache is asked for a third less. A
// stage may be refilled when the consumers of both CTAs have read it, so they arrive at the
// barriers of both.
#pragma once

#include "common/pipeline.cuh"
#include "studies/ladder/common.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

/// 384 threads, 256 rows x 128 columns of D at a time, clusters of two.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void clusters(const LadderParams& params) {
  constexpr int kLeft = 128;
  constexpr int kRight = 256;
  constexpr int kStages = 3;
  constexpr int kCluster = 2;
  constexpr u32 kStageBytes = tile_bytes(kLeft) + tile_bytes(kRight);
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 stages = aligned_smem(smem);
  const auto left = [&](int stage) { return stages + static_cast<u32>(stage) * kStageBytes; };
  const auto right = [&](int stage) { return left(stage) + tile_bytes(kLeft); };
  const auto full = [&](int stage) {
    return stages + kStages * kStageBytes + static_cast<u32>(stage) * 8;
  };
  const auto empty = [&](int stage) { return full(stage) + kStages * 8; };

  // In tiles of a whole cluster; its CTAs take turns along the left operand.
  const TileGrid grid = {params.n / (kLeft * kCluster), params.m / kRight};
  const int rank = static_cast<int>(ptx::cluster_rank());
  const int first = static_cast<int>(blockIdx.x) / kCluster;
  const int step = static_cast<int>(gridDim.x) / kCluster;

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);                  // the producer
      ptx::mbarrier_init(empty(stage), 2 * 4 * kCluster);  // the consumers' warps of both CTAs
    }
    ptx::fence_mbarrier_init();
  }
  __syncwarp();
  ptx::cluster_sync();

  Stopwatch<kProbe> watch;
  const int warpgroup = warpgroup_index();
  PipelineState<kStages> state;
  if (warpgroup == 0) {  // the producer
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) {
      constexpr int kShare = kRight / kCluster;  // of the right tile, which both CTAs need
      for (int position = first; position < grid.tiles(); position += step) {
        const TileCoord tile = grouped_tile(position, grid, kTilesTogether / kCluster);
        const int left_row = (tile.m * kCluster + rank) * kLeft;
        const int right_row = tile.n * kRight + rank * kShare;
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
        for (int k = 0; k < params.k; k += kDepth) {
          const int stage = state.stage;
          ptx::mbarrier_wait(empty(stage), state.parity() ^ 1);
          watch.stop(Phase::kWaitEmpty);
          ptx::mbarrier_arrive_expect_tx(full(stage), kStageBytes);
          ptx::tma_load(left(stage), params.b_map, full(stage), k, left_row);
          ptx::tma_load_multicast(right(stage) + static_cast<u32>(rank) * tile_bytes(kShare),
                                  params.a_map, full(stage), k, right_row, 0b11);
          watch.stop(Phase::kIssue);
          state.advance();
        }
      }
      watch.write(params, true, false);
    }
  } else {  // a consumer
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    const int consumer_row = (warpgroup - 1) * kMmaM;
    const u32 lane = threadIdx.x % 32;
    float d[1][kRight / 2];
    for (int position = first; position < grid.tiles(); position += step) {
      const TileCoord tile = grouped_tile(position, grid, kTilesTogether / kCluster);
      zero(d);
      for (int k = 0; k < params.k; k += kDepth) {
        const int stage = state.stage;
        ptx::mbarrier_wait(full(stage), state.parity());
        watch.stop(Phase::kWaitFull);
        ptx::wgmma_fence();
        multiply<kElement>(d, left(stage) + tile_bytes(consumer_row), right(stage));
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
        if (lane < kCluster) ptx::mbarrier_arrive_cluster(empty(stage), lane);
        watch.stop(Phase::kMma);
        state.advance();
      }
      settle(d);
      const int left_row = (tile.m * kCluster + rank) * kLeft + consumer_row;
      store_tile<kElement>(d, params, left_row, tile.n * kRight);
      watch.stop(Phase::kStore);
    }
    watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
  }
  // The peer may still copy into this CTA's stages, or arrive at its barriers.
  __syncwarp();
  ptx::cluster_sync();
}

}  // namespace hgemm::ladder
