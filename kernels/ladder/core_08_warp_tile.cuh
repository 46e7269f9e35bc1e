// Step 08: a warp has a square of its own, and a thread 8 x 16 elements.
//
// In step 07 a warp's 32 threads lie as 2 x 16: for each k it reads 16 different rows and 128
// different columns, 144 words for 2048 multiply-adds, and every warp reads all columns. Here the
// CTA's tile is divided among four warps, 64 x 64 each, and in it the threads lie as 8 x 4: 64 rows
// and 64 columns, 128 words for 4096 multiply-adds, and what a warp reads is read by one other warp
// only. The thread's own reads go down as well: 24 words for 128 multiply-adds, 0.19 each instead
// of 0.25. That takes 128 registers for sums and leaves 8 warps on an SM, whose 128 independent
// multiply-adds each hide what more warps hid before.
#pragma once

#include "ladder/core.cuh"

namespace hgemm::ladder {

/// 128 x 128 elements of D, 128 threads.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_warp_tile(const LadderParams& params) {
  constexpr int kTile = 128;
  constexpr int kThreads = 128;
  constexpr int kWarpTile = 64;
  // A thread's rows and columns are groups of four neighbours; the warp's 8 x 4 threads cover 32 x
  // 16 with one group each.
  constexpr int kRowGroups = 2;
  constexpr int kColGroups = 4;
  __shared__ VectorTile<kElement, kTile, true> a_tile;
  __shared__ VectorTile<kElement, kTile, true> b_tile;
  const Work<kElement, kTile, kTile> work(params);
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  const u32 row = warp / 2 * kWarpTile + lane / 4 * 4;
  const u32 col = warp % 2 * kWarpTile + lane % 4 * 4;

  Stopwatch<kProbed> watch;
  float sums[4 * kRowGroups][4 * kColGroups] = {};
  for (u32 k = 0; k < work.k(); k += kCoreDepth) {
    fill_by_vectors<kElement, kTile, kThreads>(a_tile, work.a(0, k), work.k());
    fill_by_vectors<kElement, kTile, kThreads>(b_tile, work.b(0, k), work.k());
    __syncthreads();
    watch.stop(Phase::kLoad);
#pragma unroll
    for (u32 depth = 0; depth < kCoreDepth; ++depth) {
      float4 b[kColGroups];
#pragma unroll
      for (u32 j = 0; j < kColGroups; ++j) b[j] = b_tile.four(depth, col + j * 16);
#pragma unroll
      for (u32 i = 0; i < kRowGroups; ++i) {
        const float4 four = a_tile.four(depth, row + i * 32);
        const float a[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (u32 r = 0; r < 4; ++r) {
          float(&sum)[4 * kColGroups] = sums[4 * i + r];
#pragma unroll
          for (u32 j = 0; j < kColGroups; ++j) {
            sum[4 * j] = fmaf(a[r], b[j].x, sum[4 * j]);
            sum[4 * j + 1] = fmaf(a[r], b[j].y, sum[4 * j + 1]);
            sum[4 * j + 2] = fmaf(a[r], b[j].z, sum[4 * j + 2]);
            sum[4 * j + 3] = fmaf(a[r], b[j].w, sum[4 * j + 3]);
          }
        }
      }
    }
    __syncthreads();
    watch.stop(Phase::kMma);
  }
#pragma unroll
  for (u32 i = 0; i < 4 * kRowGroups; ++i) {
    Stored<kElement>* const d = work.d(row + i % 4 + i / 4 * 32, col);
#pragma unroll
    for (u32 j = 0; j < kColGroups; ++j) store_four<kElement>(d + j * 16, &sums[i][4 * j]);
  }
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
