// The first stage of a CTA, fetched by its threads. The copy engine first has to fetch its tensor
// map from memory (0.3 to 0.45 us, measured: analysis/kernel-notes.md), whereas a kernel parameter
// is available at once. So in a launch of a few microseconds the first stage arrives earlier if
// threads fetch it, and meanwhile the copy engine prepares the others.
#pragma once

#include "common/ptx.cuh"
#include "common/tiles.h"
#include "common/units.cuh"

namespace hgemm {

/// A matrix whose rows begin at multiples of 16 bytes.
struct AlignedMatrix {
  const void* data;
  int rows, cols, leading;
};

/// Fetches rows [slice_row, slice_row + kSliceRows) of an operand tile and kBk columns from `k` on,
/// in the layout of the copy engine (128- or 64-byte swizzle). The tile, of kTileRows rows, begins
/// with row `tile_row` of the matrix; elements outside the matrix become zero. For kThreads
/// threads, numbered by `thread`.
template <int kTileRows, int kSliceRows, int kBk, int kThreads>
__device__ __forceinline__ void fetch_slice(const AlignedMatrix& matrix, int tile_row,
                                            int slice_row, int k, u32 stage, int thread) {
  constexpr int kCols = kBk < kSlabK ? kBk : kSlabK;
  constexpr int kRowBytes = kCols * kInputBytes;
  constexpr int kChunks = kRowBytes / kUnitBytes;
  constexpr int kRowsAtOnce = kThreads / kChunks;
  const int chunk = thread % kChunks;
  const auto* const data = static_cast<const unsigned short*>(matrix.data);
  const auto element_at = [&](int row, int col) {
    return static_cast<u64>(tile_row + row) * static_cast<u64>(matrix.leading) +
           static_cast<u64>(col);
  };
#pragma unroll
  for (int slab = 0; slab < kBk / kCols; ++slab) {
    const int col = k + slab * kCols + chunk * kElementsPerUnit;
    const int left = max(0, min(kElementsPerUnit, matrix.cols - col));
    const auto placed = [&](int row) {
      // 8 rows of 128 bytes, or 16 of 64, are one swizzle atom.
      const int swizzled = chunk ^ (kChunks == 8 ? row % 8 : row / 2 % 4);
      return stage + static_cast<u32>((slab * kTileRows + row) * kRowBytes + swizzled * kUnitBytes);
    };
    // A part of a unit, which only the last columns of the matrix have. cp.async could fill it with
    // zeros, but compute-sanitizer reports that as a read of 16 bytes, beyond the matrix's end.
    if (left % kElementsPerUnit != 0) {
#pragma unroll 1
      for (int step = thread / kChunks; step < kSliceRows; step += kRowsAtOnce) {
        const int row = slice_row + step;
        const int valid = tile_row + row < matrix.rows ? left : 0;
        ptx::store_shared_unit(placed(row), load_elements(data + element_at(row, col), valid));
      }
      continue;
    }
#pragma unroll
    for (int step = 0; step < kSliceRows; step += kRowsAtOnce) {
      if (kSliceRows % kRowsAtOnce != 0 && step + thread / kChunks >= kSliceRows) continue;
      const int row = slice_row + step + thread / kChunks;
      const bool valid = left != 0 && tile_row + row < matrix.rows;
      ptx::copy_async_16(placed(row), data + (valid ? element_at(row, col) : 0), valid);
    }
  }
}

/// For the threads that fetched: makes what they fetched readable by wgmma. A barrier of these
/// threads must follow.
__device__ __forceinline__ void await_fetched() {
  ptx::copy_async_wait_all();
  // Wgmma reads through another proxy than the one by which threads write.
  ptx::fence_proxy_async();
}

}  // namespace hgemm
