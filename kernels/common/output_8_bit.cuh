// A D of 8 bits: its scale, and how a warp packs its values.
//
// A given scale is a number in device memory, which is applied after all of the epilogue. Each
// consumer warp copies it into a word of shared memory when it begins, and reads it where it
// stores. (Loads into registers would keep ptxas at the registers of kernel entry:
// analysis/kernel-notes.md, "Loads of an epilogue keep ptxas at the registers of entry".)
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"
#include "common/quantise_factor.cuh"

namespace hgemm {

template <auto kKernel>
inline constexpr bool kStores8Bit = is_8_bit(kKernel.gemm.output);
template <auto kKernel>
inline constexpr bool kHasOutputScale = has_given_output_scale(kKernel.gemm);

/// This warp's word.
template <auto kKernel>
__device__ __forceinline__ u32 output_scale_address() {
  extern __shared__ __align__(1024) unsigned char smem[];
  return ptx::smem_address(smem) + static_cast<u32>(smem_layout(kKernel).output_scale) +
         threadIdx.x / 32 * 4;
}
/// For a consumer warp, when it begins. The kernel before may write the scale.
template <auto kKernel>
__device__ __forceinline__ void fetch_output_scale(const KernelParams& params, int lane) {
  if constexpr (kHasOutputScale<kKernel>) {
    if constexpr (kKernel.pdl) ptx::griddepcontrol_wait();
    if (lane == 0) {
      ptx::copy_async(output_scale_address<kKernel>(),
                      static_cast<const ScaledParams&>(params).scale_d);
    }
    __syncwarp();
  }
}
/// Before a tile is stored.
template <auto kKernel>
__device__ __forceinline__ void await_output_scale() {
  if constexpr (kHasOutputScale<kKernel>) {
    ptx::copy_async_wait_all();
    __syncwarp();
  }
}
template <auto kKernel>
__device__ __forceinline__ float output_scale() {
  return __uint_as_float(ptx::load_shared(output_scale_address<kKernel>()));
}

/// Finds the scales of a warp's 16 rows by kScaleBlock columns of D, which begin at (row, column),
/// writes them, and divides the values by them. Four lanes have a row, in wgmma's fragments (PTX
/// ISA, "D fragment"). `values`: a lane's four of each group of 8 columns.
template <auto kKernel>
__device__ __forceinline__ void scale_by_block(float* values, const KernelParams& params, int row,
                                               int column, int lane) {
  constexpr int kGroups = kScaleBlock / 8;
  constexpr DataType kType = kKernel.gemm.output;
  const int columns = columns_of_d<kKernel>(params) - column;
  if (columns <= 0) return;
  if (columns < kScaleBlock) {  // what a bias or a C left there is no part of D
#pragma unroll
    for (int i = 0; i < kGroups * 4; ++i) {
      if (i / 4 * 8 + 2 * (lane % 4) + i % 2 >= columns) values[i] = 0;
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float largest = 0;
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      const float* const pair = values + group * 4 + half * 2;
      largest = fmaxf(largest, fmaxf(fabsf(pair[0]), fabsf(pair[1])));  // NaN is none
    }
#pragma unroll
    for (int mask = 1; mask < 4; mask *= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, mask));
    }
    const QuantiseFactor both = factor_for<kType>(largest);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      values[group * 4 + half * 2] *= both.factor;
      values[group * 4 + half * 2 + 1] *= both.factor;
    }
    const int at_row = row + half * 8 + lane / 4;
    if (lane % 4 == 0 && at_row < extent_m<kKernel>(params)) {
      const u64 block = static_cast<u64>(column / kScaleBlock);
      static_cast<const ScaledParams&>(params)
          .scales_d[block * static_cast<u64>(scale_leading(extent_m<kKernel>(params))) +
                    static_cast<u64>(at_row)] = both.scale;
    }
  }
}

/// A lane's four values of a group (16 rows by 8 columns, as wgmma computes them), scaled and
/// packed in their order.
template <auto kKernel>
__device__ __forceinline__ u32 packed_group(const float* values, float scale) {
  constexpr DataType kType = kKernel.gemm.output;
  const u32 first = ptx::pack<kType>(scale * values[0], scale * values[1]);
  const u32 second = ptx::pack<kType>(scale * values[2], scale * values[3]);
  return first | second << 16;
}
/// A packed group transposed: lane l gets of its column l / 4 the rows 2 (l % 4) + {0, 1} in the
/// low half, and those 8 further in the high half. (An element of movmatrix is two bytes: here a
/// value and the one 8 rows further.)
__device__ __forceinline__ u32 transposed_group(u32 group) {
  return __byte_perm(ptx::transposed(__byte_perm(group, 0, 0x3120)), 0, 0x3120);
}

}  // namespace hgemm
