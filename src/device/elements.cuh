// Elements of matrices in device code of this program: conversions to and from fp32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/common/types.h"

namespace hgemm {

template <typename T>
__device__ T rounded(float value);
template <>
inline __device__ __nv_bfloat16 rounded(float value) {
  return __float2bfloat16_rn(value);
}
template <>
inline __device__ __half rounded(float value) {
  return __float2half_rn(value);
}
template <>
inline __device__ float rounded(float value) {
  return value;
}
inline __device__ float widened(__nv_bfloat16 value) { return __bfloat162float(value); }
inline __device__ float widened(__half value) { return __half2float(value); }
inline __device__ float widened(float value) { return value; }

/// Calls `run` with a null pointer to the element type that `type` names.
template <typename Run>
void with_element(DataType type, const Run& run) {
  switch (type) {
    case DataType::kBf16:
      return run(static_cast<__nv_bfloat16*>(nullptr));
    case DataType::kFp16:
      return run(static_cast<__half*>(nullptr));
    case DataType::kFp32:
      return run(static_cast<float*>(nullptr));
  }
}

}  // namespace hgemm
