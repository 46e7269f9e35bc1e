// Plain functions that launch the device code of this module (data_kernels.cu).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/common/extents.h"
#include "record/verdict.h"

namespace hgemm {

enum class Distribution : std::uint8_t {
  kNormal,    ///< N(0, sigma^2)
  kUniform,   ///< of the same variance, between -sqrt(3) sigma and sqrt(3) sigma
  kIntegers,  ///< sigma times -4, -3, ... 4, each as likely
  kSparse,    ///< N(0, sigma^2), and zero with probability 1/2
};

/// Fills data[0, count) with random values, rounded to the type. Different `stream_id`s give
/// independent sequences for one seed.
void fill_random(void* data, std::int64_t count, DataType type, Distribution distribution,
                 float sigma, std::uint64_t seed, std::uint32_t stream_id, cudaStream_t stream);
/// The same with kNormal.
void fill_normal(void* data, std::int64_t count, DataType type, float sigma, std::uint64_t seed,
                 std::uint32_t stream_id, cudaStream_t stream);

/// Fills the rows of a matrix with `scale` times `values` in order, from the first one again after
/// the last of `count`. `values` is device memory.
void repeat_values(void* data, std::int64_t rows, std::int64_t cols, std::int64_t leading,
                   DataType type, const float* values, std::int64_t count, float scale,
                   cudaStream_t stream);

/// Fills the padding between the rows of a matrix with poison (kPoisonByte).
void poison_padding(void* data, std::int64_t rows, std::int64_t cols, std::int64_t leading,
                    DataType type, cudaStream_t stream);

/// data[0, count) *= factor, at memory speed. `data` is aligned to 16 bytes.
void scale_in_place(void* data, std::int64_t count, DataType type, float factor,
                    cudaStream_t stream);

/// reference[m x n] = A[m x k] * B[n x k]^T with fp32 FMAs, k ascending. A and B have the same
/// type, and lie in memory as `extents` says.
void multiply_reference(float* reference, const void* a, const void* b, DataType input,
                        const ProblemExtents& extents, cudaStream_t stream);

/// Adds to `sum` a hash of each 16-bit word and its position. Equal sums: equal content. `bytes` is
/// even, `sum` is device memory.
void add_fingerprint(std::uint64_t* sum, const void* data, std::size_t bytes, cudaStream_t stream);

/// Compares D with the reference, and counts writes in `guard` elements before its first row
/// and after its last, and in the padding between its rows. `result` is device memory.
void compare(OutputComparison* result, const void* d, const float* reference,
             const ProblemExtents& extents, std::int64_t guard, DataType output, float tolerance,
             cudaStream_t stream);

/// The byte that poison() fills with: every element is then a NaN, whatever its type.
inline constexpr int kPoisonByte = 0xff;

}  // namespace hgemm
