// Quantising the activations of a problem with 8-bit operands (the kernels: quantise.cuh).
#pragma once

#include <cuda_runtime_api.h>

#include "gemm/problem.h"

namespace hgemm {

/// The A of a problem with 8-bit operands from activations of 16 bits, m rows of k, which lie as A
/// does: `source_leading` elements from one row to the next, a multiple of 8.
struct Quantised {
  const void* source = nullptr;
  DataType source_type = DataType::kBf16;
  long long source_leading = 0;
  void* a = nullptr;  ///< with the problem's leading dimension
  /// GemmProblem::scales_of_a() numbers, as the problem has them in memory. That of a tensor is
  /// read, others are written. Padding is not.
  float* scale_a = nullptr;
};

/// At memory speed. `problem` has 8-bit operands and is a single product; addresses are multiples
/// of 16 bytes.
void quantise(const GemmProblem& problem, const Quantised& matrix, cudaStream_t stream);

/// The same, computed by one thread for each scale, as directly as the definition says.
void quantise_plainly(const GemmProblem& problem, const Quantised& matrix, cudaStream_t stream);

}  // namespace hgemm
