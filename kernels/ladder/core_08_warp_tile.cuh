// Step 08: a warp has a rectangle of its own, and the next tile comes while this one is multiplied.
//
// In step 07 a warp's 32 threads lie as 2 x 16: for each k it reads 16 different rows and 128
// different columns, 144 words for 2048 multiply-adds, and every warp reads all columns. Here the
// CTA's tile is divided among eight warps, 32 x 64 each, and in it the threads lie as 4 x 8: 32
// rows and 64 columns, 96 words for as many multiply-adds. A thread still has 8 x 8 elements, in
// groups of four neighbours that lie half a warp's tile apart, so that what the warp reads at a
// time are neighbouring 16 bytes: four of A, or eight of B, which are all 32 banks once.
//
// Fewer words alone did not pay: as 64 x 64 for a warp and 8 x 16 for a thread, with half the warps
// on an SM, this step was slower than step 07 on an H200 at 4096^3 (39.0 against 40.1 TFLOP/s in
// fp32, 39.4 against 42.6 in bf16). What that left as it was is the wait for global memory between
// two barriers. So the tiles lie in shared memory twice: the next one is on its way to registers
// while this one is multiplied, then goes where nobody reads any more, and one barrier for each 16
// of K does.
#pragma once

#include "ladder/core.cuh"

namespace hgemm::ladder {

/// A thread's part of fill_by_vectors(), so that multiply-adds fit between loading and writing.
template <Element kElement, int kRows, int kThreads>
class VectorsOnTheWay {
  using Tile = VectorTile<kElement, kRows, true>;
  static constexpr u32 kLoads = kRows * Tile::kVectors / kThreads;
  static constexpr u32 kRowStep = kThreads / Tile::kVectors;
  static_assert(kLoads * kThreads == kRows * Tile::kVectors && kThreads % Tile::kVectors == 0);

 public:
  __device__ __forceinline__ void load(const Stored<kElement>* source, u32 row_length) {
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      vectors_[i] =
          *reinterpret_cast<const uint4*>(&source[u64{row(i)} * row_length + first_depth()]);
    }
  }
  __device__ __forceinline__ void write(Tile& tile) const {
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      float wide[kPerVector<kElement>];
      widen<kElement>(vectors_[i], wide);
#pragma unroll
      for (u32 j = 0; j < kPerVector<kElement>; ++j) {
        tile.at[Tile::index(first_depth() + j, row(i))] = wide[j];
      }
    }
  }

 private:
  static __device__ __forceinline__ u32 first_depth() {
    return threadIdx.x % Tile::kVectors * kPerVector<kElement>;
  }
  static __device__ __forceinline__ u32 row(u32 i) {
    return threadIdx.x / Tile::kVectors + i * kRowStep;
  }

  uint4 vectors_[kLoads];
};

/// 128 x 128 elements of D, 256 threads.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_warp_tile(const LadderParams& params) {
  constexpr int kTile = 128;
  constexpr int kThreads = 256;
  constexpr u32 kWarpRows = 32;
  constexpr u32 kWarpCols = 64;
  __shared__ VectorTile<kElement, kTile, true> a_tiles[2];
  __shared__ VectorTile<kElement, kTile, true> b_tiles[2];
  const Work<kElement, kTile, kTile> work(params);
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  // Lanes l and l ^ 1 have the same columns, l and l ^ 2 the same rows: where pairs like these
  // agree, NVIDIA says, a 16-byte read takes two passes instead of four (said of compute capability
  // 7: forums.developer.nvidia.com/t/77228).
  const u32 row = warp / 2 * kWarpRows + (lane / 16 * 2 + lane % 2) * 4;
  const u32 col = warp % 2 * kWarpCols + lane / 2 % 8 * 4;

  Stopwatch<kProbed> watch;
  VectorsOnTheWay<kElement, kTile, kThreads> next_a, next_b;
  next_a.load(work.a(0, 0), work.k());
  next_b.load(work.b(0, 0), work.k());
  next_a.write(a_tiles[0]);
  next_b.write(b_tiles[0]);
  __syncthreads();
  watch.stop(Phase::kLoad);
  float sums[8][8] = {};
  u32 now = 0;
  for (u32 k = kCoreDepth; true; k += kCoreDepth) {
    const bool more = k < work.k();
    if (more) {
      next_a.load(work.a(0, k), work.k());
      next_b.load(work.b(0, k), work.k());
    }
    const VectorTile<kElement, kTile, true>& a_tile = a_tiles[now];
    const VectorTile<kElement, kTile, true>& b_tile = b_tiles[now];
// Unrolled by four or eight, fp32 spills: the vectors on their way take 16 registers.
#pragma unroll 2
    for (u32 depth = 0; depth < kCoreDepth; ++depth) {
      const float4 a_low = a_tile.four(depth, row);
      const float4 a_high = a_tile.four(depth, row + kWarpRows / 2);
      const float4 b_low = b_tile.four(depth, col);
      const float4 b_high = b_tile.four(depth, col + kWarpCols / 2);
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
    watch.stop(Phase::kMma);
    if (!more) break;
    // All warps have left the other tiles: they passed the last barrier after reading them.
    now ^= 1;
    next_a.write(a_tiles[now]);
    next_b.write(b_tiles[now]);
    __syncthreads();
    watch.stop(Phase::kLoad);
  }
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    Stored<kElement>* const d = work.d(row + i % 4 + i / 4 * (kWarpRows / 2), col);
    store_four<kElement>(d, &sums[i][0]);
    store_four<kElement>(d + kWarpCols / 2, &sums[i][4]);
  }
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
