// The operands of the multiplying kernels: 16-bit elements from the host, or fp8 elements that are
// converted from them here.
#pragma once

#include "common/ptx.cuh"
#include "common/tma.cuh"

namespace hgemm::micro {

/// Converts two fp16 values to two fp8 values.
__device__ __forceinline__ u32 to_e4m3x2(u32 halves) {
  unsigned short packed;
  asm("cvt.rn.satfinite.e4m3x2.f16x2 %0, %1;" : "=h"(packed) : "r"(halves));
  return packed;
}
/// 16 bytes of operands: unit `index` of the buffer, which holds 16-bit elements.
template <bool kFp8>
__device__ __forceinline__ uint4 operand_unit(const void* operands, int index) {
  const uint4* units = static_cast<const uint4*>(operands);
  if constexpr (kFp8) {
    const uint4 low = units[2 * index];
    const uint4 high = units[2 * index + 1];
    return make_uint4(
        to_e4m3x2(low.x) | to_e4m3x2(low.y) << 16, to_e4m3x2(low.z) | to_e4m3x2(low.w) << 16,
        to_e4m3x2(high.x) | to_e4m3x2(high.y) << 16, to_e4m3x2(high.z) | to_e4m3x2(high.w) << 16);
  } else {
    return units[index];
  }
}
/// Fills shared memory and makes it readable for wgmma, which reads through the async proxy. All
/// threads call it. A CTA barrier must follow.
template <bool kFp8>
__device__ __forceinline__ void fill_operands(unsigned char* smem, int bytes,
                                              const void* operands) {
  for (int i = static_cast<int>(threadIdx.x); i < bytes / 16; i += static_cast<int>(blockDim.x)) {
    reinterpret_cast<uint4*>(smem)[i] = operand_unit<kFp8>(operands, i);
  }
  ptx::fence_proxy_async();
}

__device__ __forceinline__ float as_float(float value) { return value; }
/// The low half of a packed fp16 pair as fp32.
__device__ __forceinline__ float as_float(u32 halves) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(halves)));
  return value;
}

}  // namespace hgemm::micro
