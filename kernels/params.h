// The kernel's parameters, laid out alike for host and device.
#pragma once

#include "config.h"

namespace hgemm {

/// A CUtensorMap, opaque here so that device code needs no CUDA headers (NVRTC cannot read cuda.h).
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

/// Passed by value as a __grid_constant__. D[m x n] = A[m x k] * B[n x k]^T, all row-major.
struct KernelParams {
  TensorMap a;            ///< box: box_cols(config) x box_rows(a_slice_rows(config))
  TensorMap b;            ///< box: box_cols(config) x box_rows(b_slice_rows(config))
  TensorMap d;            ///< this and d_tail: where the copy engine stores. box: kStoreCols x
                          ///< store_rows(config), 128-byte swizzle
  TensorMap d_tail;       ///< box: the consumer_cols(config) % kStoreCols columns left over x
                          ///< kStoreRows, no swizzle
  const void* a_pointer;  ///< for vector.cuh, which knows no maps
  const void* b_pointer;  ///< likewise, and for the first copies of the swapped kernel
  void* d_pointer;        ///< for the epilogues that store themselves
  float* partials;  ///< where K is cut: partial_bytes(config) for each slot and CTA of a cluster
  unsigned* flags;  ///< for each of their warps: zero, and left so. Walk::kDynamic: how many tiles
                    ///< were asked for, likewise
  int m, n, k;      ///< read by the functions below, as are these
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

// ---- What the kernel reads of its parameters ----

/// The problem's extents: constants in a kernel that is made for it.
template <KernelConfig kConfig>
HGEMM_HOST_DEVICE constexpr int extent_m(const KernelParams& params) {
  return is_fixed(kConfig) ? kConfig.m : params.m;
}
template <KernelConfig kConfig>
HGEMM_HOST_DEVICE constexpr int extent_n(const KernelParams& params) {
  return is_fixed(kConfig) ? kConfig.n : params.n;
}
template <KernelConfig kConfig>
HGEMM_HOST_DEVICE constexpr int extent_k(const KernelParams& params) {
  return is_fixed(kConfig) ? kConfig.k : params.k;
}
/// Its leading dimensions. A kernel that is made for one problem is made for rows without padding,
/// but what it packs has some.
template <KernelConfig kConfig>
HGEMM_HOST_DEVICE constexpr int leading_a(const KernelParams& params) {
  return is_fixed(kConfig) && !kConfig.pack ? kConfig.k : params.lda;
}
template <KernelConfig kConfig>
HGEMM_HOST_DEVICE constexpr int leading_b(const KernelParams& params) {
  return is_fixed(kConfig) && !kConfig.pack ? kConfig.k : params.ldb;
}
template <KernelConfig kConfig>
HGEMM_HOST_DEVICE constexpr int leading_d(const KernelParams& params) {
  return is_fixed(kConfig) ? kConfig.n : params.ldd;
}

}  // namespace hgemm
