// Device addresses of one set of A, B and D. D[m x n] = A[m x k] * B[n x k]^T, row-major, with the
// leading dimensions of the problem.
#pragma once

namespace hgemm {

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
};

}  // namespace hgemm
