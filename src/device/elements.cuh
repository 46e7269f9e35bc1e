// Elements of matrices in device code of this program: conversions to and from fp32.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <stdexcept>
#include <type_traits>

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
/// To the nearest 8-bit value, or the largest one: these constructors saturate (cuda_fp8.hpp). NaN
/// stays NaN.
template <>
inline __device__ __nv_fp8_e4m3 rounded(float value) {
  return __nv_fp8_e4m3(value);
}
template <>
inline __device__ __nv_fp8_e5m2 rounded(float value) {
  return __nv_fp8_e5m2(value);
}
inline __device__ float widened(__nv_fp8_e4m3 value) { return static_cast<float>(value); }
inline __device__ float widened(__nv_fp8_e5m2 value) { return static_cast<float>(value); }
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
    case DataType::kE4m3:
      return run(static_cast<__nv_fp8_e4m3*>(nullptr));
    case DataType::kE5m2:
      return run(static_cast<__nv_fp8_e5m2*>(nullptr));
  }
}

/// The same for a type of C and the bias, which is none of 8 bits (addend_type()).
template <typename Run>
void with_added_element(DataType type, const Run& run) {
  with_element(type, [&]<typename T>(T* null) {
    if constexpr (sizeof(T) == 1) {
      throw std::invalid_argument("an addend of 8 bits");
    } else {
      run(null);
    }
  });
}

/// The same for the types of D and of C and the bias that go together.
template <typename Run>
void with_output_elements(DataType output, const Run& run) {
  with_element(output, [&]<typename Result>(Result* of_d) {
    if constexpr (sizeof(Result) == 1) {
      static_assert(addend_type(DataType::kE4m3) == DataType::kBf16 &&
                    addend_type(DataType::kE5m2) == DataType::kBf16);
      run(of_d, static_cast<__nv_bfloat16*>(nullptr));
    } else {
      run(of_d, of_d);
    }
  });
}

/// The same for the types of A and B: one type, or any two of 8 bits.
template <typename Run>
void with_operand_elements(DataType a, DataType b, const Run& run) {
  with_element(a, [&]<typename A>(A* of_a) {
    with_element(b, [&]<typename B>(B* of_b) {
      if constexpr (std::is_same_v<A, B> || (sizeof(A) == 1 && sizeof(B) == 1)) {
        run(of_a, of_b);
      } else {
        throw std::invalid_argument("operands whose types do not go together");
      }
    });
  });
}

}  // namespace hgemm
