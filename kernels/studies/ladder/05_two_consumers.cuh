// Step 5: 128 x 256 elements of D, as large as two consumer warpgroups can hold: each takes 64 rows
// of the left operand and shares the right one. With its 128 accumulators and all else a consumer
// thread needs more registers than 384 threads can have, so the producer's warps, which need few,
// give theirs away (setmaxnreg).
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

/// 384 threads, 256 rows x 128 columns of D.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void two_consumers(const LadderParams& params) {
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

  const int right_tiles = params.m / kRight;
  const int left_row = static_cast<int>(blockIdx.x) / right_tiles * kLeft;
  const int right_row = static_cast<int>(blockIdx.x) % right_tiles * kRight;

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
  } else {  // a consumer
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    const int consumer_row = (warpgroup - 1) * kMmaM;
    for (int stage = 0; stage < kStages; ++stage) empty(stage).arrive();  // all stages are free
    float d[1][kRight / 2];
    zero(d);
    int stage = 0;
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
    store_tile<kElement>(d, params, left_row + consumer_row, right_row);
    watch.stop(Phase::kStore);
    watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
  }
}

}  // namespace hgemm::ladder
