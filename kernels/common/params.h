// The kernel's parameters, laid out alike for host and device.
#pragma once

#include "common/types.h"

namespace hgemm {

/// A CUtensorMap, opaque here so that device code needs no CUDA headers (NVRTC cannot read cuda.h).
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

/// Passed by value as a __grid_constant__. D[m x n] = A[m x k] * B[n x k]^T, all row-major. The
/// boxes of the maps are those of the config: box_cols() x box_rows() of a slice for A and B.
struct KernelParams {
  TensorMap a;
  TensorMap b;
  TensorMap d;            ///< where the copy engine stores: whole boxes, 128-byte swizzle
  TensorMap d_tail;       ///< the narrower last box of a row of boxes, no swizzle
  const void* a_pointer;  ///< for kernels, or first copies, without maps
  const void* b_pointer;
  void* d_pointer;    ///< for the store paths of threads
  float* partials;    ///< where K is cut: partial_bytes(config) for each slot and CTA of a cluster
  unsigned* flags;    ///< for each of their warps: zero, and left so. TileScheduler::kDynamic: how
                      ///< many tiles were asked for, likewise
  int m, n, k;        ///< read by the functions below, as are these
  int lda, ldb, ldd;  ///< leading dimensions
};

// ---- Of the launch before, where A or B is packed (pack.cuh) ----

/// One matrix of 2-byte elements. Nothing to be done if `rows` is 0.
struct PackedMatrix {
  const void* source;  ///< a multiple of 2 bytes
  void* target;        ///< a multiple of 16 bytes; rows of ceil(cols / 8) units
  long long source_leading;
  int rows, cols;
};
/// Passed by value: A and B, in one launch of any number of CTAs of kPackThreads.
struct PackParams {
  PackedMatrix matrices[2];
};

inline constexpr int kPackThreads = 256;

// ---- What a kernel reads of its parameters ----

/// The problem's extents: constants in a kernel that is made for it.
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int extent_m(const KernelParams& params) {
  return kKernel.fixed ? kKernel.gemm.m : params.m;
}
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int extent_n(const KernelParams& params) {
  return kKernel.fixed ? kKernel.gemm.n : params.n;
}
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int extent_k(const KernelParams& params) {
  return kKernel.fixed ? kKernel.gemm.k : params.k;
}
/// Its leading dimensions. A kernel that is made for one problem is made for rows without padding,
/// but what it packs has some.
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int leading_a(const KernelParams& params) {
  return kKernel.fixed && !packs(kKernel) ? kKernel.gemm.k : params.lda;
}
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int leading_b(const KernelParams& params) {
  return kKernel.fixed && !packs(kKernel) ? kKernel.gemm.k : params.ldb;
}
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int leading_d(const KernelParams& params) {
  return kKernel.fixed ? kKernel.gemm.n : params.ldd;
}

}  // namespace hgemm
