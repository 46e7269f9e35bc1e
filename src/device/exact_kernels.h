// Plain functions that launch the device code of the accuracy study (exact_kernels.cu): operands
// that try how sums are kept, and how far results are from the exact ones.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "families/operands.h"
#include "gemm/problem.h"

namespace hgemm {

/// How the elements of an operand depend on their place along K.
struct OperandShape {
  bool one_sign = false;  ///< all values are their magnitudes
  /// Elements of K in a block of the magnitudes that follow.
  std::int64_t block = 1;
  /// The block `i` of `blocks` is multiplied by two to `lowest` + `rise` * i / (blocks - 1),
  /// rounded to a whole exponent.
  int lowest = 0, rise = 0;
  /// If not negative, instead only this block is multiplied by two to `lowest` + `rise`, and the
  /// others by two to `lowest`.
  std::int64_t peak = -1;
  /// The second half of K repeats the magnitudes of the first one but for the last `unpaired` of
  /// them. With `negated` it has the other sign.
  bool repeats = false, negated = false;
  std::int64_t unpaired = 0;

  /// The exponent of two that elements of block `i` are multiplied by. `rise` is not negative.
  HGEMM_HOST_DEVICE constexpr int exponent(std::int64_t i, std::int64_t blocks) const {
    if (peak >= 0) return i == peak ? lowest + rise : lowest;
    return blocks < 2 ? lowest
                      : lowest + static_cast<int>((2 * rise * i + blocks - 1) / (2 * (blocks - 1)));
  }
};

/// Fills A (or B) of a problem with N(0, sigma^2), shaped, and rounded to its type. Padding is left
/// as it is. `rows` of the operand: M or N.
void fill_shaped(void* data, DataType type, Major major, std::int64_t leading, std::int64_t rows,
                 std::int64_t k, const OperandShape& shape, float sigma, std::uint64_t seed,
                 std::uint32_t stream_id, cudaStream_t stream);

/// exact[m x n] = A[m x k] * B[n x k]^T in fp64, of the operands times their scales. The problem is
/// a single product without an epilogue. Throws InputError if it has more tiles than a grid has
/// blocks.
void multiply_exactly(double* exact, const GemmProblem& problem, const Operands& operands,
                      cudaStream_t stream);

/// Sums over all elements of D, of errors = D - exact.
struct ErrorSums {
  double exact_squares = 0;
  double squares = 0;
  double away_from_zero = 0;          ///< errors with the sign of `exact`: negative is toward zero
  double worst = 0;                   ///< the largest |error|
  double worst_relative = 0;          ///< the largest |error| / (|exact| + 1), as in tolerance()
  unsigned long long not_finite = 0;  ///< elements of D that are no numbers; not in the sums
};
/// Fills `sums`, which is device memory.
void compare_exactly(ErrorSums* sums, const void* d, const double* exact,
                     const GemmProblem& problem, cudaStream_t stream);

}  // namespace hgemm
