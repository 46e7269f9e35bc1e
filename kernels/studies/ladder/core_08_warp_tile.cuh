// Step 08: each warp has its own rectangle, and all data is fetched before it is needed.
//
// In step 07 a warp's 32 threads are arranged as 2 x 16. For each k the warp reads 16 different
// rows and 128 different columns, 144 words for 2048 multiply-adds, and every warp reads all
// columns. Here the CTA's tile is divided among four warps, 64 x 64 each, and the threads of a warp
// are arranged as 8 x 4: 64 rows and 64 columns, 128 words for twice as many multiply-adds. A
// thread has 8 x 16 elements, in groups of four neighbours, so that the warp reads neighbouring
// units of 16 bytes at a time: eight of A, which touch all 32 banks once, or four of B.
//
// Three measures keep the multiply-adds busy:
// - Shared memory has two copies of each tile. The next tile is written to the copy that no thread
//   reads any more: A's part after half of the current tile is multiplied, B's part at its end. One
//   barrier for each 16 of K is enough.
// - A thread reads its 8 + 16 elements for the next k while it multiplies those of the current k.
//   So the last k of a tile is multiplied after the barrier.
// - The order of the multiply-adds. A register file of two banks (even and odd registers) supplies
//   one operand from each bank in a cycle, and an operand that is the same as in the previous
//   instruction costs nothing. The columns are traversed back and forth, so that each multiply-add
//   has an operand in common with the previous one.
//
// The addresses remain. A thread has one address in each tile and adds constants to it, which costs
// nothing, because an instruction has room for a constant. If each access had a sum of u32 as its
// index, the sum could wrap around, so NVRTC would keep 96 addresses instead of 6. That costs 190
// more instructions for each 16 of K, and so many registers that their banks can no longer be
// chosen (fp32: of 2048 multiply-adds, 1223 instead of 269 have two operands in one bank that must
// both be read).
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// A thread's part of fill_by_vectors(), split so that multiply-adds fit between loads and writes.
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
  // Lanes l and l ^ 1 have the same columns, lanes l and l ^ 2 the same rows. According to NVIDIA,
  // a 16-byte read takes two passes instead of four if such pairs access the same address (stated
  // for compute capability 7: forums.developer.nvidia.com/t/77228).
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
    // There is no tile after the last one: it is loaded again, and not used.
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
  // Four sums that are stored together must be in four consecutive registers. The addition of
  // nothing moves them there at the end, so that the compiler may choose their banks before.
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
