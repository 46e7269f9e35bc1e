// The GEMV family's config: kernels for a few rows of A, or of B, computed by CUDA cores. rules.h
// says which configs are valid.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/tiles.h"
#include "common/types.h"

namespace hgemm {

/// One point of the GEMV space. The rows of the small operand are the vectors; each row of the
/// large operand is multiplied by all of them.
struct GemvConfig {
  int vectors = 1;      ///< most rows of the small operand
  int rows = 16;        ///< rows of the large operand per CTA
  int step = 1024;      ///< elements of a row that a warp takes at a time
  int depth = 2;        ///< steps that a warp has in flight: 1 or 2
  int warps = 8;        ///< warps of a CTA: 4, 8 or 12
  int splits = 1;       ///< parts of K of a block of rows; each is a CTA of the block's cluster
  int ctas_per_sm = 1;  ///< 1 or 2; it limits the registers of a thread
  /// Programmatic dependent launch, with the contract of TiledConfig::pdl: before the earlier
  /// kernels have completed, the kernel MUST NOT read an operand; it only prefetches them into L2.
  bool pdl = false;
  bool fixed = false;  ///< the problem's extents are constants in the kernel

  constexpr bool operator==(const GemvConfig&) const = default;
};

/// A config made for a kind of problem: the kernel that is compiled.
struct GemvKernel : GemvConfig {
  using Config = GemvConfig;
  GemmKind gemm;

  constexpr bool operator==(const GemvKernel&) const = default;
};

inline constexpr int kMaxVectors = 16;
/// Elements of a 16-byte unit, and elements of a row that a warp loads at once (a unit per lane).
inline constexpr int kVectorUnit = 8;
inline constexpr int kVectorStep = 32 * kVectorUnit;

/// GEMV kernels need no alignment.
HGEMM_HOST_DEVICE constexpr bool packs(const GemvConfig&) { return false; }
HGEMM_HOST_DEVICE constexpr int cluster_size(const GemvConfig& c) { return c.splits; }
HGEMM_HOST_DEVICE constexpr int threads_per_cta(const GemvConfig& c) { return 32 * c.warps; }
HGEMM_HOST_DEVICE constexpr int entry_registers(const GemvConfig& c,
                                                const DeviceLimits& limits = {}) {
  return entry_registers(threads_per_cta(c), c.ctas_per_sm, limits);
}
/// Rows of the large operand that a warp multiplies at the same time, and warps that share a row.
HGEMM_HOST_DEVICE constexpr int warp_rows(const GemvConfig& c) {
  return c.rows < c.warps ? 1 : c.rows / c.warps;
}
HGEMM_HOST_DEVICE constexpr int row_sharers(const GemvConfig& c) {
  return c.rows < c.warps ? c.warps / c.rows : 1;
}
/// Sums of a warp; at most one for each lane in the end.
HGEMM_HOST_DEVICE constexpr int warp_sums(const GemvConfig& c) { return warp_rows(c) * c.vectors; }
/// Registers of a thread: loads in flight, sums, the elements of a unit as fp32, and the rest
/// (measured with ptxas 13.0).
HGEMM_HOST_DEVICE constexpr int registers_needed(const GemvConfig& c) {
  const int rows = warp_rows(c);
  const int units = rows * (c.step / kVectorStep);
  return units * 4 * c.depth + rows * c.vectors + (rows + 1) * kVectorUnit + 29 + c.vectors * 3 / 2;
}
/// Elements of each vector that shared memory holds at a time.
HGEMM_HOST_DEVICE constexpr int vector_chunk(const GemvConfig& c) { return 16384 / c.vectors; }

/// Byte offsets in dynamic shared memory: the vectors (at 0), then the sums of all warps and CTAs
/// that share rows.
struct GemvSmem {
  int sums, total_bytes;
};
HGEMM_HOST_DEVICE constexpr GemvSmem smem_layout(const GemvKernel& k) {
  GemvSmem layout{};
  layout.sums = k.vectors * vector_chunk(k) * element_bytes(k.gemm.input);
  const bool in_parts = row_sharers(k) * k.splits > 1;
  layout.total_bytes = layout.sums + (in_parts ? k.splits * k.warps * warp_sums(k) * 4 : 0);
  return layout;
}

/// How a launch goes through the rows of the large operand. The rows of a block of `rows` belong to
/// one class: they lie whole 16-byte units apart, so their offset to the units is the same.
struct GemvGrid {
  bool flipped;  ///< A is the large operand
  int rows;      ///< rows of the large operand
  int classes;   ///< row r belongs to class r % classes
  int used;      ///< classes that have rows
  int class_blocks;
  HGEMM_HOST_DEVICE constexpr int blocks() const { return used * class_blocks; }
};
HGEMM_HOST_DEVICE constexpr GemvGrid gemv_grid(const GemvConfig& c, int m, int n, int lda,
                                               int ldb) {
  const bool flipped = m > c.vectors;
  const int leading = flipped ? lda : ldb;
  const int rows = flipped ? m : n;
  const int classes = leading % 2 != 0 ? 8 : leading % 4 != 0 ? 4 : leading % 8 != 0 ? 2 : 1;
  return {flipped, rows, classes, rows < classes ? rows : classes,
          ceil_div(ceil_div(rows, classes), c.rows)};
}

}  // namespace hgemm
