// Step 4: loads and products overlap. A producer warpgroup (one thread of it) keeps a ring of five
// stages full, a consumer warpgroup multiplies them. Two barriers per stage: `full` says that its
// data have arrived, `empty` that the consumers have read it.
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

/// 256 threads, 128 x 128 elements of D.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void specialised(const LadderParams& params) {
  constexpr int kTile = 128;
  constexpr int kStages = 5;
  constexpr u32 kStageBytes = 2 * tile_bytes(kTile);
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 stages = aligned_smem(smem);
  const auto left = [&](int stage) { return stages + static_cast<u32>(stage) * kStageBytes; };
  const auto right = [&](int stage) { return left(stage) + tile_bytes(kTile); };
  const auto full = [&](int stage) {
    return BlockBarrier{stages + kStages * kStageBytes + static_cast<u32>(stage) * 8};
  };
  const auto empty = [&](int stage) { return BlockBarrier{full(stage).address + kStages * 8}; };

  const int right_tiles = params.m / kTile;
  const int left_row = static_cast<int>(blockIdx.x) / right_tiles * kTile;
  const int right_row = static_cast<int>(blockIdx.x) % right_tiles * kTile;

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      full(stage).init(128 + 1);  // all consumer threads and the producer
      empty(stage).init(128 + 1);
    }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  Stopwatch<kProbe> watch;
  if (warpgroup_index() == 0) {  // the producer
    if (threadIdx.x == 0) {
      int stage = 0;
      for (int k = 0; k < params.k; k += kDepth) {
        empty(stage).wait(empty(stage).arrive());
        watch.stop(Phase::kWaitEmpty);
        full(stage).arrive_expect(kStageBytes);
        ptx::tma_load(left(stage), params.b_map, full(stage).address, k, left_row);
        ptx::tma_load(right(stage), params.a_map, full(stage).address, k, right_row);
        watch.stop(Phase::kIssue);
        stage = stage + 1 < kStages ? stage + 1 : 0;
      }
      watch.write(params, true, false);
    }
  } else {                                                                // the consumer
    for (int stage = 0; stage < kStages; ++stage) empty(stage).arrive();  // all stages are free
    float d[2][kTile / 2];
    zero(d);
    int stage = 0;
    for (int k = 0; k < params.k; k += kDepth) {
      full(stage).wait(full(stage).arrive());
      watch.stop(Phase::kWaitFull);
      ptx::wgmma_fence();
      multiply<kElement>(d, left(stage), right(stage));
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      empty(stage).arrive();
      watch.stop(Phase::kMma);
      stage = stage + 1 < kStages ? stage + 1 : 0;
    }
    settle(d);
    store_tile<kElement>(d, params, left_row, right_row);
    watch.stop(Phase::kStore);
    watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
  }
}

}  // namespace hgemm::ladder
