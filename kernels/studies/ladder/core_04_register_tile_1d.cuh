// Step 04: a thread computes eight elements of D in one column.
//
// Step 03 is limited by its two reads of shared memory for one multiply-add: in a clock, an SM
// executes the multiply-adds of four warps, but its shared memory serves a read of only one warp.
// Now a thread reads one element of B into a register and uses it for eight rows of A: 9 reads for
// 8 multiply-adds, which is 1.1 instead of 2 for each. A CTA covers 64 x 64 elements instead of 32
// x 32, which halves the loads for each product.
//
// Both tiles now lie along M and N. In the loop the lanes of a warp have 32 neighbouring columns
// and the same eight rows: no conflicts. The writes to shared memory have a 16-way conflict
// (fill_by_elements).
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// 64 x 64 elements of D, 512 threads.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_register_tile_1d(const LadderParams& params) {
  constexpr int kTile = 64;
  constexpr int kThreads = 512;
  constexpr int kRows = 8;
  __shared__ alignas(16) float a_tile[kCoreDepth * kTile];
  __shared__ alignas(16) float b_tile[kCoreDepth * kTile];
  const Work<kElement, kTile, kTile> work(params);
  const u32 row = threadIdx.x / kTile * kRows;
  const u32 col = threadIdx.x % kTile;

  Stopwatch<kProbed> watch;
  float sums[kRows] = {};
  for (u32 k = 0; k < work.k(); k += kCoreDepth) {
    fill_by_elements<kElement, kTile, kThreads>(a_tile, work.a(0, k), work.k());
    fill_by_elements<kElement, kTile, kThreads>(b_tile, work.b(0, k), work.k());
    __syncthreads();
    watch.stop(Phase::kLoad);
#pragma unroll
    for (u32 depth = 0; depth < kCoreDepth; ++depth) {
      const float b = b_tile[depth * kTile + col];
#pragma unroll
      for (u32 i = 0; i < kRows; ++i) {
        sums[i] = fmaf(a_tile[depth * kTile + row + i], b, sums[i]);
      }
    }
    __syncthreads();
    watch.stop(Phase::kMma);
  }
#pragma unroll
  for (u32 i = 0; i < kRows; ++i) {
    *work.d(row + i, col) = from_float<kElement>(sums[i]);
  }
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
