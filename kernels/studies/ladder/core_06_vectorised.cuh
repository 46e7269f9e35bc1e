// Step 06: accesses of 16 bytes to global memory and to shared memory.
//
// The tiles and the sums are those of step 05, but an instruction moves four words instead of one.
// For each k a thread issues 4 reads of shared memory instead of 16. For each tile it issues a
// quarter of the global loads (fp32; an eighth for the 16-bit types), so that more issue slots are
// left for the multiply-adds. For this a thread's rows and columns form two groups of four
// neighbours, 64 apart. Eight lanes then read 8 x 16 neighbouring bytes, which touch all 32 banks
// once.
//
// When a warp fills the tiles, it now writes more rows and fewer k at a time. The conflict goes
// from 16-way to 4-way for fp32 and 2-way for the other types (VectorTile).
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// 128 x 128 elements of D, 256 threads. With `kPadded` it is step 07.
template <Element kElement, bool kProbed, bool kPadded = false>
__device__ __forceinline__ void core_vectorised(const LadderParams& params) {
  constexpr int kTile = 128;
  constexpr int kThreads = 256;
  constexpr int kAcross = 16;  // threads along N; each has 2 x 4 columns
  __shared__ VectorTile<kElement, kTile, kPadded> a_tile;
  __shared__ VectorTile<kElement, kTile, kPadded> b_tile;
  const Work<kElement, kTile, kTile> work(params);
  const u32 row = threadIdx.x / kAcross * 4;
  const u32 col = threadIdx.x % kAcross * 4;

  Stopwatch<kProbed> watch;
  float sums[8][8] = {};
  for (u32 k = 0; k < work.k(); k += kCoreDepth) {
    fill_by_vectors<kElement, kTile, kThreads>(a_tile, work.a(0, k), work.k());
    fill_by_vectors<kElement, kTile, kThreads>(b_tile, work.b(0, k), work.k());
    __syncthreads();
    watch.stop(Phase::kLoad);
// If the loop is unrolled completely, the probed build spills.
#pragma unroll 8
    for (u32 depth = 0; depth < kCoreDepth; ++depth) {
      const float4 a_low = a_tile.four(depth, row), a_high = a_tile.four(depth, row + 64);
      const float4 b_low = b_tile.four(depth, col), b_high = b_tile.four(depth, col + 64);
      const float a[8] = {a_low.x,  a_low.y,  a_low.z,  a_low.w,
                          a_high.x, a_high.y, a_high.z, a_high.w};
      const float b[8] = {b_low.x,  b_low.y,  b_low.z,  b_low.w,
                          b_high.x, b_high.y, b_high.z, b_high.w};
#pragma unroll
      for (u32 i = 0; i < 8; ++i) {
#pragma unroll
        for (u32 j = 0; j < 8; ++j) sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
    __syncthreads();
    watch.stop(Phase::kMma);
  }
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    Stored<kElement>* const d = work.d(row + i % 4 + i / 4 * 64, col);
    store_four<kElement>(d, &sums[i][0]);
    store_four<kElement>(d + 64, &sums[i][4]);
  }
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
