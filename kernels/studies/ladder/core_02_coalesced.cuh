// Step 02: the lanes of a warp stand side by side along K, where memory does.
//
// In a matrix product whose B has rows along N it is enough to let the thread's index count
// columns. Here B lies along K like A, and the same exchange would only make B the operand that is
// read with a stride. What is contiguous for both is K: so a warp works on one element of D at a
// time, each lane on every 32nd product, and the lanes' sums are added up with shuffles. A load now
// takes 128 neighbouring bytes (fp32): 4 sectors of one line instead of 32 of 32 lines. A warp does
// 32 columns of one row in turn, and lane c keeps the sum of column c, so that D is stored side by
// side as well.
//
// There are as many loads as before, two for each multiply-add; only their price has changed. The
// shuffles are 5 for each K / 32 products of a lane.
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// 32 x 32 elements of D, 32 warps.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_coalesced(const LadderParams& params) {
  const Work<kElement, 32, 32> work(params);
  const u32 lane = threadIdx.x % 32;
  const u32 row = threadIdx.x / 32;

  const Stored<kElement>* const a = work.a(row, 0);
  float result = 0;
  for (u32 col = 0; col < 32; ++col) {
    const Stored<kElement>* const b = work.b(col, 0);
    float sum = 0;
    for (u32 k = lane; k < work.k(); k += 32) {
      sum = fmaf(to_float<kElement>(a[k]), to_float<kElement>(b[k]), sum);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
      sum += __shfl_xor_sync(~0u, sum, distance);
    }
    if (lane == col) result = sum;
  }
  *work.d(row, lane) = from_float<kElement>(result);
}

}  // namespace hgemm::ladder
