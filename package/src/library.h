// Runs cuBLASLt at a tuned problem. `hgemm-tune export --with-cublaslt` wrote that
// row; a package without such rows has no such code and does not link cuBLASLt.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "families/operands.h"
#include "library_row.h"
#include "row.h"

namespace hgemm_tuned_library {

using namespace hgemm_tuned_table;

/// The limit that the algorithms were measured with.
inline constexpr std::size_t kMaxWorkspaceBytes = std::size_t{64} << 20;
/// cuBLASLt's heuristic assumes operands at such addresses, as cudaMalloc returns them.
inline constexpr std::uintptr_t kOperandUnit = 256;

inline bool is_ok(cublasStatus_t status) { return status == CUBLAS_STATUS_SUCCESS; }

inline cudaDataType_t type_of(hgemm::DataType type) {
  switch (type) {
    case hgemm::DataType::kFp32:
      return CUDA_R_32F;
    case hgemm::DataType::kFp16:
      return CUDA_R_16F;
    case hgemm::DataType::kE4m3:
      return CUDA_R_8F_E4M3;
    case hgemm::DataType::kE5m2:
      return CUDA_R_8F_E5M2;
    default:
      return CUDA_R_16BF;
  }
}

/// cuBLASLt's name for the scales of our A.
inline cublasLtMatmulMatrixScale_t scale_mode_of_a(hgemm::Scaling scaling) {
  switch (scaling) {
    case hgemm::Scaling::kRows:
      return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case hgemm::Scaling::kBlocks:
    case hgemm::Scaling::kRowBlocks:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    default:
      return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
  }
}
/// The same for our B.
inline cublasLtMatmulMatrixScale_t scale_mode_of_b(hgemm::Scaling scaling) {
  return scaling == hgemm::Scaling::kBlocks ? CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F
                                            : scale_mode_of_a(scaling);
}

/// What cuBLASLt runs for one row in one CUDA context: the recorded algorithm, if this is the
/// version of cuBLASLt that it was measured with and cuBLASLt accepts it, else the first that the
/// heuristic returns. It is made once and never freed, as all that is known about a context.
class Plan {
 public:
  /// Whether cuBLASLt can compute the row. The first call decides it.
  bool is_usable(const LibraryRow& library, const Row& row) {
    std::call_once(once_,
                   [&] { usable_ = describe(row) && (take_recorded(library) || take_first()); });
    return usable_;
  }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// Whether the recorded algorithm runs, not one of the heuristic.
  bool is_recorded() const { return recorded_; }

  /// The operands' alpha is the row's only epilogue.
  bool run(cudaStream_t stream, const hgemm::Operands& operands, void* workspace) const {
    const float zero = 0.0f;
    // Scales are part of the description, and other threads use the one of the plan.
    cublasLtMatmulDescOpaque_t own{};
    const cublasLtMatmulDesc_t operation = scaling_ == hgemm::Scaling::kNone ? operation_ : &own;
    if (operation == &own &&
        !(is_ok(cublasLtMatmulDescInit(&own, CUBLAS_COMPUTE_32F, CUDA_R_32F)) &&
          describe_product(&own) && describe_scales(&own, operands.scale_b, operands.scale_a))) {
      return false;
    }
    return is_ok(cublasLtMatmul(handle_, operation, &operands.alpha, operands.b, b_, operands.a, a_,
                                &zero, operands.d, d_, operands.d, d_, &algorithm_, workspace,
                                workspace_bytes_, stream));
  }

 private:
  /// cuBLAS is column-major: the row-major D = A B^T is D^T = B A^T there, and a matrix that is
  /// stored in rows is the transposed one.
  bool describe(const Row& row) {
    const hgemm::ProblemExtents problem = merged(row.problem);  // as the row was measured
    if (problem.batch.by_pointers) return false;  // the layouts below are those of strides
    const hgemm::StoredMatrix b = stored_b(problem);
    const hgemm::StoredMatrix a = stored_a(problem);
    input_a_ = type_of(input_a(row.kind));
    input_b_ = type_of(input_b(row.kind));
    output_ = type_of(row.kind.output);
    of_b_ = problem.b_major == hgemm::Major::kK ? CUBLAS_OP_T : CUBLAS_OP_N;
    of_a_ = problem.a_major == hgemm::Major::kK ? CUBLAS_OP_N : CUBLAS_OP_T;
    fast_sums_ = row.kind.fast_sums ? 1 : 0;
    scaling_ = row.kind.scaling;
    // For the heuristic, which needs an address that is not null and does not read there.
    const float* const any = reinterpret_cast<const float*>(kOperandUnit);
    const hgemm::Batch& batch = problem.batch;
    const auto create = [&batch](cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                 const hgemm::StoredMatrix& matrix, long long stride) {
      return is_ok(cublasLtMatrixLayoutCreate(layout, type, static_cast<std::uint64_t>(matrix.cols),
                                              static_cast<std::uint64_t>(matrix.rows),
                                              matrix.leading)) &&
             (batch.count == 1 || repeat(*layout, batch.count, stride));
    };
    return is_ok(cublasLtCreate(&handle_)) &&
           is_ok(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F)) &&
           describe_product(operation_) && describe_scales(operation_, any, any) &&
           create(&b_, input_b_, b, batch.stride_b) && create(&a_, input_a_, a, batch.stride_a) &&
           create(&d_, output_, stored_d(problem), batch.stride_d);
  }

  template <class Value>
  static bool set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                  const Value& value) {
    return is_ok(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
  }

  /// 16-bit sums have no other mode than that of fast_sums_ == 0, the default.
  bool describe_product(cublasLtMatmulDesc_t operation) const {
    return set(operation, CUBLASLT_MATMUL_DESC_TRANSA, of_b_) &&
           set(operation, CUBLASLT_MATMUL_DESC_TRANSB, of_a_) &&
           (fast_sums_ == 0 || set(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast_sums_));
  }

  /// `first` are the scales of the library's A, our B.
  bool describe_scales(cublasLtMatmulDesc_t operation, const float* first,
                       const float* second) const {
    if (scaling_ == hgemm::Scaling::kNone) return true;
    const auto mode_of_first = static_cast<std::int32_t>(scale_mode_of_b(scaling_));
    const auto mode_of_second = static_cast<std::int32_t>(scale_mode_of_a(scaling_));
    return set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, mode_of_first) &&
           set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, mode_of_second) &&
           set(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, first) &&
           set(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, second);
  }

  /// Makes a layout that of all products; they share the matrix if the stride is 0.
  static bool repeat(cublasLtMatrixLayout_t layout, long long products, long long stride) {
    const auto count = static_cast<std::int32_t>(products);
    const std::int64_t offset = stride;
    return is_ok(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                  &count, sizeof count)) &&
           is_ok(cublasLtMatrixLayoutSetAttribute(
               layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset));
  }

  template <class Value>
  bool set(cublasLtMatmulAlgoConfigAttributes_t attribute, const Value& value) {
    return is_ok(
        cublasLtMatmulAlgoConfigSetAttribute(&algorithm_, attribute, &value, sizeof value));
  }

  bool take_recorded(const LibraryRow& library) {
    if (library.library != Library::kAlgorithm) return false;
    if (cublasLtGetVersion() != library.version) return false;
    const LtAttributes& of = library.attributes;
    cublasLtMatmulHeuristicResult_t checked{};
    recorded_ = is_ok(cublasLtMatmulAlgoInit(handle_, CUBLAS_COMPUTE_32F, CUDA_R_32F, input_b_,
                                             input_a_, output_, output_, of.id, &algorithm_)) &&
                set(CUBLASLT_ALGO_CONFIG_TILE_ID, of.tile) &&
                set(CUBLASLT_ALGO_CONFIG_STAGES_ID, of.stages) &&
                set(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, of.split_k) &&
                set(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, of.reduction) &&
                set(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, of.swizzle) &&
                set(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, of.custom) &&
                set(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, of.inner) &&
                set(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, of.cluster) &&
                is_ok(cublasLtMatmulAlgoCheck(handle_, operation_, b_, a_, d_, d_, &algorithm_,
                                              &checked)) &&
                is_ok(checked.state) && checked.workspaceSize <= library.workspace_bytes;
    if (recorded_) workspace_bytes_ = checked.workspaceSize;
    return recorded_;
  }

  bool take_first() {
    cublasLtMatmulPreference_t preference = nullptr;
    if (!is_ok(cublasLtMatmulPreferenceCreate(&preference))) return false;
    cublasLtMatmulHeuristicResult_t first{};
    int found = 0;
    const bool ok = is_ok(cublasLtMatmulPreferenceSetAttribute(
                        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kMaxWorkspaceBytes,
                        sizeof kMaxWorkspaceBytes)) &&
                    is_ok(cublasLtMatmulAlgoGetHeuristic(handle_, operation_, b_, a_, d_, d_,
                                                         preference, 1, &first, &found)) &&
                    found > 0 && is_ok(first.state);
    cublasLtMatmulPreferenceDestroy(preference);
    if (!ok) return false;
    algorithm_ = first.algo;
    workspace_bytes_ = first.workspaceSize;
    return true;
  }

  std::once_flag once_;
  bool usable_ = false, recorded_ = false;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cudaDataType_t input_a_ = CUDA_R_16BF, input_b_ = CUDA_R_16BF, output_ = CUDA_R_16BF;
  cublasOperation_t of_a_ = CUBLAS_OP_N, of_b_ = CUBLAS_OP_T;
  std::int8_t fast_sums_ = 0;
  hgemm::Scaling scaling_ = hgemm::Scaling::kNone;
  cublasLtMatmulAlgo_t algorithm_{};
  std::size_t workspace_bytes_ = 0;
};

}  // namespace hgemm_tuned_library
