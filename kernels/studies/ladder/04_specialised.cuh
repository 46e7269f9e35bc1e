// Step 4: loads and products overlap. A producer warpgroup (one thread of it) keeps a ring of five
// stages full, a consumer warpgroup multiplies them. Two barriers per stage: `full` says that its
// data have arrived, `empty` that the consumers have read it.
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"
#include "studies/ladder/ring.cuh"

namespace hgemm::ladder {

inline constexpr int kTile = 128;
inline constexpr int kStages = 5;
using StageRing = Ring<kTile, kTile, kStages, BlockBarrier>;

/// One thread: keeps the ring full.
template <bool kProbe>
__device__ __forceinline__ void produce(const LadderParams& params, const StageRing& ring,
                                        int left_row, int right_row, Stopwatch<kProbe>& watch) {
  int stage = 0;
  for (int k = 0; k < params.k; k += kDepth) {
    ring.empty(stage).wait(ring.empty(stage).arrive());
    watch.stop(Phase::kWaitEmpty);
    ring.full(stage).arrive_expect(StageRing::kStageBytes);
    ptx::tma_load(ring.left(stage), params.b_map, ring.full(stage).address, k, left_row);
    ptx::tma_load(ring.right(stage), params.a_map, ring.full(stage).address, k, right_row);
    watch.stop(Phase::kIssue);
    stage = stage + 1 < kStages ? stage + 1 : 0;
  }
  watch.write(params, true, false);
}

/// A warpgroup: multiplies what is in the ring, and writes the tile.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void consume(const LadderParams& params, const StageRing& ring,
                                        int left_row, int right_row, Stopwatch<kProbe>& watch) {
  for (int stage = 0; stage < kStages; ++stage) ring.empty(stage).arrive();  // all stages are free
  float d[2][kTile / 2];
  zero(d);
  int stage = 0;
  for (int k = 0; k < params.k; k += kDepth) {
    ring.full(stage).wait(ring.full(stage).arrive());
    watch.stop(Phase::kWaitFull);
    ptx::wgmma_fence();
    multiply<kElement>(d, ring.left(stage), ring.right(stage));
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ring.empty(stage).arrive();
    watch.stop(Phase::kMma);
    stage = stage + 1 < kStages ? stage + 1 : 0;
  }
  settle(d);
  store_tile<kElement>(d, params, left_row, right_row);
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
}

/// 256 threads, 128 x 128 elements of D.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void specialised(const LadderParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const StageRing ring(smem);

  const int right_tiles = params.m / kTile;
  const int left_row = static_cast<int>(blockIdx.x) / right_tiles * kTile;
  const int right_row = static_cast<int>(blockIdx.x) % right_tiles * kTile;

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ring.full(stage).init(128 + 1);  // all consumer threads and the producer
      ring.empty(stage).init(128 + 1);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  Stopwatch<kProbe> watch;
  if (warpgroup_index() == 0) {
    if (threadIdx.x == 0) produce(params, ring, left_row, right_row, watch);
  } else {
    consume<kElement>(params, ring, left_row, right_row, watch);
  }
}

}  // namespace hgemm::ladder
