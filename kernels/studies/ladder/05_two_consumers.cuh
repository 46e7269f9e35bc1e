// Step 5: 128 x 256 elements of D, the largest tile that two consumer warpgroups can hold. Each
// takes 64 rows of the left operand, and both share the right one. A consumer thread has 128
// accumulators and in all needs more registers than 384 threads can have each. The producer's warps
// need few, so they give theirs away (setmaxnreg).
#pragma once

#include "studies/ladder/block_barrier.cuh"
#include "studies/ladder/common.cuh"
#include "studies/ladder/ring.cuh"

namespace hgemm::ladder {

inline constexpr int kLeft = 128;
inline constexpr int kRight = 256;
inline constexpr int kStages = 3;
using StageRing = Ring<kLeft, kRight, kStages, BlockBarrier>;

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

/// A warpgroup: multiplies its rows of what is in the ring, and writes them.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void consume(const LadderParams& params, const StageRing& ring,
                                        int left_row, int right_row, int warpgroup,
                                        Stopwatch<kProbe>& watch) {
  const int consumer_row = (warpgroup - 1) * kMmaM;
  for (int stage = 0; stage < kStages; ++stage) ring.empty(stage).arrive();  // all stages are free
  float d[1][kRight / 2];
  zero(d);
  int stage = 0;
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
  store_tile<kElement>(d, params, left_row + consumer_row, right_row);
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
}

/// 384 threads, 256 rows x 128 columns of D.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void two_consumers(const LadderParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const StageRing ring(smem);

  const int right_tiles = params.m / kRight;
  const int left_row = static_cast<int>(blockIdx.x) / right_tiles * kLeft;
  const int right_row = static_cast<int>(blockIdx.x) % right_tiles * kRight;

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
    if (threadIdx.x == 0) produce(params, ring, left_row, right_row, watch);
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    consume<kElement>(params, ring, left_row, right_row, warpgroup, watch);
  }
}

}  // namespace hgemm::ladder
