// Step 02: the lanes of a warp are neighbours along K, the direction that is contiguous in memory.
//
// In a matrix product in which the rows of B lie along N, it is enough that the thread's index
// counts columns. Here B lies along K like A, so the same change would only make B the operand that
// is read with a stride. K is the contiguous direction of both operands. So a warp computes one
// element of D at a time: each lane takes every 32nd product, and shuffles add up the sums of the
// lanes. A load now takes 128 neighbouring bytes (fp32): 4 sectors of one line instead of 32
// sectors of 32 lines. A warp computes 32 columns of one row in turn, and lane c keeps the sum of
// column c, so that the stores to D are coalesced too.
//
// The number of loads is the same as before, two for each multiply-add, but each load is cheaper.
// The shuffles cost 5 for each K / 32 products of a lane.
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
