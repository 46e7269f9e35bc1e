// A D of 8 bits: its scale, and how a warp packs its values.
//
// The scale is a number in device memory, which is applied after all of the epilogue. Each consumer
// warp copies it into a word of shared memory when it begins, and reads it where it stores. (Loads
// into registers would keep ptxas at the registers of kernel entry: analysis/kernel-notes.md,
// "Loads of an epilogue keep ptxas at the registers of entry".)
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"

namespace hgemm {

template <auto kKernel>
inline constexpr bool kStores8Bit = is_8_bit(kKernel.gemm.output);

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
  if constexpr (kStores8Bit<kKernel>) {
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
  if constexpr (kStores8Bit<kKernel>) {
    ptx::copy_async_wait_all();
    __syncwarp();
  }
}
template <auto kKernel>
__device__ __forceinline__ float output_scale() {
  return __uint_as_float(ptx::load_shared(output_scale_address<kKernel>()));
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
