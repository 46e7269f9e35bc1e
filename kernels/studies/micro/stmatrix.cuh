// stmatrix.x4 into three layouts: rows of 128 bytes with the XOR swizzle (no two rows of a matrix
// share banks), the same rows without it (all eight use the same four banks), and rows padded to
// 144 bytes. All use the same kernel; pitch and swizzle are arguments.
//
// Each warp writes its own 16 x 64 tile, 16 columns at a time. The stores are volatile and do not
// depend on each other.
#pragma once

#include "studies/micro/timing.cuh"

namespace hgemm::micro {

/// Launched with 1 to 16 warps, each an actor, and kStmatrixWarpBytes of shared memory for each.
__device__ __forceinline__ void time_stmatrix(const ComputeParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Lane i gives the address of row i % 8 of matrix i / 8. Matrices 0 and 1 are rows 0 to 7 and 8
  // to 15 of the left 8 columns; 2 and 3 are those of the right 8 columns.
  const int row = lane % 16;
  u32 addresses[4];
#pragma unroll
  for (int block = 0; block < 4; ++block) {
    const int unit = (2 * block + lane / 16) ^ (row & params.row_xor);
    addresses[block] =
        ptx::smem_address(smem) +
        static_cast<u32>(warp * kStmatrixWarpBytes + row * params.row_bytes + unit * 16);
  }
  const u32 value = 0x3c003c00u ^ threadIdx.x;  // 1.0, and bits that differ
  SectionTime* times =
      lane == 0
          ? params.times + (blockIdx.x * (blockDim.x / 32) + static_cast<u32>(warp)) * kSections
          : nullptr;
  timed_sections(
      params.lengths, times, [] { __syncthreads(); },
      [&](int, int rounds) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
#pragma unroll
          for (int i = 0; i < kStmatrixPerRound; ++i) {
            ptx::stmatrix_x4(addresses[i % 4], value, value, value, value);
          }
        }
      });
  __syncthreads();
  // 1 if row 0 of the first tile holds the value that lane 0 of the first warp stored.
  if (threadIdx.x == 0) {
    const u32 stored = *reinterpret_cast<const u32*>(smem);
    params.checksums[blockIdx.x] = stored == value ? 1.0f : 0.0f;
  }
}

}  // namespace hgemm::micro
