// Step 1b: the starting point of the article: tiles of A and B in shared memory, a tile of D in the
// registers of each thread. An element that is loaded once serves 128 products; one in a register
// serves 8. The tensor cores are still idle.
#pragma once

#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

/// 256 threads, 128 x 128 elements of D, 8 x 8 per thread, 16 deep.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void register_tile(const LadderParams& params) {
  constexpr int kTile = 128;
  constexpr int kTileDepth = 16;
  constexpr int kPart = 8;   // elements of one 16-byte load
  constexpr int kSplit = 4;  // a thread's 8 rows (columns) are two runs of 4, half a tile apart
  // Transposed and as floats, so that the inner loop reads runs of 16 bytes.
  __shared__ __align__(16) float a_tile[kTileDepth][kTile];
  __shared__ __align__(16) float b_tile[kTileDepth][kTile];

  const int column_tiles = params.n / kTile;
  const int tile_row = static_cast<int>(blockIdx.x) / column_tiles * kTile;
  const int tile_column = static_cast<int>(blockIdx.x) % column_tiles * kTile;
  // Each thread loads one 16-byte part of a row of A and of B.
  const int part_row = static_cast<int>(threadIdx.x) / 2;
  const int part_k = static_cast<int>(threadIdx.x) % 2 * kPart;
  const u64 k_elements = static_cast<u64>(params.k);
  const auto* a = static_cast<const unsigned short*>(params.a) +
                  static_cast<u64>(tile_row + part_row) * k_elements + part_k;
  const auto* b = static_cast<const unsigned short*>(params.b) +
                  static_cast<u64>(tile_column + part_row) * k_elements + part_k;
  const int thread_row = static_cast<int>(threadIdx.x) / 16 * kSplit;
  const int thread_column = static_cast<int>(threadIdx.x) % 16 * kSplit;

  float d[8][8];
  zero(d);
  for (int k = 0; k < params.k; k += kTileDepth) {
    const uint4 a_part = *reinterpret_cast<const uint4*>(a + k);
    const uint4 b_part = *reinterpret_cast<const uint4*>(b + k);
    __syncthreads();  // no thread reads the tiles of the last round any more
    const u32 a_words[] = {a_part.x, a_part.y, a_part.z, a_part.w};
    const u32 b_words[] = {b_part.x, b_part.y, b_part.z, b_part.w};
#pragma unroll
    for (int i = 0; i < kPart; ++i) {
      const int shift = i % 2 * 16;
      a_tile[part_k + i][part_row] =
          widened<kElement>(static_cast<unsigned short>(a_words[i / 2] >> shift));
      b_tile[part_k + i][part_row] =
          widened<kElement>(static_cast<unsigned short>(b_words[i / 2] >> shift));
    }
    __syncthreads();
#pragma unroll
    for (int depth = 0; depth < kTileDepth; ++depth) {
      const auto run = [](const float* tile_row_at, int at) {
        return *reinterpret_cast<const float4*>(tile_row_at + at);
      };
      const float4 a_low = run(a_tile[depth], thread_row);
      const float4 a_high = run(a_tile[depth], thread_row + kTile / 2);
      const float4 b_low = run(b_tile[depth], thread_column);
      const float4 b_high = run(b_tile[depth], thread_column + kTile / 2);
      const float rows[] = {a_low.x,  a_low.y,  a_low.z,  a_low.w,
                            a_high.x, a_high.y, a_high.z, a_high.w};
      const float columns[] = {b_low.x,  b_low.y,  b_low.z,  b_low.w,
                               b_high.x, b_high.y, b_high.z, b_high.w};
#pragma unroll
      for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) d[i][j] += rows[i] * columns[j];
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = tile_row + thread_row + i / kSplit * (kTile / 2) + i % kSplit;
    auto* const d_row = static_cast<unsigned short*>(params.d) +
                        static_cast<u64>(row) * static_cast<u64>(params.n) +
                        static_cast<u64>(tile_column + thread_column);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float* const run = &d[i][half * kSplit];
      *reinterpret_cast<uint2*>(d_row + half * (kTile / 2)) = make_uint2(
          ptx::pack<kDtype<kElement>>(run[0], run[1]), ptx::pack<kDtype<kElement>>(run[2], run[3]));
    }
  }
}

}  // namespace hgemm::ladder
