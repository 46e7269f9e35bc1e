// Step 6: as many CTAs as the GPU holds, each of which computes many tiles: while the consumers
// write one tile, the producer already loads the next. The order of the tiles can now be chosen.
// Tiles that run at the same time should share rows and columns, so that the L2 cache serves most
// loads:
//   6   each CTA takes a run of neighbouring tiles: the CTAs are spread over all of D
//   6b  the CTAs together take 16 x 8 tiles at a time
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"
#include "studies/ladder/ring.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

inline constexpr int kLeft = 128;
inline constexpr int kRight = 256;
inline constexpr int kStages = 3;
using StageRing = Ring<kLeft, kRight, kStages, BlockBarrier>;

/// The tiles of this CTA: positions first, first + step, ... < end of the order. `kTogether`: the
/// good order.
template <bool kTogether>
struct CtaTiles {
  TileGrid grid;  ///< left x right
  int first, step, end;

  __device__ __forceinline__ explicit CtaTiles(const LadderParams& params)
      : grid{params.n / kLeft, params.m / kRight} {
    const int cta = static_cast<int>(blockIdx.x);
    const int ctas = static_cast<int>(gridDim.x);
    const int run = ceil_div(grid.tiles(), ctas);
    first = kTogether ? cta : cta * run;
    step = kTogether ? ctas : 1;
    end = kTogether || first + run > grid.tiles() ? grid.tiles() : first + run;
  }
  __device__ __forceinline__ TileCoord operator[](int position) const {
    if constexpr (kTogether) return grouped_tile(position, grid, kTilesTogether);
    return {position / grid.n, position % grid.n};
  }
};

/// One thread: keeps the ring full, from one tile to the next.
template <class Tiles, bool kProbe>
__device__ __forceinline__ void produce(const LadderParams& params, const StageRing& ring,
                                        const Tiles& tiles, Stopwatch<kProbe>& watch) {
  int stage = 0;
  for (int position = tiles.first; position < tiles.end; position += tiles.step) {
    const TileCoord tile = tiles[position];
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
    for (int k = 0; k < params.k; k += kDepth) {
      ring.empty(stage).wait(ring.empty(stage).arrive());
      watch.stop(Phase::kWaitEmpty);
      ring.full(stage).arrive_expect(StageRing::kStageBytes);
      ptx::tma_load(ring.left(stage), params.b_map, ring.full(stage).address, k, tile.m * kLeft);
      ptx::tma_load(ring.right(stage), params.a_map, ring.full(stage).address, k, tile.n * kRight);
      watch.stop(Phase::kIssue);
      stage = stage + 1 < kStages ? stage + 1 : 0;
    }
  }
  watch.write(params, true, false);
}

/// A warpgroup: multiplies its rows of every tile, and writes them.
template <Element kElement, class Tiles, bool kProbe>
__device__ __forceinline__ void consume(const LadderParams& params, const StageRing& ring,
                                        const Tiles& tiles, int warpgroup,
                                        Stopwatch<kProbe>& watch) {
  const int consumer_row = (warpgroup - 1) * kMmaM;
  for (int stage = 0; stage < kStages; ++stage) ring.empty(stage).arrive();  // all stages are free
  float d[1][kRight / 2];
  int stage = 0;
  for (int position = tiles.first; position < tiles.end; position += tiles.step) {
    const TileCoord tile = tiles[position];
    zero(d);
    for (int k = 0; k < params.k; k += kDepth) {
      ring.full(stage).wait(ring.full(stage).arrive());
      watch.stop(Phase::kWaitFull);
      ptx::wgmma_fence();
      multiply<kElement>(d, ring.left(stage) + tile_bytes(consumer_row), ring.right(stage));
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      ring.empty(stage).arrive();
      watch.stop(Phase::kMma);
      stage = stage + 1 < kStages ? stage + 1 : 0;
    }
    settle(d);
    store_tile<kElement>(d, params, tile.m * kLeft + consumer_row, tile.n * kRight);
    watch.stop(Phase::kStore);
  }
  watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
}

/// 384 threads, 256 rows x 128 columns of D at a time. `kTogether`: the good order.
template <Element kElement, bool kProbe, bool kTogether>
__device__ __forceinline__ void persistent(const LadderParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const StageRing ring(smem);
  const CtaTiles<kTogether> tiles(params);

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ring.full(stage).init(2 * 128 + 1);  // all consumer threads and the producer
      ring.empty(stage).init(2 * 128 + 1);
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

template <Element kElement, bool kProbe>
__device__ __forceinline__ void persistent_apart(const LadderParams& params) {
  persistent<kElement, kProbe, false>(params);
}
template <Element kElement, bool kProbe>
__device__ __forceinline__ void persistent_together(const LadderParams& params) {
  persistent<kElement, kProbe, true>(params);
}

}  // namespace hgemm::ladder
