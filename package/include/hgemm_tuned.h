/* GEMMs on Hopper GPUs (sm_90) with the kernels that hgemm-tune measured as the fastest.
 *
 * D[m x n] = activation(alpha A[m x k] * B[n x k]^T + beta C + bias), all row-major: a linear layer
 * with input A and weight B, with any of C (a residual), bias and activation, or none. alpha and
 * beta are 1 unless the problem is `scaled`. With a gate D[m x n / 2] = activation(gates) * ups
 * (SwiGLU, GeGLU): hgemm_tuned_gate. (A, and B, may also be contiguous in their other extent:
 * hgemm_tuned_layout.) bf16 or fp16 in, the same or fp32 out, sums in fp32; or 8-bit A and B
 * (e4m3 or e5m2, with scales: hgemm_tuned_scaling), and bf16, fp16, fp32 or 8 bits out. One call
 * may compute many such products, with no epilogue but alpha: `batch`, and `by_pointers` wherever
 * they lie.
 *
 * A call only enqueues kernels. It allocates nothing, waits for nothing, and keeps no state except
 * facts about each CUDA context. It may be captured into a CUDA graph. It may be called from
 * several threads and on several streams at once, if launches that may overlap have separate
 * workspaces. Waits inside kernels have no bound, and no kernel traps: if something delays the GPU
 * (a debugger, time slicing, a collective on another rank), a launch ends with the right result or
 * keeps waiting. hgemm_tuned_prepare() loads the kernels of a device; CUDA would otherwise load
 * each one at its first call. README.md has an example, the shapes, and the fallbacks.
 */
#ifndef HGEMM_TUNED_H_
#define HGEMM_TUNED_H_

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#include "hgemm_tuned_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The meaning of a status, in English; never null, for any number. */
const char* hgemm_tuned_status_string(int status);

/* CUDA's code for the last call in this thread that returned HGEMM_TUNED_CUDA_ERROR. */
cudaError_t hgemm_tuned_last_cuda_error(void);

/* The kernel that gemm() would run for a problem with operands at multiples of 16 bytes. Needs no
 * GPU. */
hgemm_tuned_selection hgemm_tuned_select(const hgemm_tuned_problem* problem);

/* The rows of the table: shapes that were tuned. `index` from 0 to count - 1. */
int hgemm_tuned_shape_count(void);
hgemm_tuned_problem hgemm_tuned_shape(int index);

/* Loads all kernels for the current device, and makes cuBLASLt's plans if it has any. Finds on
 * which GPC the clusters of a launch run, by some short launches, if a kernel uses that (gpc in its
 * label); without prepare() such a kernel is some percent slower. Waits for its own launches. Call
 * it before the first capture or timed call, while the GPU does nothing else. */
hgemm_tuned_status hgemm_tuned_prepare(void);

/* Bytes of workspace that gemm() needs for the problem on the current device; often 0. Only
 * the alignment of operands matters; null counts as aligned, for one of them or for all. */
hgemm_tuned_status hgemm_tuned_workspace_bytes(const hgemm_tuned_problem* problem,
                                               const hgemm_tuned_operands* operands, size_t* bytes);

/* Makes `bytes` of memory a workspace, with one memset on the stream. MUST be called once for each
 * allocation, before its first use, and again for every allocation after a reset of the device.
 * Each gemm leaves the workspace ready for the next one, of any problem. An aborted launch may
 * leave flags raised, and the next launch would then add sums that do not exist. CUDA ends the
 * context in that case, and in the next context gemm() refuses a workspace until this function was
 * called. */
hgemm_tuned_status hgemm_tuned_init_workspace(cudaStream_t stream, void* workspace, size_t bytes);

/* Enqueues the GEMM on a stream of the current device. `workspace` may be null if the problem needs
 * none. No other launch that can overlap this one may use it.
 *
 * `cublas`: a cublasHandle_t, or null. If the package was built with HGEMM_TUNED_WITH_CUBLAS,
 * cuBLAS computes the problems with selection.uses_cublas. The handle must have `stream` set, and
 * its pointer mode on the host; its workspace and math mode are up to the caller. Without a handle,
 * or without cuBLAS, the kernel runs if there is one. cuBLAS computes no problem with an epilogue
 * other than alpha, and none with 8-bit A and B, which cublasGemmEx lacks. A batch is
 * cublasGemmStridedBatchedEx, and by pointers cublasGemmBatchedEx.
 *
 * Problems with selection.uses_cublaslt need no handle, and operands at multiples of 256 bytes; at
 * other addresses they run like the other problems. (None is by pointers.) With a handle,
 * cublasGemmEx runs those where it was the fastest. */
hgemm_tuned_status hgemm_tuned_gemm(cudaStream_t stream, const hgemm_tuned_problem* problem,
                                    const hgemm_tuned_operands* operands, void* workspace,
                                    size_t workspace_bytes, void* cublas);

#ifdef __cplusplus
} /* extern "C" */

namespace hgemm_tuned {

using Status = hgemm_tuned_status;
using Selection = hgemm_tuned_selection;
enum class Dtype {
  kBf16 = HGEMM_TUNED_BF16,
  kFp16 = HGEMM_TUNED_FP16,
  kE4m3 = HGEMM_TUNED_E4M3,
  kE5m2 = HGEMM_TUNED_E5M2
};
enum class Output {
  kSame = HGEMM_TUNED_OUTPUT_SAME,
  kFp32 = HGEMM_TUNED_OUTPUT_FP32,
  kBf16 = HGEMM_TUNED_OUTPUT_BF16,
  kFp16 = HGEMM_TUNED_OUTPUT_FP16,
  kE4m3 = HGEMM_TUNED_OUTPUT_E4M3,
  kE5m2 = HGEMM_TUNED_OUTPUT_E5M2
};
enum class Scaling {
  kNone = HGEMM_TUNED_NO_SCALING,
  kTensor = HGEMM_TUNED_SCALING_TENSOR,
  kRows = HGEMM_TUNED_SCALING_ROWS,
  kBlocks = HGEMM_TUNED_SCALING_BLOCKS,
  kRowBlocks = HGEMM_TUNED_SCALING_ROW_BLOCKS,
  kPackedBlocks = HGEMM_TUNED_SCALING_PACKED_BLOCKS
};
enum class OutputScaling {
  kGiven = HGEMM_TUNED_OUTPUT_SCALE_GIVEN,
  kBlocks = HGEMM_TUNED_OUTPUT_SCALES_BLOCKS
};
enum class Layout {
  kTN = HGEMM_TUNED_TN,
  kNN = HGEMM_TUNED_NN,
  kNT = HGEMM_TUNED_NT,
  kTT = HGEMM_TUNED_TT
};
enum class Bias {
  kNone = HGEMM_TUNED_NO_BIAS,
  kAlongN = HGEMM_TUNED_BIAS_ALONG_N,
  kAlongM = HGEMM_TUNED_BIAS_ALONG_M
};
enum class Activation {
  kNone = HGEMM_TUNED_NO_ACTIVATION,
  kRelu = HGEMM_TUNED_RELU,
  kGelu = HGEMM_TUNED_GELU,
  kGeluErf = HGEMM_TUNED_GELU_ERF,
  kSilu = HGEMM_TUNED_SILU
};
enum class Gate {
  kNone = HGEMM_TUNED_NO_GATE,
  kHalves = HGEMM_TUNED_GATE_HALVES,
  kInterleaved = HGEMM_TUNED_GATE_INTERLEAVED
};
constexpr int64_t kShared = HGEMM_TUNED_SHARED; /* a stride of A or B */

struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* c = nullptr;
  const void* bias = nullptr;
  float alpha = 1, beta = 1; /* of a problem that is scaled */
  void* aux = nullptr;
  const float* scale_a = nullptr;
  const float* scale_b = nullptr;
  const float* scale_d = nullptr;
  float* scales_d = nullptr;

  operator hgemm_tuned_operands() const {
    return {a, b, d, c, bias, alpha, beta, aux, scale_a, scale_b, scale_d, scales_d};
  }
};

struct Problem {
  int64_t m = 0, n = 0, k = 0;
  Dtype dtype = Dtype::kBf16;
  int64_t lda = 0, ldb = 0, ldd = 0;
  Output output = Output::kSame;
  Layout layout = Layout::kTN;
  Bias bias = Bias::kNone;
  Activation activation = Activation::kNone;
  bool adds_c = false;
  Gate gate = Gate::kNone;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_d = 0;
  bool scaled = false;
  bool aux = false;
  bool by_pointers = false;
  bool b_is_other = false;
  bool fast_sums = false;
  Scaling scaling = Scaling::kNone;
  OutputScaling output_scaling = OutputScaling::kGiven;

  operator hgemm_tuned_problem() const {
    return {m,
            n,
            k,
            static_cast<int32_t>(dtype),
            lda,
            ldb,
            ldd,
            static_cast<int32_t>(output),
            static_cast<int32_t>(layout),
            static_cast<int32_t>(bias),
            static_cast<int32_t>(activation),
            adds_c ? 1 : 0,
            static_cast<int32_t>(gate),
            batch,
            stride_a,
            stride_b,
            stride_d,
            scaled ? 1 : 0,
            aux ? 1 : 0,
            by_pointers ? 1 : 0,
            b_is_other ? 1 : 0,
            fast_sums ? 1 : 0,
            static_cast<int32_t>(scaling),
            static_cast<int32_t>(output_scaling)};
  }
};

inline const char* to_string(Status status) { return hgemm_tuned_status_string(status); }

inline Selection select(const Problem& problem) {
  const hgemm_tuned_problem c = problem;
  return hgemm_tuned_select(&c);
}
inline Selection select(int64_t m, int64_t n, int64_t k, Dtype dtype = Dtype::kBf16) {
  return select(Problem{m, n, k, dtype});
}

inline Status prepare() { return hgemm_tuned_prepare(); }

inline Status workspace_bytes(const Problem& problem, size_t* bytes) {
  const hgemm_tuned_problem c = problem;
  return hgemm_tuned_workspace_bytes(&c, nullptr, bytes);
}
inline Status init_workspace(cudaStream_t stream, void* workspace, size_t bytes) {
  return hgemm_tuned_init_workspace(stream, workspace, bytes);
}

inline Status gemm(cudaStream_t stream, const Problem& problem, const Operands& operands,
                   void* workspace = nullptr, size_t workspace_bytes = 0, void* cublas = nullptr) {
  const hgemm_tuned_problem c = problem;
  const hgemm_tuned_operands addresses = operands;
  return hgemm_tuned_gemm(stream, &c, &addresses, workspace, workspace_bytes, cublas);
}

}  // namespace hgemm_tuned
#endif /* __cplusplus */
#endif /* HGEMM_TUNED_H_ */
