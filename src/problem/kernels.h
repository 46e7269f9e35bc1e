// Device code of this module (kernels.cu), behind plain functions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/rules.h"

namespace hgemm {

/// data[0, count) ~ N(0, sigma^2), rounded to dtype; `stream_id` separates sequences of one seed.
void fill_normal(void* data, std::int64_t count, Dtype dtype, float sigma, std::uint64_t seed,
                 std::uint32_t stream_id, cudaStream_t stream);

/// What lies between the rows of a matrix becomes poison (kPoisonByte).
void poison_padding(void* data, std::int64_t rows, std::int64_t cols, std::int64_t leading,
                    Dtype dtype, cudaStream_t stream);

/// reference[m x n] = A[m x k] * B[n x k]^T with fp32 FMAs, k ascending.
void multiply_reference(float* reference, const void* a, const void* b, Dtype dtype,
                        const ProblemExtents& extents, cudaStream_t stream);

struct Comparison {
  float max_error;  ///< largest |out - ref| / (|ref| + 1) of the elements that are numbers
  std::uint32_t guard_writes;    ///< elements of guard rows and padding without the poison
  unsigned long long bad;        ///< elements that are NaN or over the tolerance
  unsigned long long first_bad;  ///< the lowest index of one; all ones if there is none
};

/// Compares D[m x n] with the reference, and looks for writes in `guard` elements before its first
/// row and after its last, and in what lies between its rows. `result` is device memory.
void compare(Comparison* result, const void* d, const float* reference,
             const ProblemExtents& extents, std::int64_t guard, Dtype dtype, float tolerance,
             cudaStream_t stream);

/// The bytes that poison() fills with: every element is then a NaN, whatever its type.
inline constexpr int kPoisonByte = 0xff;

}  // namespace hgemm
