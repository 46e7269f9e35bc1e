// Device code of this module (kernels.cu), behind plain functions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/config.h"

namespace hgemm {

/// data[0, count) ~ N(0, sigma^2), rounded to dtype; `stream_id` separates sequences of one seed.
void fill_normal(void* data, std::int64_t count, Dtype dtype, float sigma, std::uint64_t seed,
                 std::uint32_t stream_id, cudaStream_t stream);

/// reference[m x n] = A[m x k] * B[n x k]^T with fp32 FMAs, k ascending.
void multiply_reference(float* reference, const void* a, const void* b, Dtype dtype, std::int64_t m,
                        std::int64_t n, std::int64_t k, cudaStream_t stream);

struct Comparison {
  float max_error;  ///< largest |out - ref| / (|ref| + 1) of the elements that are numbers
  std::uint32_t guard_writes;    ///< elements of guard rows that no longer hold the poison
  unsigned long long bad;        ///< elements that are NaN or over the tolerance
  unsigned long long first_bad;  ///< the lowest index of one; all ones if there is none
};

/// Compares d[0, count) with the reference, and looks for writes in the guards of `guard` elements
/// before and after d. `result` is device memory.
void compare(Comparison* result, const void* d, const float* reference, std::int64_t count,
             std::int64_t guard, Dtype dtype, float tolerance, cudaStream_t stream);

/// The bytes that poison() fills with: every element is then a NaN, whatever its type.
inline constexpr int kPoisonByte = 0xff;

}  // namespace hgemm
