// Shared by both parts of the example: operands on the GPU, a simple reference, errors.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <hgemm_tuned.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline void require(bool ok, const char* what, const char* why) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}
inline void check(cudaError_t code, const char* what) {
  require(code == cudaSuccess, what, cudaGetErrorString(code));
}
inline void check(cublasStatus_t code, const char* what) {
  require(code == CUBLAS_STATUS_SUCCESS, what, cublasGetStatusString(code));
}
inline void check(hgemm_tuned::Status status, const char* what) {
  require(status == HGEMM_TUNED_OK, what, hgemm_tuned::to_string(status));
}

/// The text of a problem without padding, as in hgemm-tune: "64x4096x4096",
/// "64x4096x4096.fp16.dfp32".
inline std::string text_of(const hgemm_tuned::Problem& p) {
  return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) +
         (p.dtype == hgemm_tuned::Dtype::kFp16 ? ".fp16" : "") +
         (p.output == hgemm_tuned::Output::kFp32 ? ".dfp32" : "");
}
inline hgemm_tuned::Problem tuned_problem(int index) {
  const hgemm_tuned_problem p = hgemm_tuned_shape(index);
  return {p.m,
          p.n,
          p.k,
          static_cast<hgemm_tuned::Dtype>(p.dtype),
          p.lda,
          p.ldb,
          p.ldd,
          static_cast<hgemm_tuned::Output>(p.output),
          static_cast<hgemm_tuned::Layout>(p.layout),
          static_cast<hgemm_tuned::Bias>(p.bias),
          static_cast<hgemm_tuned::Activation>(p.activation),
          p.adds_c != 0,
          static_cast<hgemm_tuned::Gate>(p.gate),
          p.batch,
          p.stride_a,
          p.stride_b,
          p.stride_d,
          p.scaled != 0,
          p.aux != 0,
          p.by_pointers != 0};
}
/// Whether it is one plain product of matrices that lie as the example's: layout TN, without
/// padding.
inline bool is_plain(const hgemm_tuned::Problem& p) {
  return p.batch <= 1 && p.layout == hgemm_tuned::Layout::kTN && p.lda == p.k && p.ldb == p.k &&
         p.ldd == p.n && p.bias == hgemm_tuned::Bias::kNone && !p.adds_c &&
         p.activation == hgemm_tuned::Activation::kNone && p.gate == hgemm_tuned::Gate::kNone &&
         !p.scaled;
}
inline std::size_t output_bytes(const hgemm_tuned::Problem& p) {
  return static_cast<std::size_t>(p.m * p.n) * (p.output == hgemm_tuned::Output::kFp32 ? 4 : 2);
}

/// Device memory.
class Memory {
 public:
  explicit Memory(std::size_t bytes) { check(cudaMalloc(&data_, bytes), "allocating"); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept : data_(other.data_) { other.data_ = nullptr; }
  ~Memory() { cudaFree(data_); }
  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// A ~ N(0, 1), B ~ N(0, 1 / K), so that D ~ N(0, 1). Rows without padding.
struct Operands {
  Memory a, b, d;
  Operands(const hgemm_tuned::Problem& problem, unsigned seed, cudaStream_t stream);
};

/// Fills D with NaN.
void poison(const Operands& operands, const hgemm_tuned::Problem& problem, cudaStream_t stream);

/// The largest |d - reference| / (|reference| + 1), with a reference of fp32 sums on CUDA cores;
/// NaN if any d is NaN. And its tolerance: one rounding to D's type, and fp32 sums in another
/// order.
double error_of(const Operands& operands, const void* d, const hgemm_tuned::Problem& problem,
                cudaStream_t stream);
double tolerance_of(const hgemm_tuned::Problem& problem);

/// Checks statuses, fallbacks, unaligned pointers, graphs and two streams at once. Returns the
/// number of failures; each has a line on stdout.
int check_package(cudaStream_t stream);
