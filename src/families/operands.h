// Device addresses of one set of operands. D[m x n] = activation(A[m x k] * B[n x k]^T + C + bias),
// D and C row-major, with the leading dimensions of the problem.
#pragma once

namespace hgemm {

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* c = nullptr;     ///< with the leading dimension of D; may be D
  const void* bias = nullptr;  ///< n or m elements
};

}  // namespace hgemm
