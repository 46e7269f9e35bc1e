// What a wgmma keeps of a sum: D = C + A B^T for chosen products, one instruction for each case.
//
// Only the first rows of A and B hold a case, so that it is D[0][0]; all other rows are zero, and
// so are all other sums. Row 0 of a tile in the 128-byte swizzle lies as it is. The host chooses
// the operands, and finds from the sums which addends counted (src/studies/micro/accumulator.cpp).
#pragma once

#include "studies/micro/wgmma.cuh"

namespace hgemm::micro {

/// Launched with one warpgroup. `Mma`: as for WgmmaActor, with fp32 accumulators and N = 8.
template <class Mma>
__device__ __forceinline__ void add_cases(const AccumulatorParams& params) {
  constexpr int kStepBytes = 32;
  __shared__ __align__(1024) unsigned char tiles[kATileBytes + Mma::kN * kRowBytes];
  const u32 smem = ptx::smem_address(tiles);
  if (smem % 1024 != 0) asm volatile("trap;");  // swizzle atoms would be split
  unsigned char* const b_tile = tiles + kATileBytes;
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < static_cast<int>(sizeof(tiles)); i += static_cast<int>(blockDim.x)) {
    tiles[i] = 0;
  }
#pragma unroll 1
  for (int i = 0; i < params.count; ++i) {
    __syncthreads();
    if (thread < kStepBytes) {
      tiles[thread] = params.cases[i].a[thread];
      b_tile[thread] = params.cases[i].b[thread];
    }
    ptx::fence_proxy_async();
    __syncthreads();
    float d[Mma::kAccumulators];
#pragma unroll
    for (int j = 0; j < Mma::kAccumulators; ++j) {
      d[j] = j == 0 && thread == 0 ? params.cases[i].c : 0.0f;
      Mma::touch(d[j]);
    }
    ptx::wgmma_fence();
    Mma::mma(d, tile_descriptor(smem), tile_descriptor(smem + kATileBytes), 1);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
#pragma unroll
    for (int j = 0; j < Mma::kAccumulators; ++j) Mma::touch(d[j]);
    if (thread == 0) params.sums[i] = d[0];
  }
}

}  // namespace hgemm::micro
