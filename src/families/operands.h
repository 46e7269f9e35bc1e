// Device addresses of one set of operands, and factors. D[m x n] = activation(alpha A[m x k] * B[n
// x k]^T + beta C + bias), D and C row-major, with the leading dimensions of the problem; with a
// gate D has n / 2 columns. Of a batch by pointers (GemmKind::by_pointers) `a`, `b` and `d` are
// arrays of the products' addresses, in device memory.
#pragma once

namespace hgemm {

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* c = nullptr;     ///< with the leading dimension of D; may be D
  const void* bias = nullptr;  ///< n or m elements
  float alpha = 1, beta = 1;   ///< of an epilogue that is scaled; others have none
  void* aux = nullptr;  ///< the second output (Epilogue::aux), with the leading dimension of D
  /// fp32 numbers in device memory (GemmKind::scaling): one each; m and n; or those that
  /// is_of_blocks() describes (kernels/common/types.h), which begin at multiples of 16 bytes.
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  const float* scale_d = nullptr;  ///< one number in device memory, if D has 8 bits and is given it
  /// Where the scales of D go, if they are found (OutputScaling::kBlocks); a multiple of 16 bytes.
  float* scales_d = nullptr;
};

}  // namespace hgemm
