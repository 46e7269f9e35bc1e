#include "device/blas.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "device/device.h"
#include "record/lt_algorithm.h"

namespace hgemm {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr int kAlgorithmsAskedFor = 64;

void check_blas(cublasStatus_t status, const char* doing) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(fmt::format("{}: {}", doing, cublasGetStatusString(status)));
}

cudaDataType_t data_type(DataType type) {
  switch (type) {
    case DataType::kBf16:
      return CUDA_R_16BF;
    case DataType::kFp16:
      return CUDA_R_16F;
    case DataType::kFp32:
      return CUDA_R_32F;
    case DataType::kE4m3:
      return CUDA_R_8F_E4M3;
    case DataType::kE5m2:
      return CUDA_R_8F_E5M2;
  }
  throw Error("cuBLAS has no name for this type");
}

/// The pedantic compute type for fp32. Without it, an environment variable or a later cuBLAS may
/// put fp32 on tensor cores (as TF32, or emulated); kernels on CUDA cores would then be compared
/// with other hardware.
cublasComputeType_t compute_type(const GemmProblem& problem) {
  return problem.a_type == DataType::kFp32 ? CUBLAS_COMPUTE_32F_PEDANTIC : CUBLAS_COMPUTE_32F;
}

/// cuBLASLt's name for an epilogue, or nullopt. Its bias runs along the rows of the column-major
/// D^T, our N, and its GELU is the one with tanh (cublasLt.h, cublasLtEpilogue_t). For ReLU its
/// second output is a mask of bits, not what the activation is applied to.
std::optional<cublasLtEpilogue_t> lt_epilogue(const Epilogue& epilogue) {
  if (epilogue.bias == Bias::kAlongM || epilogue.gate != Gate::kNone) return std::nullopt;
  const bool bias = epilogue.bias == Bias::kAlongN;
  switch (epilogue.activation) {
    case Activation::kNone:
      return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::kRelu:
      if (epilogue.aux) return std::nullopt;
      return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGelu:
      if (epilogue.aux) {
        return bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
      }
      return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    case Activation::kGeluErf:
    case Activation::kSilu:
      break;
  }
  return std::nullopt;
}

template <class Value>
void set_attribute(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute,
                   const Value& value) {
  check_blas(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
             "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set_attribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute,
                   const Value& value) {
  check_blas(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
             "cublasLtMatrixLayoutSetAttribute");
}

/// cuBLASLt's names for the scales of our A and B.
struct ScaleModes {
  cublasLtMatmulMatrixScale_t a, b;
};
ScaleModes scale_modes(Scaling scaling) {
  switch (scaling) {
    case Scaling::kRows:
      return {CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F,
              CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F};
    case Scaling::kBlocks:
    case Scaling::kPackedBlocks:
      return {CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F};
    case Scaling::kRowBlocks:
      return {CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F};
    case Scaling::kNone:
    case Scaling::kTensor:
      break;
  }
  return {CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F};
}

/// Says how 8-bit operands are multiplied: whether sums are promoted, and the kind of their scales.
/// The heuristic must know all of it (cublasLt.h: A_SCALE_MODE; its A is our B). `scale` is any
/// address in device memory, for the heuristic; launches set their own.
void describe_8_bit(cublasLtMatmulDesc_t operation, const GemmProblem& problem, const void* scale) {
  const auto fast = static_cast<std::int8_t>(problem.accumulator == Accumulator::kFast ? 1 : 0);
  set_attribute(operation, CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
  if (problem.scaling == Scaling::kNone) return;
  const ScaleModes modes = scale_modes(problem.scaling);
  set_attribute(operation, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, static_cast<std::int32_t>(modes.b));
  set_attribute(operation, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, static_cast<std::int32_t>(modes.a));
  set_attribute(operation, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scale);
  set_attribute(operation, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scale);
}

/// Describes the matrix of one product, as many of them as the batch has, and `stride` elements
/// from one to the next, or by pointers.
void create_layout(cublasLtMatrixLayout_t& layout, DataType type, const StoredMatrix& matrix,
                   const Batch& batch, long long stride) {
  check_blas(
      cublasLtMatrixLayoutCreate(&layout, data_type(type), static_cast<std::uint64_t>(matrix.cols),
                                 static_cast<std::uint64_t>(matrix.rows), matrix.leading),
      "cublasLtMatrixLayoutCreate");
  if (batch.count == 1) return;
  set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch.count));
  if (batch.by_pointers) {
    constexpr std::uint32_t kMode = CUBLASLT_BATCH_MODE_POINTER_ARRAY;
    set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, kMode);
    return;
  }
  set_attribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                static_cast<std::int64_t>(stride));
}

cublasOperation_t operation_of_a(const GemmProblem& problem) {
  return problem.a_major() == Major::kK ? CUBLAS_OP_N : CUBLAS_OP_T;
}
cublasOperation_t operation_of_b(const GemmProblem& problem) {
  return problem.b_major() == Major::kK ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

std::vector<std::string> cublas_libraries() {
  return {fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR),
          fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR)};
}

std::string cublas_version() {
  const auto version = static_cast<int>(cublasLtGetVersion());  // 130100 = 13.1.0
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

// cuBLAS is column-major: our row-major D = A B^T is its D^T = B A^T (N x M). A matrix that we
// store in rows is there the transposed one, with the same leading dimension. So a B that is
// contiguous in K (N rows of K) is a K x N matrix to transpose, and one contiguous in N is N x K as
// it is; an A contiguous in K (M rows of K) is K x M as it is, and one contiguous in M is M x K to
// transpose.

Cublas::Cublas() : workspace_(kWorkspaceBytes) {
  check_blas(cublasCreate(&handle_), "starting cuBLAS");
}

Cublas::~Cublas() { cublasDestroy(handle_); }

void Cublas::gemm(const GemmProblem& batch_or_one, const Operands& operands,
                  cudaStream_t stream) const {
  const GemmProblem problem = batch_or_one.merged();
  const float alpha = operands.alpha;
  const float zero = 0.0f;
  const auto m = static_cast<int>(problem.m);
  const auto n = static_cast<int>(problem.n);
  const auto k = static_cast<int>(problem.k);
  const auto lda = static_cast<int>(problem.leading_a());
  const auto ldb = static_cast<int>(problem.leading_b());
  const auto ldd = static_cast<int>(problem.product().leading_d());
  check_blas(cublasSetStream(handle_, stream), "giving cuBLAS a stream");
  // Changing the stream resets the workspace to cuBLAS's own.
  check_blas(cublasSetWorkspace(handle_, workspace_.data(), workspace_.bytes()),
             "giving cuBLAS a workspace");
  if (problem.batch > 1 && problem.by_pointers) {
    const auto array = [](const void* operand) { return static_cast<const void* const*>(operand); };
    check_blas(cublasGemmBatchedEx(handle_, operation_of_b(problem), operation_of_a(problem), n, m,
                                   k, &alpha, array(operands.b), data_type(problem.b_type), ldb,
                                   array(operands.a), data_type(problem.a_type), lda, &zero,
                                   static_cast<void* const*>(operands.d), data_type(problem.d_type),
                                   ldd, static_cast<int>(problem.batch), compute_type(problem),
                                   CUBLAS_GEMM_DEFAULT),
               "cublasGemmBatchedEx");
    return;
  }
  if (problem.batch > 1) {
    const Batch batch = problem.extents().batch;
    check_blas(
        cublasGemmStridedBatchedEx(
            handle_, operation_of_b(problem), operation_of_a(problem), n, m, k, &alpha, operands.b,
            data_type(problem.b_type), ldb, batch.stride_b, operands.a, data_type(problem.a_type),
            lda, batch.stride_a, &zero, operands.d, data_type(problem.d_type), ldd, batch.stride_d,
            static_cast<int>(batch.count), compute_type(problem), CUBLAS_GEMM_DEFAULT),
        "cublasGemmStridedBatchedEx");
    return;
  }
  check_blas(
      cublasGemmEx(handle_, operation_of_b(problem), operation_of_a(problem), n, m, k, &alpha,
                   operands.b, data_type(problem.b_type), ldb, operands.a,
                   data_type(problem.a_type), lda, &zero, operands.d, data_type(problem.d_type),
                   ldd, compute_type(problem), CUBLAS_GEMM_DEFAULT),
      "cublasGemmEx");
}

CublasLtPlan::CublasLtPlan(const GemmProblem& batch_or_one, Part part)
    : workspace_(kWorkspaceBytes) {
  const GemmProblem problem = batch_or_one.merged();
  try {
    find(problem.for_cublaslt(), part);
  } catch (...) {
    destroy();
    throw;
  }
  rest_.m = problem.m;
}

void CublasLtPlan::find(const GemmProblem& problem, Part part) {
  const ProblemExtents extents = problem.product().extents();
  const Batch& batch = extents.batch;
  check_blas(cublasLtCreate(&handle_), "starting cuBLASLt");
  check_blas(cublasLtMatmulDescCreate(&operation_, compute_type(problem), CUDA_R_32F),
             "cublasLtMatmulDescCreate");
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, operation_of_b(problem));
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_TRANSB, operation_of_a(problem));
  if (problem.has_8_bit_operands()) describe_8_bit(operation_, problem, workspace_.data());
  create_layout(b_, problem.b_type, stored_b(extents), batch, batch.stride_b);
  create_layout(a_, problem.a_type, stored_a(extents), batch, batch.stride_a);
  rest_ = problem;
  // The library finds no scales for the GPUs that this program is for (cuBLAS docs, "Block
  // scaling": D's scales of 32 or 16 elements, on others).
  if (part == Part::kProduct || problem.finds_scales_of_d()) {
    find_product();
    return;
  }
  lay_out(problem.has_8_bit_output() ? problem : problem.product());
  if (find_with(problem.epilogue, problem.c_type.has_value())) {
    rest_ = problem.product();
    return;
  }
  // With a second output, which the library then writes, it can add C and the bias to it.
  if (problem.epilogue.aux &&
      find_with({.bias = problem.epilogue.bias, .scaled = problem.epilogue.scaled},
                problem.c_type.has_value())) {
    rest_.c_type = std::nullopt;
    rest_.epilogue.bias = Bias::kNone;
    return;
  }
  if (problem.exceeds_product()) find_product();
}

void CublasLtPlan::find_product() {
  results_.clear();
  // Nothing rounds the products of a batch in a launch of its own.
  if (rest_.has_8_bit_output() && rest_.batch > 1) return;
  const GemmProblem product = rest_.product();
  lay_out(product);
  find_with(product.epilogue, false);
}

void CublasLtPlan::lay_out(const GemmProblem& problem) {
  const ProblemExtents extents = problem.extents();
  const auto create = [&](cublasLtMatrixLayout_t& layout, DataType type) {
    cublasLtMatrixLayoutDestroy(std::exchange(layout, nullptr));
    create_layout(layout, type, stored_d(extents), extents.batch, extents.batch.stride_d);
  };
  create(d_, problem.d_type);
  create(c_, problem.added_type());
  stores_8_bits_ = problem.has_8_bit_output();
  if (!rest_.has_8_bit_output()) return;
  // For the heuristic: any address in device memory, which launches replace by their own.
  const void* const scale = stores_8_bits_ ? workspace_.data() : nullptr;
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, scale);
}

bool CublasLtPlan::find_with(const Epilogue& part, bool adds_c) {
  const auto epilogue = lt_epilogue(part);
  const std::int64_t leading_d = rest_.leading_d();
  // The second output's rows are whole units of 16 bytes (of 16-bit elements).
  if (!epilogue || (part.aux && leading_d % 8 != 0)) return false;
  adds_c_ = adds_c;
  adds_bias_ = part.bias != Bias::kNone;
  stores_aux_ = part.aux;
  set_attribute(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, *epilogue);
  if (adds_bias_) {
    set_attribute(operation_, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(rest_.added_type()));
  }
  if (stores_aux_) set_attribute(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, leading_d);
  find_algorithms();
  return !results_.empty();
}

void CublasLtPlan::find_algorithms() {
  cublasLtMatmulPreference_t created = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate");
  const std::unique_ptr<std::remove_pointer_t<cublasLtMatmulPreference_t>,
                        decltype(&cublasLtMatmulPreferenceDestroy)>
      preference(created, cublasLtMatmulPreferenceDestroy);
  check_blas(cublasLtMatmulPreferenceSetAttribute(preference.get(),
                                                  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &kWorkspaceBytes, sizeof kWorkspaceBytes),
             "cublasLtMatmulPreferenceSetAttribute");
  results_.resize(kAlgorithmsAskedFor);
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, operation_, b_, a_, c_, d_, preference.get(),
                                     kAlgorithmsAskedFor, results_.data(), &found);
  // The documentation has both for types and scale modes that go without one another.
  const bool has_none = status == CUBLAS_STATUS_NOT_SUPPORTED ||
                        (rest_.has_8_bit_operands() && status == CUBLAS_STATUS_INVALID_VALUE);
  if (has_none)
    found = 0;
  else
    check_blas(status, "cublasLtMatmulAlgoGetHeuristic");
  results_.resize(static_cast<std::size_t>(found));
  std::erase_if(results_, [](const cublasLtMatmulHeuristicResult_t& result) {
    return result.state != CUBLAS_STATUS_SUCCESS;
  });
}

CublasLtPlan::~CublasLtPlan() { destroy(); }

void CublasLtPlan::destroy() {
  cublasLtMatrixLayoutDestroy(d_);
  cublasLtMatrixLayoutDestroy(c_);
  cublasLtMatrixLayoutDestroy(a_);
  cublasLtMatrixLayoutDestroy(b_);
  cublasLtMatmulDescDestroy(operation_);
  cublasLtDestroy(handle_);
}

std::string CublasLtPlan::describe(int algorithm) const {
  const cublasLtMatmulHeuristicResult_t& result = results_.at(static_cast<std::size_t>(algorithm));
  const auto read = [&]<typename T>(cublasLtMatmulAlgoConfigAttributes_t attribute, T& value) {
    std::size_t written = 0;
    check_blas(cublasLtMatmulAlgoConfigGetAttribute(&result.algo, attribute, &value, sizeof value,
                                                    &written),
               "cublasLtMatmulAlgoConfigGetAttribute");
  };
  LtAlgorithm all;
  read(CUBLASLT_ALGO_CONFIG_ID, all.id);
  read(CUBLASLT_ALGO_CONFIG_TILE_ID, all.tile);
  read(CUBLASLT_ALGO_CONFIG_STAGES_ID, all.stages);
  read(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, all.cluster);
  read(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, all.split_k);
  read(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, all.reduction);
  read(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, all.swizzle);
  read(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, all.custom);
  read(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, all.inner);
  all.workspace_bytes = result.workspaceSize;
  return to_string(all);
}

void CublasLtPlan::gemm(int algorithm, const Operands& operands, cudaStream_t stream) const {
  const float alpha = operands.alpha;
  const float beta = adds_c_ ? operands.beta : 0.0f;
  if (adds_bias_) {
    set_attribute(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  }
  if (stores_aux_) {
    set_attribute(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.aux);
  }
  if (rest_.scaling != Scaling::kNone) {
    set_attribute(operation_, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.scale_b);
    set_attribute(operation_, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.scale_a);
  }
  if (stores_8_bits_) {
    set_attribute(operation_, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, operands.scale_d);
  }
  // Nothing is read of a C that is multiplied by 0. A D of 8 bits has another type than a C.
  const void* const c = adds_c_ ? operands.c : stores_8_bits_ ? nullptr : operands.d;
  check_blas(
      cublasLtMatmul(handle_, operation_, &alpha, operands.b, b_, operands.a, a_, &beta, c, c_,
                     operands.d, d_, &results_.at(static_cast<std::size_t>(algorithm)).algo,
                     workspace_.data(), workspace_.bytes(), stream),
      "cublasLtMatmul");
}

}  // namespace hgemm
