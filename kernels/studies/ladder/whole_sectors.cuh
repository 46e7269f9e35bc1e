// The store of steps 9 to 11: the same elements as store_tile (common.cuh) in another order. Rows
// l / 4 and l / 4 + 8 of a column of D^T lie in the two halves of one 32-byte sector, so they are
// written one right after the other, and written through (st.global.wt): D is not read again, and a
// sector that is whole need not wait in the L2 cache for its other half.
#pragma once

#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

__device__ __forceinline__ void store_through(unsigned short* to, unsigned short value) {
  asm volatile("st.global.wt.b16 [%0], %1;" ::"l"(to), "h"(value) : "memory");
}

template <Element kElement, int kBlocks, int kHalfCols>
__device__ __forceinline__ void store_whole_sectors(const float (&d)[kBlocks][kHalfCols],
                                                    const LadderParams& params, int left_row,
                                                    int right_row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const u64 column_stride = static_cast<u64>(params.n);  // D^T's columns are D's rows
  unsigned short* const corner = static_cast<unsigned short*>(params.d) +
                                 static_cast<u64>(right_row + 2 * (lane % 4)) * column_stride +
                                 static_cast<u64>(left_row + warp * 16 + lane / 4);
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int j = 0; j < kHalfCols / 4; ++j) {
#pragma unroll
      for (int column = 0; column < 2; ++column) {
        unsigned short* const at =
            corner + static_cast<u64>(8 * j + column) * column_stride + block * kMmaM;
        store_through(at + 8, rounded<kElement>(d[block][4 * j + 2 + column]));
        store_through(at, rounded<kElement>(d[block][4 * j + column]));
      }
    }
  }
}

}  // namespace hgemm::ladder
