// Step 01: one thread for one element of D. Neighbouring threads compute neighbouring rows.
//
// This is the textbook loop with the most obvious assignment of work: the thread's index counts
// rows. The 32 lanes of a warp then read 32 rows of A at the same k. These rows are K elements
// apart, so one load takes 32 sectors of 32 bytes from 32 lines for 32 elements. The rest of each
// sector is of use only if the L1 still has it at the next k. The store has the same fault along N.
// (B is the same element for all lanes: one sector.) Each multiply-add needs two loads, and one of
// them costs 32 times as much as necessary.
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// 32 x 32 elements of D, 1024 threads.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_naive(const LadderParams& params) {
  const Work<kElement, 32, 32> work(params);
  const u32 row = threadIdx.x % 32;
  const u32 col = threadIdx.x / 32;

  float sum = 0;
  for (u32 k = 0; k < work.k(); ++k) {
    sum = fmaf(to_float<kElement>(*work.a(row, k)), to_float<kElement>(*work.b(col, k)), sum);
  }
  *work.d(row, col) = from_float<kElement>(sum);
}

}  // namespace hgemm::ladder
