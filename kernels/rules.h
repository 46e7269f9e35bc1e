// What is valid: which configs exist, which problems a config's kernel computes, and why not.
//
// Compiled by the host compiler and by NVRTC, as config.h. The kernels static_assert the same
// why_invalid() that the host uses to reject a point: the two cannot disagree.
#pragma once

#include "config.h"

namespace hgemm {

/// The named rules. `plan` counts rejections by these names.
enum class Rule : unsigned char {
  kValid,
  kTileM,
  kTileN,
  kTileK,
  kStages,
  kConsumers,
  kConsumerShare,
  kCluster,
  kMulticastSlice,
  kMmaDepth,
  kGroup,
  kAccumulators,
  kOperandRegisters,
  kSharedMemory,
  kDtype,
  kLate,
  kSplits,
  kClusterSplit,
  kMemoryHint,
  kCtasPerSm,
  kDynamic,
  kSwapped,
  kVector,
  kPack,
  kProbe,
  kExtents,
  kCount,
};

struct RuleText {
  const char* name;
  const char* reason;  ///< what the rule demands, and its source
};
HGEMM_HOST_DEVICE constexpr RuleText rule_text(Rule rule) {
  switch (rule) {
    case Rule::kValid:
      return {"valid", "the kernel can be built and launched"};
    case Rule::kTileM:
      return {"tile_m",
              "bm must be a multiple of 64, in 64..384 (wgmma has 64 rows); of 8, in 8..128, with "
              "schedule swap"};
    case Rule::kTileN:
      return {"tile_n", "bn must be a multiple of 8, in 8..256 (PTX ISA, wgmma shapes m64nNk16)"};
    case Rule::kTileK:
      return {"tile_k", "bk must be 32, 64 or 128 (64-byte swizzle, or 128-byte swizzle slabs)"};
    case Rule::kStages:
      return {"stages", "stages must be in 2..16, and above mma_depth + 1 for depth 1 to overlap"};
    case Rule::kConsumers:
      return {"consumers", "1, 2 or 3 consumer warpgroups (4 would leave 104 registers a thread)"};
    case Rule::kConsumerShare:
      return {"consumer_share",
              "rows: bm must split into whole 64-row blocks per consumer; columns: two or three "
              "consumers, and bn into multiples of 8; ping-pong: two, of a CTA with many tiles; "
              "swap: 64 columns for each consumer"};
    case Rule::kCluster:
      return {"cluster", "cluster must be 1x1, 2x1 or 1x2"};
    case Rule::kMulticastSlice:
      return {"multicast_slice",
              "a multicast tile needs 8 rows (a swizzle atom) for each CTA of its cluster"};
    case Rule::kMmaDepth:
      return {"mma_depth", "0 or 1 wgmma groups may stay in flight"};
    case Rule::kGroup:
      return {"group", "grouped and snake orders need a group of 1..64, other orders have none"};
    case Rule::kAccumulators:
      return {"accumulators",
              "accumulators, and half as many packed ones with the late epilogue, must leave a "
              "consumer thread 40 registers for the rest, 32 with the direct epilogue, 48 with the "
              "staged one (56 in turns), 72 with walk csplit (measured with ptxas 13.0: one step "
              "of bn more spills)"};
    case Rule::kOperandRegisters:
      return {"operand_registers",
              "one wgmma's N / 2 accumulators + 26 must fit the registers at kernel entry "
              "(measured: ptxas error C7602)"};
    case Rule::kSharedMemory:
      return {"shared_memory", "stages, output staging and barriers must fit one CTA's limit"};
    case Rule::kDtype:
      return {
          "dtype",
          "the kernel multiplies bf16 and fp16 (PTX ISA: wgmma has no fp32 operands, only tf32, "
          "which rounds them); fp32 is for the ladder's CUDA-core steps"};
    case Rule::kLate:
      return {
          "late",
          "a late store needs a next tile, and leaves no registers for sums of parts of K: it goes "
          "with walk persist or dynamic"};
    case Rule::kSplits:
      return {
          "splits",
          "walk split cuts K into 2..16 parts, csplit into 2..8 (a portable cluster); other walks "
          "do not cut it so"};
    case Rule::kClusterSplit:
      return {
          "cluster_split",
          "with walk csplit the cluster is the parts of one tile: it goes with cluster 1x1, the "
          "tma or staged epilogue and consumers that share the tile"};
    case Rule::kMemoryHint:
      return {
          "memory_hint",
          "L2 promotion is 64, 128 or 256 bytes (CUtensorMapL2promotion), and direct and staged "
          "stores take no hint"};
    case Rule::kCtasPerSm:
      return {"ctas_per_sm", "1 or 2 CTAs per SM, and 2 with at most two consumers each"};
    case Rule::kDynamic:
      return {"dynamic",
              "a producer that takes tiles from a queue needs 40 registers: one CTA per SM and at "
              "most two consumers; and ping-pong ones must know beforehand which tiles are theirs"};
    case Rule::kSwapped:
      return {
          "swapped",
          "schedule swap goes with walk single or csplit, cluster 1x1, linear order, the tma or "
          "staged epilogue and bk of 64 or 128"};
    case Rule::kVector:
      return {
          "vector",
          "schedule vec goes with bm of 1, 2, 4, 8 or 16; bk of 256, 512, 1024 or 2048; one or two "
          "stages; bn that divides its 4, 8 or 12 warps or that they divide, a warp's rows times "
          "bm "
          "at most 32 and what a thread then holds within its registers; and with direct stores, "
          "walk single or csplit, cluster 1x1, linear order, d 0, nothing packed and no hints or "
          "promotion"};
    case Rule::kPack:
      return {"pack",
              "swapped kernels with programmatic dependent launch read B before the kernel before "
              "them, which would be the one that packs B, is done"};
    case Rule::kProbe:
      return {
          "probe",
          "cycle stamps follow consumers that share each tile, neither ping-pong nor swapped, nor "
          "tiles cut along K or taken from a queue or packed, and need a producer with more than "
          "24 registers (two consumers of at most 192 values a thread)"};
    case Rule::kExtents:
      return {"extents",
              "a kernel that is made for one problem needs an M, an N and a K that it supports, "
              "without padding: at least 1, at most 2^30, and multiples of 8 where its epilogue or "
              "its lack of packing demands it"};
    case Rule::kCount:
      break;
  }
  return {"?", "?"};
}

/// A problem as the rules see it. Leading dimensions: elements from one row of A, B and D to the
/// next.
struct ProblemExtents {
  long long m, n, k;
  long long lda, ldb, ldd;
};

/// Why no kernel can compute a problem, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const ProblemExtents& p) {
  constexpr long long kMaxExtent = 1LL << 30;  // tile coordinates are 32-bit
  if (p.m < 1 || p.n < 1 || p.k < 1) return "M, N and K must be at least 1";
  if (p.m > kMaxExtent || p.n > kMaxExtent || p.k > kMaxExtent) {
    return "M, N and K must be at most 2^30";
  }
  if (p.lda < p.k || p.ldb < p.k || p.ldd < p.n) {
    return "a leading dimension is a row's length (K for A and B, N for D) or more";
  }
  if (p.lda > kMaxExtent || p.ldb > kMaxExtent || p.ldd > kMaxExtent) {
    return "leading dimensions must be at most 2^30";
  }
  return nullptr;
}
/// Whether the rows of a matrix begin at multiples of 16 bytes, if there are several and the first
/// one does.
HGEMM_HOST_DEVICE constexpr bool rows_are_aligned(long long rows, long long leading) {
  return rows == 1 || leading % kUnitElements == 0;
}
/// Whether the copy engine can fetch A and B (any K: it fills what lies outside with zeros), and
/// store D (any M: it clips whole rows).
HGEMM_HOST_DEVICE constexpr bool inputs_are_aligned(const ProblemExtents& p) {
  return rows_are_aligned(p.m, p.lda) && rows_are_aligned(p.n, p.ldb);
}
HGEMM_HOST_DEVICE constexpr bool output_is_aligned(const ProblemExtents& p) {
  return rows_are_aligned(p.m, p.ldd) && p.n % kUnitElements == 0;
}
/// Why one config's kernel cannot compute a problem, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const KernelConfig& c,
                                                        const ProblemExtents& p) {
  const bool packed = p.lda == p.k && p.ldb == p.k && p.ldd == p.n;
  if (is_fixed(c) && (c.m != p.m || c.n != p.n || c.k != p.k || !packed)) {
    return "the kernel is made for another problem (its label ends in for<M>x<N>x<K>)";
  }
  if (const char* reason = why_unsupported(p)) return reason;
  if (is_vector(c)) {
    return p.m <= c.bm || p.n <= c.bm ? nullptr
                                      : "schedule vec is for at most bm rows of A or of B";
  }
  if (!c.pack && !inputs_are_aligned(p)) {
    return "A's and B's leading dimensions (K without padding) must be multiples of 8, unless the "
           "config packs them";
  }
  if (c.epilogue != Epilogue::kStaged && !output_is_aligned(p)) {
    return "N and D's leading dimension must be multiples of 8, unless the epilogue is staged";
  }
  return nullptr;
}

HGEMM_HOST_DEVICE constexpr Rule why_invalid_vector(const KernelConfig& c,
                                                    const DeviceLimits& limits) {
  const KernelConfig plain{};
  const bool vectors = c.bm >= 1 && c.bm <= kMaxVectors && (c.bm & (c.bm - 1)) == 0;
  const int steps = c.bk / kVectorStep;
  const bool step =
      c.bk % kVectorStep == 0 && steps >= 1 && steps <= 8 && (steps & (steps - 1)) == 0;
  if (c.consumers < 1 || c.consumers > 3) return Rule::kConsumers;
  if (c.bn < 1) return Rule::kTileN;
  const int rows = vector_rows(c);
  const bool in_parts = adds_in_cluster(c);
  if (in_parts ? c.splits < 2 || c.splits > kMaxClusterSplits : c.splits != 1) return Rule::kSplits;
  if (!vectors || !step || c.stages < 1 || c.stages > 2 ||
      c.bn * vector_sharers(c) != rows * vector_warps(c) || vector_sums(c) > 32 ||
      vector_registers(c) > entry_registers(c, limits) || c.epilogue != Epilogue::kDirect ||
      (c.walk != Walk::kSingle && !in_parts) || multicast_size(c) != 1 ||
      c.order != TileOrder::kLinear || c.group != 0 || c.mma_depth != 0 || c.pack || c.probe ||
      c.a_hint != plain.a_hint || c.b_hint != plain.b_hint || c.d_hint != plain.d_hint ||
      c.promotion != plain.promotion) {
    return Rule::kVector;
  }
  if (c.ctas_per_sm < 1 || c.ctas_per_sm > 2) return Rule::kCtasPerSm;
  if (smem_layout(c).total_bytes > smem_limit(c, limits)) return Rule::kSharedMemory;
  if (is_fixed(c) && why_unsupported(c, {c.m, c.n, c.k, c.k, c.k, c.n})) return Rule::kExtents;
  return Rule::kValid;
}

/// The first rule that `c` breaks, or Rule::kValid. Every kernel that this accepts must compile
/// without a spill; tests hold it to that.
HGEMM_HOST_DEVICE constexpr Rule why_invalid(const KernelConfig& c,
                                             const DeviceLimits& limits = {}) {
  if (c.dtype != Dtype::kBf16 && c.dtype != Dtype::kFp16) return Rule::kDtype;
  if (is_vector(c)) return why_invalid_vector(c, limits);
  const int bm_unit = is_swapped(c) ? kGroupRows : kMmaM;
  if (c.bm < bm_unit || c.bm > (is_swapped(c) ? 128 : 384) || c.bm % bm_unit != 0) {
    return Rule::kTileM;
  }
  if (c.bn < 8 || c.bn > 256 || c.bn % 8 != 0) return Rule::kTileN;
  if (c.bk != 32 && c.bk != 64 && c.bk != 128) return Rule::kTileK;
  if (c.mma_depth != 0 && c.mma_depth != 1) return Rule::kMmaDepth;
  if (c.stages < 2 + c.mma_depth || c.stages > kMaxStages) return Rule::kStages;
  if (c.consumers < 1 || c.consumers > 3) return Rule::kConsumers;
  if (c.schedule == Schedule::kRows && c.bm % (kMmaM * c.consumers) != 0) {
    return Rule::kConsumerShare;
  }
  if (is_swapped(c)) {
    if (c.bn != kMmaM * c.consumers) return Rule::kConsumerShare;
    if ((c.walk != Walk::kSingle && !adds_in_cluster(c)) || multicast_size(c) != 1 ||
        c.order != TileOrder::kLinear ||
        (c.epilogue != Epilogue::kTma && c.epilogue != Epilogue::kStaged) || c.bk < kSlabK) {
      return Rule::kSwapped;
    }
  } else if (c.schedule != Schedule::kRows && c.consumers < 2) {
    return Rule::kConsumerShare;
  }
  if (c.schedule == Schedule::kColumns && c.bn % (8 * c.consumers) != 0) {
    return Rule::kConsumerShare;
  }
  if (c.schedule == Schedule::kPingPong && (c.consumers != 2 || c.walk == Walk::kSingle)) {
    return Rule::kConsumerShare;
  }
  if (c.cluster_m < 1 || c.cluster_n < 1 || multicast_size(c) > 2) return Rule::kCluster;
  if (c.bn < 8 * c.cluster_m) return Rule::kMulticastSlice;
  if (has_bands(c.order) ? (c.group < 1 || c.group > 64) : c.group != 0) return Rule::kGroup;
  if (c.epilogue == Epilogue::kLate && c.walk != Walk::kPersistent && !is_dynamic(c)) {
    return Rule::kLate;
  }
  const bool in_parts = c.walk == Walk::kSplitK || adds_in_cluster(c);
  const int most_splits = adds_in_cluster(c) ? kMaxClusterSplits : kMaxSplits;
  if (in_parts ? (c.splits < 2 || c.splits > most_splits) : c.splits != 1) return Rule::kSplits;
  if (adds_in_cluster(c) && (multicast_size(c) != 1 || c.epilogue == Epilogue::kDirect ||
                             c.schedule == Schedule::kPingPong)) {
    return Rule::kClusterSplit;
  }
  if (c.ctas_per_sm < 1 || c.ctas_per_sm > 2 || c.ctas_per_sm * c.consumers > 4) {
    return Rule::kCtasPerSm;
  }
  if (is_dynamic(c) && (c.schedule == Schedule::kPingPong || producer_registers(c) < 40)) {
    return Rule::kDynamic;
  }
  if (c.pack && is_swapped(c) && c.pdl) return Rule::kPack;
  if (c.promotion != 64 && c.promotion != 128 && c.promotion != 256) return Rule::kMemoryHint;
  if (!stores_by_tma(c) && c.d_hint != CacheHint::kNone) return Rule::kMemoryHint;
  if (accumulators_per_thread(c) + packed_registers(c) >
      consumer_registers(c) - accumulator_reserve(c)) {
    return Rule::kAccumulators;
  }
  if (mma_n(c) / 2 + 26 > entry_registers(c, limits)) return Rule::kOperandRegisters;
  if (smem_layout(c).total_bytes > smem_limit(c, limits)) return Rule::kSharedMemory;
  if (is_fixed(c) && why_unsupported(c, {c.m, c.n, c.k, c.k, c.k, c.n})) return Rule::kExtents;
  if (c.probe && (c.schedule == Schedule::kPingPong || is_swapped(c) || cuts_k(c) ||
                  is_dynamic(c) || c.pack || producer_registers(c) < 32)) {
    return Rule::kProbe;
  }
  return Rule::kValid;
}

}  // namespace hgemm
