// Step 05: a thread computes 8 x 8 elements of D.
//
// A column of eight uses its one element of B eight times but each element of A once. A square uses
// both eight times: 16 reads of shared memory for 64 multiply-adds, 0.25 for each instead of 1.1.
// Shared memory can serve that rate (step 04). The CTA's tile grows to 128 x 128, which halves the
// reads of global memory again.
//
// A thread's rows and columns are 16 apart, so that the lanes of a warp read 16 neighbouring
// columns and two neighbouring rows, one word at a time: no conflicts. The writes to shared memory
// still have their 16-way conflict.
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// 128 x 128 elements of D, 256 threads.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_register_tile_2d(const LadderParams& params) {
  constexpr int kTile = 128;
  constexpr int kThreads = 256;
  constexpr int kSide = 8;              // side of a thread's square
  constexpr int kStep = kTile / kSide;  // distance between its rows, or columns
  __shared__ float a_tile[kCoreDepth * kTile];
  __shared__ float b_tile[kCoreDepth * kTile];
  const Work<kElement, kTile, kTile> work(params);
  const u32 row = threadIdx.x / kStep;
  const u32 col = threadIdx.x % kStep;

  Stopwatch<kProbed> watch;
  float sums[kSide][kSide] = {};
  for (u32 k = 0; k < work.k(); k += kCoreDepth) {
    fill_by_elements<kElement, kTile, kThreads>(a_tile, work.a(0, k), work.k());
    fill_by_elements<kElement, kTile, kThreads>(b_tile, work.b(0, k), work.k());
    __syncthreads();
    watch.stop(Phase::kLoad);
#pragma unroll
    for (u32 depth = 0; depth < kCoreDepth; ++depth) {
      float a[kSide];
      float b[kSide];
#pragma unroll
      for (u32 i = 0; i < kSide; ++i) {
        a[i] = a_tile[depth * kTile + row + i * kStep];
        b[i] = b_tile[depth * kTile + col + i * kStep];
      }
#pragma unroll
      for (u32 i = 0; i < kSide; ++i) {
#pragma unroll
        for (u32 j = 0; j < kSide; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
    __syncthreads();
    watch.stop(Phase::kMma);
  }
#pragma unroll
  for (u32 i = 0; i < kSide; ++i) {
    Stored<kElement>* const d = work.d(row + i * kStep, col);
#pragma unroll
    for (u32 j = 0; j < kSide; ++j) d[j * kStep] = from_float<kElement>(sums[i][j]);
  }
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
