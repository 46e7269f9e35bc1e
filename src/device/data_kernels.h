// Plain functions that launch the device code of this module (data_kernels.cu).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "device/matrix_elements.h"
#include "families/operands.h"
#include "gemm/problem.h"
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

/// Fills matrices with `scale` times `values` in the order of memory, from the first one again
/// after the last of `count`. Padding between the rows takes no value where they lie like one
/// matrix; elsewhere every element of the span takes one (values_to_fill). `values` is device
/// memory.
void repeat_values(void* data, const StoredMatrices& all, DataType type, const float* values,
                   std::int64_t count, float scale, cudaStream_t stream);

/// Fills everything in their span that belongs to no matrix with poison (kPoisonByte): the padding
/// between rows, and what lies between the matrices of a batch. It fills nothing if they overlap
/// other than rows side by side or whole rows in turn (Arrangement::kOverlapping).
void poison_padding(void* data, const StoredMatrices& all, DataType type, cudaStream_t stream);

/// data[0, count) *= factor, at memory speed. `data` is aligned to 16 bytes.
void scale_in_place(void* data, std::int64_t count, DataType type, float factor,
                    cudaStream_t stream);

/// Fills data[0, count) with scales of rows or blocks: 3/4 times 2^u, where u is uniform in [0, 1).
/// So the product of a scale of A and one of B is below 2.25 (kLargestScales in gemm/problem.cpp),
/// and a kernel that takes the scales of other rows or blocks is wrong at most of its elements.
void fill_scales(float* data, std::int64_t count, std::uint64_t seed, std::uint32_t stream_id,
                 cudaStream_t stream);

/// reference[m x n] = A[m x k] * B[n x k]^T with fp32 FMAs, k ascending, for each product of a
/// batch. With scales of blocks the sum of each block of K is multiplied by its two scales, and
/// then added to those before. (Other scales are left to scale_sums().) A and B have the same type
/// or are both of 8 bits. They lie at the operands' addresses also by pointers, as the problem
/// says; references follow one another without padding, as the D in memory do. Products of 8-bit
/// values are exact in fp32. Throws InputError if they have more tiles than a grid has blocks.
void multiply_reference(float* reference, const GemmProblem& problem, const Operands& operands,
                        cudaStream_t stream);

/// sums[rows x cols] *= scale_a * scale_b: with kTensor by one number each, with kRows by that of
/// the row and that of the column. All are in device memory. Others were not left to it.
void scale_sums(float* sums, std::int64_t rows, std::int64_t cols, Scaling scaling,
                const float* scale_a, const float* scale_b, cudaStream_t stream);

/// The places in memory of A, B and D of product number `i` of a batch, among those of all. At
/// strides they are the number itself. By pointers each operand has another order, which no stride
/// follows, so that a kernel which does not read each address is wrong.
struct Places {
  std::int64_t a, b, d;
};
HGEMM_HOST_DEVICE constexpr Places places_of(const Batch& batch, std::int64_t i) {
  if (!batch.by_pointers) return {i, i, i};
  return {(i + 1) % batch.count, batch.count - 1 - i, (i + 2) % batch.count};
}

/// Adds to `sum` a hash of each 16-bit word and its position. Equal sums: equal content, but for
/// the last one of an odd number of bytes (only padding: a row of 8-bit operands has 16 elements or
/// a multiple). `sum` is device memory.
void add_fingerprint(std::uint64_t* sum, const void* data, std::size_t bytes, cudaStream_t stream);

/// Scales of a D of 8 bits that a launch has found, as they lie in memory; null: none.
struct FoundScales {
  const float* numbers = nullptr;
  std::int64_t leading = 0;  ///< from one block of columns to the next (scale_leading())
};

/// Compares D of all products with the reference, and counts writes in `guard` elements before its
/// first row and after its last, in the padding between its rows, and between the products' D.
/// `result` is device memory. Errors are relative to |reference| + `scale`
/// (GemmProblem::tolerance). With `found` scales an element of D stands for itself times its scale.
void compare(OutputComparison* result, const void* d, const float* reference,
             const ProblemExtents& extents, std::int64_t guard, DataType output, float scale,
             float tolerance, const FoundScales& found, cudaStream_t stream);

/// The byte that poison() fills with: every element is then a NaN, whatever its type.
inline constexpr int kPoisonByte = 0xff;

}  // namespace hgemm
