// Device code of this module (data_kernels.cu), behind plain functions.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/extents.h"
#include "record/verdict.h"

namespace hgemm {

/// data[0, count) ~ N(0, sigma^2), rounded to the type; `stream_id` separates sequences of one
/// seed.
void fill_normal(void* data, std::int64_t count, DataType type, float sigma, std::uint64_t seed,
                 std::uint32_t stream_id, cudaStream_t stream);

/// What lies between the rows of a matrix becomes poison (kPoisonByte).
void poison_padding(void* data, std::int64_t rows, std::int64_t cols, std::int64_t leading,
                    DataType type, cudaStream_t stream);

/// reference[m x n] = A[m x k] * B[n x k]^T with fp32 FMAs, k ascending. A and B are of one type.
void multiply_reference(float* reference, const void* a, const void* b, DataType input,
                        const ProblemExtents& extents, cudaStream_t stream);

/// Compares D[m x n] with the reference, and looks for writes in `guard` elements before its first
/// row and after its last, and in what lies between its rows. `result` is device memory.
void compare(Comparison* result, const void* d, const float* reference,
             const ProblemExtents& extents, std::int64_t guard, DataType output, float tolerance,
             cudaStream_t stream);

/// The bytes that poison() fills with: every element is then a NaN, whatever its type.
inline constexpr int kPoisonByte = 0xff;

}  // namespace hgemm
