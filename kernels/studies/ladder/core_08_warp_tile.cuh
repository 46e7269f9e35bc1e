// Step 08: a warp has a rectangle of its own, and everything is fetched before it is wanted.
//
// In step 07 a warp's 32 threads lie as 2 x 16: for each k it reads 16 different rows and 128
// different columns, 144 words for 2048 multiply-adds, and every warp reads all columns. Here the
// CTA's tile is divided among four warps, 64 x 64 each, and in it the threads lie as 8 x 4: 64 rows
// and 64 columns, 128 words for twice as many multiply-adds. A thread has 8 x 16 elements, in
// groups of four neighbours, so that what the warp reads at a time are neighbouring 16 bytes: eight
// of A, which are all 32 banks once, or four of B.
//
// Three things keep the multiply-adds going:
// - Tiles lie in shared memory twice. The next one is written where nobody reads any more, A's part
//   after half of this one is multiplied and B's at its end, and one barrier for each 16 of K does.
// - A thread reads its 8 + 16 elements for the next k while it multiplies those of this one; so the
//   last k of a tile is multiplied after the barrier.
// - The order of the multiply-adds. A register file of two banks (even and odd registers) gives an
//   instruction one operand of each in a cycle, and one that is the same as the last instruction's
//   comes for free. Going through the columns to and fro, each multiply-add has an operand in
//   common with the one before it.
//
// That leaves the addresses. A thread has one in each tile; what is added to it is constant, and
// costs nothing, since an instruction has room for it. As the index of each access a sum of u32
// could wrap round, so NVRTC keeps 96 addresses instead of 6: for each 16 of K 190 more
// instructions, and so many registers that their banks can no longer be chosen (fp32: of 2048
// multiply-adds 1223 have two operands in one bank that both must be read, instead of 269).
#pragma once

#include "studies/ladder/core.cuh"

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
    const Stored<kElement>* const first = &source[u64{row(0)} * row_length + first_depth()];
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      vectors_[i] = *reinterpret_cast<const uint4*>(first + u64{i * kRowStep} * row_length);
    }
  }
  __device__ __forceinline__ void write(Tile& tile) const {
    float* const first = &tile.at[Tile::index(first_depth(), row(0))];
#pragma unroll
    for (u32 i = 0; i < kLoads; ++i) {
      float wide[kPerVector<kElement>];
      widen<kElement>(vectors_[i], wide);
#pragma unroll
      for (u32 j = 0; j < kPerVector<kElement>; ++j) {
        first[Tile::index(j, i * kRowStep)] = wide[j];
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

/// Operands of a thread for one k: 8 elements of A by 16 of B.
struct Fragments {
  float a[8], b[16];

  /// Groups of four, each `step` further.
  template <typename Tile, u32 kCount>
  static __device__ __forceinline__ void read(float (&to)[kCount], const Tile& tile, u32 depth,
                                              u32 low, u32 step) {
    const float* const first = &tile.at[low];
#pragma unroll
    for (u32 i = 0; i < kCount; i += 4) {
      const float4 four =
          *reinterpret_cast<const float4*>(&first[Tile::index(depth, i / 4 * step)]);
      to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
  }
  __device__ __forceinline__ void add_product_to(float (&sums)[8][16]) const {
#pragma unroll
    for (u32 j = 0; j < 16; ++j) {
#pragma unroll
      for (u32 step = 0; step < 8; ++step) {
        const u32 i = j % 2 == 0 ? step : 7 - step;
        sums[i][j] = fmaf(a[i], b[j], sums[i][j]);
      }
    }
  }
};

/// 128 x 128 elements of D, 128 threads.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_warp_tile(const LadderParams& params) {
  constexpr int kTile = 128;
  constexpr int kThreads = 128;
  constexpr u32 kWarpRows = 64;
  constexpr u32 kWarpCols = 64;
  struct Tiles {
    VectorTile<kElement, kTile, true> a, b;
  };
  __shared__ Tiles tiles[2];
  const Work<kElement, kTile, kTile> work(params);
  const u32 warp = threadIdx.x / 32;
  const u32 lane = threadIdx.x % 32;
  // Lanes l and l ^ 1 have the same columns, l and l ^ 2 the same rows: where pairs like these
  // agree, NVIDIA says, a 16-byte read takes two passes instead of four (said of compute capability
  // 7: forums.developer.nvidia.com/t/77228).
  const u32 row = warp / 2 * kWarpRows + lane / 2 % 8 * 4;
  const u32 col = warp % 2 * kWarpCols + (lane / 16 * 2 + lane % 2) * 4;

  Stopwatch<kProbed> watch;
  VectorsOnTheWay<kElement, kTile, kThreads> next_a, next_b;
  next_a.load(work.a(0, 0), work.k());
  next_b.load(work.b(0, 0), work.k());
  next_a.write(tiles[0].a);
  next_b.write(tiles[0].b);
  __syncthreads();
  watch.stop(Phase::kLoad);

  u32 now = 0;
  Fragments fragments[2];
  const auto read = [&](u32 depth) {
    Fragments& to = fragments[depth % 2];
    Fragments::read(to.a, tiles[now].a, depth, row, kWarpRows / 2);
    Fragments::read(to.b, tiles[now].b, depth, col, kWarpCols / 4);
  };
  float sums[8][16] = {};
  read(0);
  for (u32 k = 0; k < work.k(); k += kCoreDepth) {
    // After the last tile there is none: it comes once more, and is not used.
    const u32 next_k = k + kCoreDepth < work.k() ? k + kCoreDepth : k;
    next_a.load(work.a(0, next_k), work.k());
#pragma unroll
    for (u32 depth = 0; depth < kCoreDepth; ++depth) {
      if (depth == kCoreDepth / 2) {
        next_a.write(tiles[now ^ 1].a);
        next_b.load(work.b(0, next_k), work.k());
      }
      if (depth + 1 == kCoreDepth) {
        next_b.write(tiles[now ^ 1].b);
        watch.stop(Phase::kMma);
        __syncthreads();
        watch.stop(Phase::kLoad);
        now ^= 1;
      }
      read((depth + 1) % kCoreDepth);
      fragments[depth % 2].add_product_to(sums);
    }
  }
  // Sums that go to memory four at a time must lie in four registers in a row. Adding nothing moves
  // them there at the end, so that until then the compiler may choose their banks.
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
#pragma unroll
    for (u32 j = 0; j < 16; ++j) sums[i][j] = __fadd_rn(sums[i][j], 0);
    Stored<kElement>* const d = work.d(row + i % 4 + i / 4 * (kWarpRows / 2), col);
#pragma unroll
    for (u32 j = 0; j < 16; j += 4) store_four<kElement>(d + j / 4 * (kWarpCols / 4), &sums[i][j]);
  }
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
