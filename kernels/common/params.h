// The kernel's parameters, with the same layout on host and device.
#pragma once

#include "common/types.h"

namespace hgemm {

/// A CUtensorMap, opaque here so that device code needs no CUDA headers (NVRTC cannot read cuda.h).
struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

/// A map of matrices at any address (GemmKind::by_pointers) begins at address 0. Its third
/// dimension counts units of 16 bytes, and its fourth runs of so many units: coordinates are signed
/// 32-bit numbers. So it reaches addresses of 52 bits. (cuda.h makes strides multiples of one
/// another, but the driver takes any multiple of 16 bytes, and the address 0: 580.159.04.)
inline constexpr unsigned long long kUnitsBelow = 1ull << 31;
inline constexpr unsigned long long kRunsOfUnits = 1ull << 17;

/// Passed by value as a __grid_constant__. D[m x n] = A[m x k] * B[n x k]^T, D row-major, A and B
/// as their GemmKind says. The boxes of the maps are those of the config: for a K-major A or B
/// box_cols() x box_rows() of a slice, for an MN-major one kChunkMn x its slice of bk. With a gate,
/// B's boxes have box_cols() x half of their rows x 2, gates and ups.
struct KernelParams {
  TensorMap a;
  TensorMap b;
  TensorMap d;       ///< for stores by the copy engine: whole boxes, 128-byte swizzle
  TensorMap d_tail;  ///< the narrower last box of a row of boxes, without swizzle
  /// For kernels without maps. By pointers (GemmKind::by_pointers): arrays of addresses.
  const void* a_pointer;
  const void* b_pointer;
  void* d_pointer;  ///< for store paths of threads; by pointers an array of addresses
  float* partials;  ///< if K is cut: partial_bytes(config) for each slot and CTA of a cluster
  /// One for each warp of these: zero before and after each launch. TileScheduler::kDynamic: the
  /// number of requested tiles, zero likewise.
  unsigned* flags;
  int m, n, k;        ///< read them through the functions below
  int lda, ldb, ldd;  ///< leading dimensions; the same holds for them
};

/// Most clusters of a launch that are numbered by their GPC.
inline constexpr int kMostNumbered = 256;
/// The parameters of a kernel whose clusters are numbered by their GPC.
///
/// The SMs of a GPC share a port to L2, and reads of the same line that are under way there become
/// one (analysis/kernel-notes.md, "When L2 reads of several SMs become one"). The hardware deals
/// clusters out to the GPCs in turn, always alike if the GPU is idle, but neighbours in the order
/// of tiles should read through the same port. Any permutation is right: where another kernel still
/// runs, it is only no use.
struct NumberedParams : KernelParams {
  unsigned char numbers[kMostNumbered];  ///< by the number that the hardware gives
};

/// The parameters of a kernel with an epilogue (GemmKind::epilogue).
struct EpilogueParams : NumberedParams {
  /// For kernels that copy C and the bias (tiled/addends.cuh): boxes of C as those of a K-major A,
  /// and kBiasBoxElements of a bias.
  TensorMap c_map, bias_map;
  /// As D in memory, and may be D: an element is read before the sums that it is added to are given
  /// to the CTA that writes it.
  const void* c;
  const void* bias;   ///< elements without gaps
  float alpha, beta;  ///< of the sums and of C, if the epilogue is scaled
};

/// The parameters of a kernel with a second output (Epilogue::aux): for it what KernelParams has
/// for D.
struct AuxParams : EpilogueParams {
  TensorMap aux, aux_tail;
  void* aux_pointer;
};

/// The parameters of a kernel for many products (GemmKind::batched). Its maps of A, B and D have
/// the products as third dimension; an operand that all products share has one. By pointers they
/// are of matrices at any address, and of these parameters only `products` counts.
struct BatchedParams : AuxParams {
  int products;
  int a_step, b_step;  ///< 0: all products have the same A (B), 1: each has its own
  long long d_stride;  ///< elements from one product's D to the next
};

/// The parameters of a kernel for products by pointers. A load of a box that lies completely
/// outside of its matrix, which is zeros, reads at the address where the map begins, and nothing is
/// mapped at 0: an illegal address (measured: analysis/kernel-notes.md). These maps have the same
/// extents and begin at a mapped address. Only such boxes are loaded through them.
struct PointersParams : BatchedParams {
  TensorMap a_outside, b_outside;
};

/// The parameters of a kernel with scales (GemmKind::scaling, or a D of 8 bits). The kernel before
/// may write them: they are read after the wait of a programmatic dependent launch.
struct ScaledParams : PointersParams {
  /// kTensor: one number each, which all products of a batch share. kRows: m numbers and n.
  const float *scale_a, *scale_b;
  const float* scale_d;  ///< one number, if D has 8 bits and its scale is given
  float* scales_d;       ///< where the scales of D go, if the kernel finds them
};
/// With a scale for each block of K (is_of_blocks()), which are copied into the stages with their
/// block: boxes of a row of A's numbers for the rows of a tile, and of B likewise, or of
/// kScaleBoxBlocks blocks of K by the blocks of rows that a tile may have a part of.
struct BlockScaledParams : ScaledParams {
  TensorMap scale_a_map, scale_b_map;
};

// ---- Parameters of the packing launch before, if A or B is packed (pack.cuh) ----

/// One matrix of 2-byte elements. If `rows` is 0, there is nothing to pack.
struct PackedMatrix {
  const void* source;  ///< a multiple of 2 bytes
  void* target;        ///< a multiple of 16 bytes; rows of ceil(cols / 8) units
  long long source_leading;
  int rows, cols;
};
/// Passed by value: A and B, packed in one launch of any number of CTAs of kPackThreads threads.
struct PackParams {
  PackedMatrix matrices[2];
};

inline constexpr int kPackThreads = 256;

// ---- How a kernel reads its parameters ----

/// The problem's extents: constants in a kernel that is made for one problem.
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
/// Its leading dimensions, for kernels without maps, which read rows along K. A kernel made for one
/// problem has rows without padding, but packed operands have some.
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
  if (!kKernel.fixed) return params.ldd;
  return is_gated(kKernel.gemm) ? kKernel.gemm.n / 2 : kKernel.gemm.n;
}
/// An output and the parameters through which it is stored.
enum class Output : unsigned char { kD, kAux };
template <Output kOutput>
HGEMM_HOST_DEVICE const TensorMap& map_of(const KernelParams& params) {
  if constexpr (kOutput == Output::kAux) return static_cast<const AuxParams&>(params).aux;
  return params.d;
}
template <Output kOutput>
HGEMM_HOST_DEVICE const TensorMap& tail_map_of(const KernelParams& params) {
  if constexpr (kOutput == Output::kAux) return static_cast<const AuxParams&>(params).aux_tail;
  return params.d_tail;
}
template <Output kOutput>
HGEMM_HOST_DEVICE void* pointer_of(const KernelParams& params) {
  if constexpr (kOutput == Output::kAux) return static_cast<const AuxParams&>(params).aux_pointer;
  return params.d_pointer;
}

/// Columns of D, which are half the rows of B with a gate.
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int columns_of_d(const KernelParams& params) {
  return is_gated(kKernel.gemm) ? extent_n<kKernel>(params) / 2 : extent_n<kKernel>(params);
}

}  // namespace hgemm
