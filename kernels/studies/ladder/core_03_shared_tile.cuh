// Step 03: a tile of A and a tile of B in shared memory, used by the whole CTA.
//
// In the steps before, every product fetches its two operands through the caches. Here 1024 threads
// copy 32 x 32 elements of A and of B to shared memory, with coalesced loads along K as in step 02.
// Each element is then used 32 times, so global loads drop from two for each multiply-add to one
// for each 16. A thread has one element of D again, so no sums are added up across lanes.
//
// Each multiply-add still needs two reads of shared memory. In the loop, a read of A is one word
// for all lanes and a read of B is 32 neighbouring words: no conflicts. For this layout B is
// transposed when it is written to shared memory. The 32 lanes, which are neighbours along K, write
// to one bank: a 32-way conflict, once for each 32 products.
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// 32 x 32 elements of D, 1024 threads, 32 of K at a time.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_shared_tile(const LadderParams& params) {
  __shared__ float a_tile[32][32];  // [row][k]
  __shared__ float b_tile[32][32];  // [k][column]
  const Work<kElement, 32, 32> work(params);
  const u32 x = threadIdx.x % 32;
  const u32 y = threadIdx.x / 32;

  Stopwatch<kProbed> watch;
  float sum = 0;
  for (u32 k = 0; k < work.k(); k += 32) {
    a_tile[y][x] = to_float<kElement>(*work.a(y, k + x));
    b_tile[x][y] = to_float<kElement>(*work.b(y, k + x));
    __syncthreads();
    watch.stop(Phase::kLoad);
#pragma unroll
    for (u32 depth = 0; depth < 32; ++depth) sum = fmaf(a_tile[y][depth], b_tile[depth][x], sum);
    __syncthreads();
    watch.stop(Phase::kMma);
  }
  *work.d(y, x) = from_float<kElement>(sum);
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
