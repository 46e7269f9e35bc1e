// The staged store path: the threads of a warp store boxes of D from shared memory.
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"

namespace hgemm {

/// The position in a swizzled box of the 16-byte chunk `chunk` of row `row` (128-byte swizzle, PTX
/// ISA "Shared memory layout"). It agrees with the tensor map of D, and puts the rows of an 8x8
/// matrix in different banks.
HGEMM_HOST_DEVICE constexpr int swizzled_chunk(int chunk, int row) {
  return chunk ^ (row % kSwizzleRows);
}

/// Stores the first `valid` of kCols 8-bit elements, of which each lane has four, in `word`.
template <int kCols>
__device__ __forceinline__ void store_row_of_bytes(unsigned char* d, u32 word, int valid,
                                                   int lane) {
  const u32 left = __shfl_up_sync(~0u, word, 1);
  const int shift = static_cast<int>(reinterpret_cast<u64>(d) % 4);
  const u32 four = __funnelshift_l(left, word, static_cast<u32>(shift * 8));
  const int first = 4 * lane - shift;
  if (first >= 0 && first + 3 < valid) {
    *reinterpret_cast<u32*>(d + first) = four;
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int at = first + i;
      if (at >= 0 && at < valid) d[at] = static_cast<unsigned char>(four >> (8 * i));
    }
  }
  // The last elements of a full row: the lane that would begin with them has none of its own.
  if (kCols == kSwizzleBytes && lane == 31) {
#pragma unroll
    for (int i = 1; i < 4; ++i) {
      const int at = kCols - 4 + i;
      if (i >= 4 - shift && at < valid) d[at] = static_cast<unsigned char>(word >> (8 * i));
    }
  }
}

/// Stores one warp's box of rows x kCols elements, staged at `source`, to D (or the second output)
/// at (row, column), which may be any address; clipped at D's edges. D begins `begin` elements
/// behind the pointer `output()`. A whole box (128 bytes per row) is swizzled; a narrower one has
/// plain rows.
///
/// Each lane stores two 16-bit elements, or four of 8 bits, which are neighbours in memory as in
/// the box. If a row begins between two words in memory, each lane stores its first elements
/// together with its left neighbour's last.
template <auto kKernel, int kRows, int kCols, class Pointer>
__device__ __forceinline__ void store_rows_of_box(const KernelParams& params, Pointer output,
                                                  u32 source, int row, int column, int lane,
                                                  u64 begin = 0) {
  constexpr int kBytes = element_bytes(kKernel.gemm.output);
  constexpr bool kSwizzled = kCols * kBytes == kSwizzleBytes;
  const int valid = min(kCols, columns_of_d<kKernel>(params) - column);  // columns of a row
  const int rows = min(kRows, extent_m<kKernel>(params) - row);
  const u64 leading = static_cast<u64>(leading_d<kKernel>(params));
  const u64 first_element = begin + static_cast<u64>(row) * leading + static_cast<u64>(column);
  const auto word_at = [&](int r) {  // this lane's four bytes of row r
    const int chunk = lane / 4;
    const int placed = kSwizzled ? swizzled_chunk(chunk, r) : chunk;
    const u32 address = source + static_cast<u32>(r * kCols * kBytes + placed * 16 + lane % 4 * 4);
    return lane < kCols * kBytes / 4 ? ptx::load_shared(address) : 0;
  };
  if constexpr (kBytes == 4) {
    u32* d = static_cast<u32*>(output()) + first_element;
#pragma unroll 2
    for (int r = 0; r < rows; ++r, d += leading) {
      const u32 word = word_at(r);
      if (lane < valid) d[lane] = word;
    }
  } else if constexpr (kBytes == 1) {
    unsigned char* d = static_cast<unsigned char*>(output()) + first_element;
#pragma unroll 2
    for (int r = 0; r < rows; ++r, d += leading) {
      store_row_of_bytes<kCols>(d, word_at(r), valid, lane);
    }
  } else {
    unsigned short* d = static_cast<unsigned short*>(output()) + first_element;
#pragma unroll 2
    for (int r = 0; r < rows; ++r, d += leading) {
      const u32 word = word_at(r);
      const u32 left = __shfl_up_sync(~0u, word, 1);
      const bool shifted = reinterpret_cast<u64>(d) % 4 != 0;
      const int first = shifted ? 2 * lane - 1 : 2 * lane;
      const u32 pair = shifted ? __byte_perm(left, word, 0x5432) : word;
      if (first >= 0 && first + 1 < valid) {
        *reinterpret_cast<u32*>(d + first) = pair;
      } else if (first >= 0 && first < valid) {
        d[first] = static_cast<unsigned short>(pair);
      } else if (first < 0 && valid > 0) {
        d[0] = static_cast<unsigned short>(word);
      }
      // The last element of a full row: the lane that would begin with it has no elements of its
      // own.
      if (shifted && kCols == 64 && lane == 31 && valid == kCols) {
        d[kCols - 1] = static_cast<unsigned short>(word >> 16);
      }
    }
  }
}

}  // namespace hgemm
