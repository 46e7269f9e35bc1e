// The baselines: cublasGemmEx (for a batch cublasGemmStridedBatchedEx, by pointers
// cublasGemmBatchedEx) with its default algorithm, and every algorithm that cuBLASLt's heuristic
// offers for a problem.
//
// A batch is given to the libraries as one: a matrix that all products share has stride 0. But
// where all are one larger product (GemmProblem::merged), the libraries are given that.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <memory>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "families/operands.h"
#include "gemm/problem.h"

namespace hgemm {

/// How often a baseline may round an output. By default cuBLAS may add up parts of K in the
/// output's type (cublas_v2.h: CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION forbids it). It
/// does so at odd sizes: 4097^3 is off by 3.1 unit roundoffs (H200, cuBLAS 13.1,
/// results/h200/tune.db). Baselines are timed with the defaults, so their tolerance allows for this
/// many roundings.
inline constexpr int kLibraryRoundings = 8;

std::string cublas_version();  ///< e.g. "13.1.0"

class Cublas {
 public:
  Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas();

  /// Runs cublasGemmEx, or for a batch cublasGemmStridedBatchedEx, or cublasGemmBatchedEx by
  /// pointers, with its default algorithm, fp32 accumulation, and any types of A, B and D that it
  /// supports, none of which has 8 bits (GemmProblem::baselines). It uses a workspace of 64 MiB
  /// that this object owns, so that a captured launch contains no allocation. fp32 operands run as
  /// SGEMM on CUDA cores: no TF32, no emulation.
  void gemm(const GemmProblem& problem, const Operands& operands, cudaStream_t stream) const;

 private:
  cublasHandle_t handle_ = nullptr;
  DeviceMemory workspace_;
};

/// The algorithms that cuBLASLt's heuristic returns for one problem with its epilogue, or for a
/// batch (CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT and _MODE), in its order; if it has none with the
/// epilogue, those of a part of it, or of the product alone: rest() is left. 8-bit operands have
/// sums and scales as the problem says: its scales are the library's own, of a tensor
/// (CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F), of rows (..._OUTER_VEC_32F), or for each 128 of K of
/// rows (..._VEC128_32F) or of 128 rows of B (..._BLK128x128_32F). These take the rows of
/// GemmProblem::for_cublaslt(). At most 64 algorithms are requested, with 64 MiB of workspace; it
/// returns 8 or fewer for the problems in results/.
class CublasLtPlan {
 public:
  /// With kProduct the library gets no part of the epilogue, and a D of 8 bits is left to a launch
  /// after it.
  enum class Part { kEpilogue, kProduct };
  /// The plan is empty if the heuristic returns none. Throws Error if cuBLASLt fails for another
  /// reason.
  explicit CublasLtPlan(const GemmProblem& problem, Part part = Part::kEpilogue);
  CublasLtPlan(const CublasLtPlan&) = delete;
  CublasLtPlan& operator=(const CublasLtPlan&) = delete;
  ~CublasLtPlan();

  int algorithms() const { return static_cast<int>(results_.size()); }
  /// Whether gemm() computes the whole problem: C, bias, activation and second output too, if it
  /// has them.
  bool has_epilogue() const { return !rest_.exceeds_product(); }
  /// The problem with what gemm() leaves of its epilogue, for finish_product().
  const GemmProblem& rest() const { return rest_; }
  /// Every attribute of the algorithm, as the text of an LtAlgorithm. Throws Error if cuBLASLt does
  /// not tell one.
  std::string describe(int algorithm) const;
  /// A, C, D and the second output have the rows of for_cublaslt(), and scales lie as it says.
  void gemm(int algorithm, const Operands& operands, cudaStream_t stream) const;

 private:
  void find(const GemmProblem& problem, Part part);
  void find_algorithms();
  /// Finds those of GemmProblem::product().
  void find_product();
  /// Describes D, and C, as this problem has them.
  void lay_out(const GemmProblem& problem);
  /// Finds the algorithms that have a part of the epilogue. Returns whether there are any.
  bool find_with(const Epilogue& part, bool adds_c);
  void destroy();

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t c_ = nullptr;
  cublasLtMatrixLayout_t d_ = nullptr;
  GemmProblem rest_;
  bool adds_c_ = false, adds_bias_ = false, stores_aux_ = false;  ///< in gemm()
  bool stores_8_bits_ = false;
  std::vector<cublasLtMatmulHeuristicResult_t> results_;
  DeviceMemory workspace_;
};

}  // namespace hgemm
