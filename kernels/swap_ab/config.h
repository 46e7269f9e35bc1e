// The swap-AB family's config: kernels for few rows of A, in which B is wgmma's 64-row operand.
// rules.h says which configs are valid.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/cluster_split.h"
#include "common/scales.h"
#include "common/tiles.h"
#include "common/types.h"

namespace hgemm {

/// One point of the swap-AB space. All extents are per CTA, in elements.
struct SwapAbConfig {
  int bm = 16;        ///< rows of A in the tile: wgmma's N
  int bn = 64;        ///< rows of B in the tile, 64 for each consumer warpgroup
  int bk = 64;        ///< depth of one pipeline stage
  int stages = 4;     ///< QSIZE: pipeline stages in shared memory
  int mma_depth = 1;  ///< wgmma groups left in flight while the next stage is issued: 0 or 1
  int promote = 0;    ///< elements of K after which sums are promoted, as in TiledConfig
  StorePath store = StorePath::kTma;  ///< kTma or kStaged
  int splits = 1;                     ///< parts of K of a tile, each a CTA of the tile's cluster
  CacheHint a_hint = CacheHint::kNone;
  CacheHint b_hint = CacheHint::kNone;
  CacheHint d_hint = CacheHint::kNone;  ///< for stores by the copy engine
  int promotion = 256;  ///< bytes that L2 fetches at least on a miss of a copy: 64, 128 or 256
  int ctas_per_sm = 1;  ///< 1 or 2
  /// Programmatic dependent launch. Before all earlier kernels have completed
  /// (griddepcontrol.wait), this kernel MUST NOT read A, and it reads B. Therefore B MUST NOT be
  /// written by any kernel that may still run: by the kernel before it, or by an earlier one, back
  /// to and including the last kernel launched without PDL. The kernel before it is not enough,
  /// because it lets this one start before its own wait is over:
  ///
  ///   P, without PDL  |==============|               MUST NOT write B
  ///   Q, with PDL         |...wait...|======|        MUST NOT write B; may write A
  ///   R, this kernel          |B.....wait...|=====|  reads B from its start, A after its wait
  ///
  /// Kernels before P have completed when P starts, and may write B.
  bool pdl = false;
  /// With `pdl`: this kernel reads B after its wait, too; before, it only prefetches B into L2, as
  /// in TiledConfig. Then any kernel before it may write B.
  bool late = false;
  bool hold = false;   ///< with `pdl`: holds the next kernel back, as in TiledConfig
  bool pack = false;   ///< A and B with unaligned rows are copied first, as in TiledConfig
  bool fixed = false;  ///< the problem's extents are constants in the kernel

  constexpr bool operator==(const SwapAbConfig&) const = default;
};

/// A config made for a kind of problem: the kernel that is compiled.
struct SwapAbKernel : SwapAbConfig {
  using Config = SwapAbConfig;
  GemmKind gemm;

  constexpr bool operator==(const SwapAbKernel&) const = default;
};

/// Rows of one box of D; each is a row of A.
inline constexpr int kGroupRows = 8;

HGEMM_HOST_DEVICE constexpr int consumer_count(const SwapAbConfig& c) { return c.bn / kMmaM; }
HGEMM_HOST_DEVICE constexpr bool packs(const SwapAbConfig& c) { return c.pack; }
HGEMM_HOST_DEVICE constexpr int cluster_size(const SwapAbConfig& c) { return c.splits; }
HGEMM_HOST_DEVICE constexpr bool adds_in_cluster(const SwapAbConfig& c) { return c.splits > 1; }
HGEMM_HOST_DEVICE constexpr bool stores_by_tma(const SwapAbConfig& c) {
  return c.store == StorePath::kTma;
}
/// No operand is multicast: each CTA of a cluster has its own part of K.
HGEMM_HOST_DEVICE constexpr int multicast_size(const SwapAbConfig&) { return 1; }
HGEMM_HOST_DEVICE constexpr int senders(const SwapAbConfig&) { return 1; }
/// Consumers that read each stage.
HGEMM_HOST_DEVICE constexpr int readers(const SwapAbConfig& c) { return consumer_count(c); }
/// The producer is one warp, because no registers are moved.
HGEMM_HOST_DEVICE constexpr int threads_per_cta(const SwapAbConfig& c) {
  return kWarpgroupThreads * consumer_count(c) + 32;
}
HGEMM_HOST_DEVICE constexpr int entry_registers(const SwapAbConfig& c,
                                                const DeviceLimits& limits = {}) {
  return entry_registers(threads_per_cta(c), c.ctas_per_sm, limits);
}
/// The output in tiles of a cluster, which has one tile.
HGEMM_HOST_DEVICE constexpr TileGrid tile_grid(int m, int n, const SwapAbConfig& c) {
  return {ceil_div(m, c.bm), ceil_div(n, c.bn)};
}
HGEMM_HOST_DEVICE constexpr int accumulators_per_thread(const SwapAbConfig& c) {
  return c.bm * kMmaM / kWarpgroupThreads;
}
/// Registers for the tensor cores' sums beside those in which they are added up.
HGEMM_HOST_DEVICE constexpr int promoted_registers(const SwapAbConfig& c) {
  if (c.promote == 0) return 0;
  return accumulators_per_thread(c) * (promotes_in_flight(c.promote, c.bk, c.mma_depth) ? 2 : 1);
}
/// Whether B is read before the kernels before this one have completed.
HGEMM_HOST_DEVICE constexpr bool reads_b_early(const SwapAbConfig& c) { return c.pdl && !c.late; }
/// Registers that a consumer needs in addition to its accumulators, and the most accumulators with
/// a C, whose elements are loaded one by one (measured with ptxas 13.0: of 88 kernels with an
/// epilogue 12 spill up to 40 bytes without the terms for it, none with them).
HGEMM_HOST_DEVICE constexpr int accumulator_reserve(const SwapAbKernel& k) {
  if (k.gemm.adds_c) return 96;
  const bool takes_more =
      k.store == StorePath::kStaged || k.gemm.epilogue.activation == Activation::kGeluErf;
  // 100 accumulators with 68 to spare spilled 16 bytes.
  if (k.gemm.scaling == Scaling::kRows && adds_in_cluster(k)) return 72;
  return (takes_more ? 48 : 40) + (is_of_blocks(k.gemm.scaling) ? 8 : 0);
}
inline constexpr int kMostAccumulatorsWithC = 88;

HGEMM_HOST_DEVICE constexpr int a_stage_bytes(const SwapAbKernel& k) {
  return staged_extent(k.bm, k.gemm.a_major) * k.bk * element_bytes(k.gemm.input);
}
HGEMM_HOST_DEVICE constexpr int b_stage_bytes(const SwapAbKernel& k) {
  return staged_extent(k.bn, k.gemm.b_major) * k.bk * element_bytes(k.gemm.input);
}
/// A CTA copies whole tiles: all rows of a K-major A (B), all elements of K of an MN-major one.
HGEMM_HOST_DEVICE constexpr int a_slice(const SwapAbKernel& k) {
  return k.gemm.a_major == Major::kK ? k.bm : k.bk;
}
HGEMM_HOST_DEVICE constexpr int b_slice(const SwapAbKernel& k) {
  return k.gemm.b_major == Major::kK ? k.bn : k.bk;
}

// ---- Gates and ups ----

/// With a gate, each 8 rows of a stage's B tile are gates, and the next 8 the ups of the same
/// columns of D. A warp's 16 rows are one such pair, so a thread has a gate and its up in one
/// group.
HGEMM_HOST_DEVICE constexpr int gate_run(const SwapAbKernel&) { return 8; }

// ---- Boxes of D ----

/// A consumer's part of a tile is stored in boxes of 8 rows of A by its 64 rows of B, which are 32
/// columns of D with a gate, and otherwise 64.
HGEMM_HOST_DEVICE constexpr int box_cols_of_d(const SwapAbKernel& k) {
  return is_gated(k.gemm) ? kMmaM / 2 : kMmaM;
}
HGEMM_HOST_DEVICE constexpr int store_boxes(const SwapAbConfig& c) { return c.bm / kGroupRows; }
/// Sums of a thread in a box.
HGEMM_HOST_DEVICE constexpr int box_values(const SwapAbConfig&) { return 4; }
/// Each value of a box is a sum. (With a gate it has both those of gates and of ups.)
HGEMM_HOST_DEVICE constexpr int sums_of_value(const SwapAbConfig&) { return 1; }
HGEMM_HOST_DEVICE constexpr int sum_run(const SwapAbConfig&) { return 0; }
HGEMM_HOST_DEVICE constexpr int sum_index(const SwapAbConfig&, int, int value, int) {
  return value;
}
HGEMM_HOST_DEVICE constexpr int box_value(const SwapAbConfig& c, int box) {
  return box * box_values(c);
}
/// Columns that the copy engine stores at once: one 128-byte swizzle atom. A box of 64 4-byte
/// elements consists of two of these, one after the other in shared memory. (32 gated 2-byte
/// elements are a row of 64 bytes, without swizzle.)
HGEMM_HOST_DEVICE constexpr int store_cols(const SwapAbKernel& k) {
  const int atom = kSwizzleBytes / element_bytes(k.gemm.output);
  return box_cols_of_d(k) < atom ? box_cols_of_d(k) : atom;
}
HGEMM_HOST_DEVICE constexpr int atom_row_bytes(const SwapAbKernel& k) {
  return store_cols(k) * element_bytes(k.gemm.output);
}
HGEMM_HOST_DEVICE constexpr int atom_bytes(const SwapAbKernel& k) {
  return kGroupRows * atom_row_bytes(k);
}
HGEMM_HOST_DEVICE constexpr int atoms_per_box(const SwapAbKernel& k) {
  return box_cols_of_d(k) / store_cols(k);
}
HGEMM_HOST_DEVICE constexpr int box_bytes(const SwapAbKernel& k) {
  return atoms_per_box(k) * atom_bytes(k);
}

// ---- Shared memory ----

/// Offset of the output staging. After the main loop, shared memory holds first the data that peers
/// send, then the output.
HGEMM_HOST_DEVICE constexpr int output_offset(const SwapAbKernel& k) {
  return adds_in_cluster(k) ? received_bytes(k) : 0;
}
HGEMM_HOST_DEVICE constexpr int epilogue_bytes(const SwapAbKernel& k) {
  return output_offset(k) + consumer_count(k) * most_boxes(k) * box_bytes(k);
}

/// Byte offsets in dynamic shared memory, in this order: A stages (at 0), B stages, a full and an
/// empty barrier for each stage; if a cluster adds up, a barrier for each consumer; the scales of
/// each consumer's part of the tile, or of each stage; the scale of an 8-bit D.
struct SwapAbSmem {
  int b, full, empty, sums, scales, output_scale, total_bytes;
};
HGEMM_HOST_DEVICE constexpr SwapAbSmem smem_layout(const SwapAbKernel& k) {
  SwapAbSmem layout{};
  layout.b = k.stages * a_stage_bytes(k);
  layout.full = (layout.b + k.stages * b_stage_bytes(k) + 1023) / 1024 * 1024;
  if (layout.full < epilogue_bytes(k)) layout.full = epilogue_bytes(k);
  layout.empty = layout.full + k.stages * 8;
  layout.sums = layout.empty + k.stages * 8;
  const int end = layout.sums + (adds_in_cluster(k) ? consumer_count(k) * 8 : 0);
  const ScaleRoom room =
      scale_room(k.gemm.scaling, end, k.stages, k.bm, k.bn, consumer_count(k), kMmaM, k.bm);
  layout.scales = room.begin;
  layout.output_scale = room.end;
  layout.total_bytes = room.end + output_scale_bytes(k.gemm, threads_per_cta(k));
  return layout;
}

}  // namespace hgemm
