// Step 7: the barriers in PTX. A wait needs no arrival and no token if it names the parity of its
// phase. Only threads whose arrival carries information arrive: the producer once per stage at
// `full`; at `empty` one lane of each consumer warp, because a warp's wait for its wgmmas does not
// cover the other warps. That is 9 arrivals per stage instead of 514, and the consumers no longer
// wait for each other.
#pragma once

#include "common/pipeline.cuh"
#include "studies/ladder/common.cuh"
#include "studies/ladder/ring.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

inline constexpr int kLeft = 128;
inline constexpr int kRight = 256;
inline constexpr int kStages = 3;
using StageRing = Ring<kLeft, kRight, kStages, u32>;

/// The tiles of this CTA: positions first, first + step, ... < end of the good order.
struct CtaTiles {
  TileGrid grid;  ///< left x right
  int first, step;

  __device__ __forceinline__ explicit CtaTiles(const LadderParams& params)
      : grid{params.n / kLeft, params.m / kRight},
        first(static_cast<int>(blockIdx.x)),
        step(static_cast<int>(gridDim.x)) {}
  __device__ __forceinline__ int end() const { return grid.tiles(); }
  __device__ __forceinline__ TileCoord operator[](int position) const {
    return grouped_tile(position, grid, kTilesTogether);
  }
};

/// One thread: keeps the ring full, from one tile to the next.
template <bool kProbe>
__device__ __forceinline__ void produce(const LadderParams& params, const StageRing& ring,
                                        const CtaTiles& tiles, Stopwatch<kProbe>& watch) {
  PipelineState<kStages> state;
  for (int position = tiles.first; position < tiles.end(); position += tiles.step) {
    const TileCoord tile = tiles[position];
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
    for (int k = 0; k < params.k; k += kDepth) {
      const int stage = state.stage;
      // The phase before the first one counts as complete: all stages are free.
      ptx::mbarrier_wait(ring.empty(stage), state.parity() ^ 1);
      watch.stop(Phase::kWaitEmpty);
      ptx::mbarrier_arrive_expect_tx(ring.full(stage), StageRing::kStageBytes);
      ptx::tma_load(ring.left(stage), params.b_map, ring.full(stage), k, tile.m * kLeft);
      ptx::tma_load(ring.right(stage), params.a_map, ring.full(stage), k, tile.n * kRight);
      watch.stop(Phase::kIssue);
      state.advance();
    }
  }
  watch.write(params, true, false);
}

/// A warpgroup: multiplies its rows of every tile, and writes them.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void consume(const LadderParams& params, const StageRing& ring,
                                        const CtaTiles& tiles, int warpgroup,
                                        Stopwatch<kProbe>& watch) {
  const int consumer_row = (warpgroup - 1) * kMmaM;
  const bool first_lane = threadIdx.x % 32 == 0;
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
      if (first_lane) ptx::mbarrier_arrive(ring.empty(stage));
      watch.stop(Phase::kMma);
      state.advance();
    }
    settle(d);
    store_tile<kElement>(d, params, tile.m * kLeft + consumer_row, tile.n * kRight);
    watch.stop(Phase::kStore);
  }
  watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
}

/// 384 threads, 256 rows x 128 columns of D at a time.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void ptx_barriers(const LadderParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const StageRing ring(smem);
  const CtaTiles tiles(params);

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(ring.full(stage), 1);       // the producer
      ptx::mbarrier_init(ring.empty(stage), 2 * 4);  // the consumers' warps
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  Stopwatch<kProbe> watch;
  const int warpgroup = warpgroup_index();
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) produce(params, ring, tiles, watch);
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    consume<kElement>(params, ring, tiles, warpgroup, watch);
  }
}

}  // namespace hgemm::ladder
