// The kernel's parameters, laid out alike for host and device.
#pragma once

#include "config.h"

namespace hgemm {

/// A CUtensorMap, opaque here so that device code needs no CUDA headers (NVRTC cannot read cuda.h).
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

/// Passed by value as a __grid_constant__. D[m x n] = A[m x k] * B[n x k]^T, all row-major without
/// padding.
struct KernelParams {
  TensorMap a;            ///< box: box_cols(config) x box_rows(a_slice_rows(config))
  TensorMap b;            ///< box: box_cols(config) x box_rows(b_slice_rows(config))
  TensorMap d;            ///< box: kStoreCols x store_rows(config), 128-byte swizzle
  TensorMap d_tail;       ///< box: the consumer_cols(config) % kStoreCols columns left over x
                          ///< kStoreRows, no swizzle
  const void* b_pointer;  ///< for the first copies of the swapped kernel
  void* d_pointer;        ///< for the direct epilogue
  float* partials;  ///< where K is cut: partial_bytes(config) for each slot and CTA of a cluster
  unsigned* flags;  ///< for each of their warps: zero, and left so. Walk::kDynamic: how many tiles
                    ///< were asked for, likewise
  int m, n, k;      ///< read by the functions below
};

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

}  // namespace hgemm
