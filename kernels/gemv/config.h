// The GEMV family's config: kernels for a few rows of A, or of B, by CUDA cores. rules.h says which
// configs are valid.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/tiles.h"
#include "common/types.h"

namespace hgemm {

/// One point of the GEMV space. The small operand's rows are the vectors; the rows of the other one
/// are multiplied by all of them.
struct GemvConfig {
  int vectors = 1;      ///< rows of the small operand, at most
  int rows = 16;        ///< rows of the large operand for each CTA
  int step = 1024;      ///< elements that a warp takes of a row at a time
  int depth = 2;        ///< steps that a warp has on their way: 1 or 2
  int warps = 8;        ///< of a CTA: 4, 8 or 12
  int splits = 1;       ///< parts of K of a block of rows, each a CTA of the block's cluster
  int ctas_per_sm = 1;  ///< 1 or 2, which limits the registers of a thread
  /// Programmatic dependent launch: as in TiledConfig, it reads no operand until the kernel before
  /// it in the stream is done, but asks L2 for them.
  bool pdl = false;
  bool fixed = false;  ///< the problem's extents are constants in the kernel

  constexpr bool operator==(const GemvConfig&) const = default;
};

/// A config made for a kind of problem: what is compiled.
struct GemvKernel : GemvConfig {
  using Config = GemvConfig;
  GemmKind gemm;

  constexpr bool operator==(const GemvKernel&) const = default;
};

inline constexpr int kMaxVectors = 16;
/// Elements of a unit of 16 bytes, and those that a warp loads of a row at once: a unit a lane.
inline constexpr int kVectorUnit = 8;
inline constexpr int kVectorStep = 32 * kVectorUnit;

/// Nothing here needs alignment.
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
/// Sums of a warp: one for each lane in the end, at most.
HGEMM_HOST_DEVICE constexpr int warp_sums(const GemvConfig& c) { return warp_rows(c) * c.vectors; }
/// Registers of a thread: what is on its way, sums, the elements of a unit as fp32, and the rest
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

/// How a launch goes through the rows of the large operand: those of one class, which lie whole
/// units of 16 bytes apart and so are shifted alike against them, in blocks of `rows`.
struct GemvGrid {
  bool flipped;  ///< A is the large operand
  int rows;      ///< of the large operand
  int classes;   ///< row r is of class r % classes
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
