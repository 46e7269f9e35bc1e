// The part of hgemm_tuned.cu that calls cuBLAS with a handle of the caller: that file includes it
// after its own types and helpers.
#pragma once

#include <cublas_v2.h>

#include <array>

namespace {

/// cuBLAS is column-major: the row-major D = A B^T is D^T = B A^T there, and a matrix that is
/// stored in rows is the transposed one.
cudaDataType_t cuda_type(DataType type) {
  if (type == DataType::kFp32) return CUDA_R_32F;
  return type == DataType::kFp16 ? CUDA_R_16F : CUDA_R_16BF;
}

hgemm_tuned_status launch_cublas(cudaStream_t stream, const ProblemExtents& any,
                                 const GemmKind& kind, const Operands& operands, void* cublas) {
  const ProblemExtents p = merged(any);
  const auto handle = static_cast<cublasHandle_t>(cublas);
  // Setting another stream would replace the workspace of the handle.
  cudaStream_t set = nullptr;
  if (cublasGetStream(handle, &set) != CUBLAS_STATUS_SUCCESS || set != stream) {
    return HGEMM_TUNED_CUBLAS_ERROR;
  }
  const float alpha = operands.alpha;
  const float zero = 0.0f;
  const cudaDataType_t type = cuda_type(kind.input);
  const cudaDataType_t output = cuda_type(kind.output);
  const cublasOperation_t of_b = p.b_major == Major::kK ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_a = p.a_major == Major::kK ? CUBLAS_OP_N : CUBLAS_OP_T;
  const auto [m, n, k] =
      std::array{static_cast<int>(p.m), static_cast<int>(p.n), static_cast<int>(p.k)};
  const auto [lda, ldb, ldd] =
      std::array{static_cast<int>(p.lda), static_cast<int>(p.ldb), static_cast<int>(p.ldd)};
  const int products = static_cast<int>(p.batch.count);
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
  if (p.batch.by_pointers) {
    status = cublasGemmBatchedEx(handle, of_b, of_a, n, m, k, &alpha,
                                 static_cast<const void* const*>(operands.b), type, ldb,
                                 static_cast<const void* const*>(operands.a), type, lda, &zero,
                                 static_cast<void* const*>(operands.d), output, ldd, products,
                                 CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  } else if (products > 1) {
    status = cublasGemmStridedBatchedEx(handle, of_b, of_a, n, m, k, &alpha, operands.b, type, ldb,
                                        p.batch.stride_b, operands.a, type, lda, p.batch.stride_a,
                                        &zero, operands.d, output, ldd, p.batch.stride_d, products,
                                        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  } else {
    status =
        cublasGemmEx(handle, of_b, of_a, n, m, k, &alpha, operands.b, type, ldb, operands.a, type,
                     lda, &zero, operands.d, output, ldd, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  }
  return status == CUBLAS_STATUS_SUCCESS ? HGEMM_TUNED_OK : HGEMM_TUNED_CUBLAS_ERROR;
}

}  // namespace
