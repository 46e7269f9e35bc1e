// Step 8: clusters. Two CTAs side by side along the left operand need the same right tile: each
// fetches half of it and multicasts it to both, so L2 serves a third fewer requests. A stage may be
// refilled only when the consumers of both CTAs have read it, so they arrive at the barriers of
// both.
#pragma once

#include "common/pipeline.cuh"
#include "studies/ladder/common.cuh"
#include "studies/ladder/ring.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

inline constexpr int kLeft = 128;
inline constexpr int kRight = 256;
inline constexpr int kStages = 3;
inline constexpr int kCluster = 2;
using StageRing = Ring<kLeft, kRight, kStages, u32>;

/// The tiles of this CTA's cluster: positions first, first + step, ... < end of the good order, in
/// tiles of a whole cluster. Its CTAs take turns along the left operand.
struct ClusterTiles {
  TileGrid grid;  ///< left x right
  int first, step;

  __device__ __forceinline__ explicit ClusterTiles(const LadderParams& params)
      : grid{params.n / (kLeft * kCluster), params.m / kRight},
        first(static_cast<int>(blockIdx.x) / kCluster),
        step(static_cast<int>(gridDim.x) / kCluster) {}
  __device__ __forceinline__ int end() const { return grid.tiles(); }
  __device__ __forceinline__ TileCoord operator[](int position) const {
    return grouped_tile(position, grid, kTilesTogether / kCluster);
  }
};

/// One thread: keeps the ring full, from one tile to the next.
template <bool kProbe>
__device__ __forceinline__ void produce(const LadderParams& params, const StageRing& ring,
                                        const ClusterTiles& tiles, int rank,
                                        Stopwatch<kProbe>& watch) {
  constexpr int kShare = kRight / kCluster;  // of the right tile, which both CTAs need
  PipelineState<kStages> state;
  for (int position = tiles.first; position < tiles.end(); position += tiles.step) {
    const TileCoord tile = tiles[position];
    const int left_row = (tile.m * kCluster + rank) * kLeft;
    const int right_row = tile.n * kRight + rank * kShare;
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
    for (int k = 0; k < params.k; k += kDepth) {
      const int stage = state.stage;
      ptx::mbarrier_wait(ring.empty(stage), state.parity() ^ 1);
      watch.stop(Phase::kWaitEmpty);
      ptx::mbarrier_arrive_expect_tx(ring.full(stage), StageRing::kStageBytes);
      ptx::tma_load(ring.left(stage), params.b_map, ring.full(stage), k, left_row);
      ptx::tma_load_multicast(ring.right(stage) + static_cast<u32>(rank) * tile_bytes(kShare),
                              params.a_map, ring.full(stage), k, right_row, 0b11);
      watch.stop(Phase::kIssue);
      state.advance();
    }
  }
  watch.write(params, true, false);
}

/// A warpgroup: multiplies its rows of every tile, and writes them.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void consume(const LadderParams& params, const StageRing& ring,
                                        const ClusterTiles& tiles, int rank, int warpgroup,
                                        Stopwatch<kProbe>& watch) {
  const int consumer_row = (warpgroup - 1) * kMmaM;
  const u32 lane = threadIdx.x % 32;
  PipelineState<kStages> state;
  float d[1][kRight / 2];
  for (int position = tiles.first; position < tiles.end(); position += tiles.step) {
    const TileCoord tile = tiles[position];
    zero(d);
    for (int k = 0; k < params.k; k += kDepth) {
      const int stage = state.stage;
      ptx::mbarrier_wait(ring.full(stage), state.parity());
      watch.stop(Phase::kWaitFull);
      ptx::wgmma_fence();
      multiply<kElement>(d, ring.left(stage) + tile_bytes(consumer_row), ring.right(stage));
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      if (lane < kCluster) ptx::mbarrier_arrive_cluster(ring.empty(stage), lane);
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

/// 384 threads, 256 rows x 128 columns of D at a time, clusters of two.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void clusters(const LadderParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const StageRing ring(smem);
  const int rank = static_cast<int>(ptx::cluster_rank());
  const ClusterTiles tiles(params);

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(ring.full(stage), 1);                  // the producer
      ptx::mbarrier_init(ring.empty(stage), 2 * 4 * kCluster);  // the consumers' warps of both CTAs
    }
    ptx::fence_mbarrier_init();
  }
  __syncwarp();
  ptx::cluster_sync();

  Stopwatch<kProbe> watch;
  const int warpgroup = warpgroup_index();
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) produce(params, ring, tiles, rank, watch);
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    consume<kElement>(params, ring, tiles, rank, warpgroup, watch);
  }
  // The peer may still copy into this CTA's stages, or arrive at its barriers.
  __syncwarp();
  ptx::cluster_sync();
}

}  // namespace hgemm::ladder
