// Validity in the tiled family: which configs exist, and which problems a kernel can compute. The
// kernel static_asserts the same why_invalid() with which the host rejects a point, so the two
// cannot disagree.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/extents.h"
#include "tiled/registers.h"

namespace hgemm {

/// The named rules. `plan` counts rejections by these names.
enum class TiledRule : unsigned char {
  kValid,
  kTileM,
  kTileN,
  kTileK,
  kPromote,
  kStages,
  kConsumers,
  kConsumerShare,
  kCluster,
  kMulticastSlice,
  kLayout,
  kMmaDepth,
  kGroup,
  kAccumulators,
  kFp32Sums,
  kOperandRegisters,
  kSharedMemory,
  kTypes,
  kOutputBox,
  kOverlap,
  kSwap,
  kSplits,
  kClusterSplit,
  kSplitStore,
  kPdl,
  kMemoryHint,
  kCtasPerSm,
  kSms,
  kDynamic,
  kGpc,
  kGate,
  kBatch,
  kOutputScales,
  kProbe,
  kExtents,
};

// Tables of texts are local, because NVRTC would put one at namespace scope into every cubin.
struct TiledRuleEntry {
  TiledRule rule;
  const char *name, *reason;
};
template <int kCount>
HGEMM_HOST_DEVICE constexpr RuleText text_among(const TiledRuleEntry (&entries)[kCount],
                                                TiledRule rule, RuleText otherwise) {
  for (const TiledRuleEntry& entry : entries) {
    if (entry.rule == rule) return {entry.name, entry.reason};
  }
  return otherwise;
}

/// The text of a rule about what a CTA multiplies and needs for that; `otherwise` for others.
HGEMM_HOST_DEVICE constexpr RuleText tile_rule_text(TiledRule rule, RuleText otherwise) {
  using Rule = TiledRule;
  constexpr TiledRuleEntry kTexts[] = {
      {Rule::kValid, "valid", "the kernel can be built and launched"},
      {Rule::kTileM, "tile_m",
       "bm must be a multiple of 64, in 64..384 (wgmma has 64 rows); with swap bn must"},
      {Rule::kTileN, "tile_n",
       "bn must be a multiple of 8, in 8..256 (PTX ISA, wgmma shapes m64nNk16); with swap bm must"},
      {Rule::kTileK, "tile_k",
       "bk must be 32, 64 or 128 (64-byte swizzle, or 128-byte swizzle slabs); of 8-bit operands "
       "64, 128 or 256"},
      {Rule::kPromote, kPromoteRule.name, kPromoteRule.reason},
      {Rule::kStages, "stages",
       "stages must be in 2..16, and above mma_depth + 1 for depth 1 to overlap"},
      {Rule::kConsumers, "consumers",
       "1, 2 or 3 consumer warpgroups (4 would leave 104 registers a thread)"},
      {Rule::kConsumerShare, "consumer_share",
       "coop: bm must split into whole 64-row blocks per consumer; cols: two or three consumers, "
       "and bn into multiples of 8 (with swap the other way round); pp: two consumers, of a CTA "
       "with many tiles"},
      {Rule::kCluster, "cluster",
       "a cluster has 1, 2, 4 or 8 CTAs along M and along N, and at most 8 in all, with the parts "
       "of scheduler csplit (portable cluster size, CUDA programming guide)"},
      {Rule::kMulticastSlice, "multicast_slice",
       "a multicast tile needs 8 rows (a swizzle atom) for each CTA of its cluster, of M or N, or "
       "of bk if the operand is contiguous in M or N"},
      {Rule::kLayout, "layout",
       "with schedule cols, if the tile's columns (with swap its rows) are contiguous in memory, "
       "they are in chunks of 64, and each consumer has whole chunks (PTX ISA, canonical layouts); "
       "and, unless swapped or staged, with a C whole strips of 128 bytes of its rows (64 if bk is "
       "32)"},
      {Rule::kMmaDepth, "mma_depth", "0 or 1 wgmma groups may stay in flight"},
      {Rule::kGroup, "group",
       "grouped and snake orders need a group of 1..64, other orders have none"},
      {Rule::kAccumulators, "accumulators",
       "accumulators, what is promoted of them at once, and with the overlapped store the tile "
       "that waits, unless it does so in promoted sums, must leave a consumer thread 40 "
       "registers for the rest, 32 with the direct store, 48 with the staged one (56 in turns), "
       "72 with scheduler csplit (88 or 104 with its staged store, 104 for fp32 outputs of one "
       "consumer), 88 with scheduler stream and swap; with scheduler split 40 to 88 of the "
       "registers at kernel entry (measured with ptxas 13.0: one step of bn more spills). An "
       "epilogue takes more: a C 8 to 48, a gate 8, and gelu_erf 8, or 72 with a C; so do scales "
       "of blocks (8, or 16 to 32 where they change at any 8 columns of a tile), 8-bit sums that "
       "are added in memory (16 to 136) or promoted in three or more pieces of a bk of 256 in a "
       "cluster (12) or, with scales of row_blocks and the direct store, in two or with two "
       "stages in flight (48), and an 8-bit D (8 or 16, or where its scales are found 32, with a "
       "gate 40, 48 staged, unless sums are promoted, and 56 more with a C that threads load). "
       "What the epilogue takes is free again in a main loop that promotes all sums at once: 40 "
       "registers are enough there, 32 of three consumers, but for the staged store and scales "
       "of row_blocks. Where threads load C and the bias (staged store, clusters along both "
       "sides) they must do with the registers at kernel entry"},
      {Rule::kFp32Sums, "fp32_sums",
       "fp32 outputs whose parts along K are added up in memory leave room for at most 168 "
       "accumulators a thread of two consumers on an SM (136 of ping-pong ones with direct "
       "stores), 160 of one: measured spills"},
      {Rule::kOperandRegisters, "operand_registers",
       "one wgmma's N / 2 accumulators + 26 must fit the registers at kernel entry (measured: "
       "ptxas error C7602)"},
      {Rule::kSharedMemory, "shared_memory",
       "stages, output staging and barriers must fit one CTA's limit"},
  };
  return text_among(kTexts, rule, otherwise);
}

HGEMM_HOST_DEVICE constexpr RuleText rule_text(TiledRule rule) {
  using Rule = TiledRule;
  constexpr TiledRuleEntry kTexts[] = {
      {Rule::kTypes, kTypesRule.name, kTypesRule.reason},
      {Rule::kOutputBox, "output_box",
       "the copy engine stores rows of whole units of 16 bytes: with a D of 8 bits and the tma or "
       "overlapped store, unless swapped, each consumer has multiples of 16 columns of a tile of "
       "D"},
      {Rule::kOverlap, "overlap",
       "an overlapped store needs a next tile, and leaves no registers for sums of parts of K or "
       "for a second output: it goes with scheduler persist or dynamic, and without aux"},
      {Rule::kSwap, "swap",
       "with swap the tile is transposed in shared memory: the store is tma, staged or overlap, "
       "unless parts of K are added in memory (split)"},
      {Rule::kSplits, "splits",
       "scheduler split cuts K into 2..32 parts, csplit into 2..8 (a portable cluster); other "
       "schedulers do not cut it so"},
      {Rule::kClusterSplit, "cluster_split",
       "scheduler csplit goes with the tma or staged store and consumers that share the tile"},
      {Rule::kSplitStore, "split_store",
       "with scheduler split CTAs store shares of a tile from registers: store direct or staged"},
      {Rule::kPdl, "pdl",
       "CTAs that wait for one another in memory (split, stream) are launched cooperatively, which "
       "does not overlap with the kernel before (measured on H200, driver 580): no pdl; and hold "
       "says when a kernel with pdl lets the next one start: it needs pdl"},
      {Rule::kMemoryHint, "memory_hint",
       "L2 promotion is 64, 128 or 256 bytes (CUtensorMapL2promotion), and direct and staged "
       "stores take no hint"},
      {Rule::kCtasPerSm, "ctas_per_sm",
       "1 or 2 CTAs per SM, and 2 with at most two consumers each"},
      {Rule::kSms, "sms",
       "a persistent kernel with one CTA on an SM can leave SMs free: at most 1024, and one for "
       "each CTA of a cluster; few only with scheduler persist or dynamic"},
      {Rule::kDynamic, "dynamic",
       "a producer that takes tiles from a queue needs 40 registers: one CTA per SM and at most "
       "two consumers; it tells the tile to at most one other CTA of its cluster; and ping-pong "
       "consumers must know beforehand which tiles are theirs"},
      {Rule::kGpc, "gpc",
       "gpc numbers the clusters of a launch with one CTA per SM, whose work follows from the "
       "number: not with scheduler dynamic; nor with pdl, where clusters start wherever the kernel "
       "before leaves room"},
      {Rule::kGate, "gate",
       "with a gate a tile of B is pairs of runs of gates and ups: in each consumer's part, and in "
       "each slice of a cluster along M, multiples of 16 rows (with swap of 128); no CTA adds up a "
       "share of a tile that begins anywhere: not with scheduler split; with a gate there is no C, "
       "bias, alpha, beta or second output; and a second output is that of an activation"},
      {Rule::kBatch, kBatchRule.name, kBatchRule.reason},
      {Rule::kOutputScales, kOutputScalesRule.name, kOutputScalesRule.reason},
      {Rule::kProbe, "probe",
       "cycle stamps follow consumers that share each tile, not ping-pong ones, nor tiles cut "
       "along K or taken from a queue or packed or numbered by GPCs, nor many products, and need a "
       "producer with more than 24 registers (two consumers of at most 192 values a thread). Where "
       "sums are promoted, a consumer has a stamp more and needs 8 registers more (24 of three, "
       "with the overlapped store, scales of blocks or a bk of 256), but for the tiles that are "
       "tuned for most (stamps_fit() in registers.h)"},
      {Rule::kExtents, "extents",
       "a kernel that is made for one problem needs an M, an N and a K that it supports, without "
       "padding: at least 1, at most 2^30, and whole units of 16 bytes where its store or its lack "
       "of packing demands it"},
  };
  return text_among(kTexts, rule, tile_rule_text(rule, {"?", "?"}));
}

/// Why a kernel cannot compute a problem of its types, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const TiledKernel& k,
                                                        const ProblemExtents& p) {
  if (k.fixed) {
    if (const char* reason = why_not_made_for(k.gemm, p)) return reason;
  }
  if (const char* reason = why_unsupported(p)) return reason;
  if (const char* reason = why_not_fetched(k.gemm, p, k.pack)) return reason;
  if (k.store != StorePath::kStaged && !output_is_aligned(p, k.gemm.output)) {
    return p.batch.count > 1 && !p.batch.by_pointers
               ? "N, D's leading dimension and the stride of the products' D must be whole units "
                 "of 16 bytes (multiples of 16 for 8-bit types, of 8 for 16-bit ones, of 4 for "
                 "fp32), unless the store is staged"
               : kUnalignedOutput;
  }
  return nullptr;
}

/// Whether the kernel can take arrays of pointers.
HGEMM_HOST_DEVICE constexpr bool has_pointers(const TiledKernel& k) {
  return k.gemm.batched && !k.pack && producer_registers(k) >= 32;
}

/// Whether stages of the config's depth can hold operands of this kind.
HGEMM_HOST_DEVICE constexpr bool depth_is_valid(const TiledConfig& c, const GemmKind& kind) {
  const int row_bytes = c.bk * element_bytes(kind.input);
  return row_bytes == 64 || row_bytes == 128 || row_bytes == 256;
}

/// With two CTAs per SM, a second CTA would go to an SM that must stay free.
HGEMM_HOST_DEVICE constexpr bool sms_are_valid(const TiledConfig& c) {
  if (c.sms == kAllSms) return true;
  if (!is_persistent(c) || c.ctas_per_sm != 1) return false;
  if (c.sms == kFewestSms) return !adds_in_workspace(c);
  return c.sms >= cluster_size(c) && c.sms <= kMaxSms;
}

HGEMM_HOST_DEVICE constexpr bool cluster_is_valid(const TiledConfig& c) {
  const auto is_power = [](int ctas) { return ctas == 1 || ctas == 2 || ctas == 4 || ctas == 8; };
  return is_power(c.cluster_m) && is_power(c.cluster_n) && cluster_size(c) <= kMaxClusterCtas;
}

/// Whether consumers that share a tile's columns have whole chunks of an MN-major operand there,
/// and whole strips of C. (With swap their columns are rows of a strip.)
HGEMM_HOST_DEVICE constexpr bool columns_are_whole(const TiledKernel& k) {
  if (k.schedule != Schedule::kColumns) return true;
  if (cols_major(k) == Major::kMn && consumer_cols(k) % kChunkMn != 0) return false;
  const bool has_strips = copies_addends(k) && k.gemm.adds_c && !k.swap;
  return !has_strips || consumer_cols(k) % strip_cols(k) == 0;
}

/// The first rule about its store that the kernel breaks, or kValid.
HGEMM_HOST_DEVICE constexpr TiledRule why_not_stored(const TiledKernel& k) {
  using Rule = TiledRule;
  if (stores_by_tma(k) && !k.swap &&
      output_cols(k) * element_bytes(k.gemm.output) % kUnitBytes != 0) {
    return Rule::kOutputBox;
  }
  if (k.store == StorePath::kOverlapped &&
      ((k.scheduler != TileScheduler::kPersistent && !is_dynamic(k)) || k.gemm.epilogue.aux)) {
    return Rule::kOverlap;
  }
  if (adds_in_cluster(k) && (k.store == StorePath::kDirect || k.schedule == Schedule::kPingPong)) {
    return Rule::kClusterSplit;
  }
  if (finds_output_scales(k.gemm) &&
      (k.swap || shares_sums(k) || output_cols(k) % kScaleBlock != 0)) {
    return Rule::kOutputScales;
  }
  if (shares_sums(k)) {
    if (k.store != StorePath::kDirect && k.store != StorePath::kStaged) return Rule::kSplitStore;
  } else if (k.swap && k.store == StorePath::kDirect) {
    return Rule::kSwap;
  }
  return Rule::kValid;
}

/// The first rule that the kernel breaks, or kValid. Every kernel that is valid must compile
/// without a spill; tests check it. (With an epilogue some spill: epilogue_registers().)
HGEMM_HOST_DEVICE constexpr TiledRule why_invalid(const TiledKernel& k,
                                                  const DeviceLimits& limits = {}) {
  using Rule = TiledRule;
  if (!types_are_supported(k.gemm) || (is_8_bit(k.gemm.input) && k.pack)) return Rule::kTypes;
  if (k.gemm.batched && why_no_epilogue(k.gemm)) return Rule::kBatch;
  if (k.gemm.by_pointers && !has_pointers(k)) return Rule::kBatch;
  if (why_no_epilogue(k.gemm)) return Rule::kGate;
  if (mma_rows(k) < kMmaM || mma_rows(k) > 384 || mma_rows(k) % kMmaM != 0) return Rule::kTileM;
  if (mma_cols(k) < 8 || mma_cols(k) > 256 || mma_cols(k) % 8 != 0) return Rule::kTileN;
  if (!depth_is_valid(k, k.gemm)) return Rule::kTileK;
  if (k.mma_depth != 0 && k.mma_depth != 1) return Rule::kMmaDepth;
  if (!promotion_is_valid(k.gemm, k.promote, k.bk)) return Rule::kPromote;
  if (k.stages < 2 + k.mma_depth || k.stages > kMaxStages) return Rule::kStages;
  if (k.consumers < 1 || k.consumers > 3) return Rule::kConsumers;
  if (k.schedule == Schedule::kRows && mma_rows(k) % (kMmaM * k.consumers) != 0) {
    return Rule::kConsumerShare;
  }
  if (k.schedule != Schedule::kRows && k.consumers < 2) return Rule::kConsumerShare;
  if (k.schedule == Schedule::kColumns && mma_cols(k) % (8 * k.consumers) != 0) {
    return Rule::kConsumerShare;
  }
  if (k.schedule == Schedule::kPingPong &&
      (k.consumers != 2 || k.scheduler == TileScheduler::kSingle)) {
    return Rule::kConsumerShare;
  }
  const bool in_parts = k.scheduler == TileScheduler::kSplitK || adds_in_cluster(k);
  const int most_splits = adds_in_cluster(k) ? kMaxClusterSplits : kMaxSplits;
  if (in_parts ? (k.splits < 2 || k.splits > most_splits) : k.splits != 1) return Rule::kSplits;
  if (!cluster_is_valid(k)) return Rule::kCluster;
  const auto is_sliced = [&](Major major, int rows, int ctas) {
    return (major == Major::kK ? rows : k.bk) >= kSwizzleRows * ctas;
  };
  if (!is_sliced(k.gemm.b_major, k.bn, k.cluster_m) ||
      !is_sliced(k.gemm.a_major, k.bm, k.cluster_n)) {
    return Rule::kMulticastSlice;
  }
  if (!columns_are_whole(k)) return Rule::kLayout;
  if (is_gated(k.gemm) && (!gates_are_whole(k) || shares_sums(k))) {
    return Rule::kGate;
  }
  if (has_bands(k.order) ? (k.group < 1 || k.group > 64) : k.group != 0) return Rule::kGroup;
  if (const Rule rule = why_not_stored(k); rule != Rule::kValid) return rule;
  if (k.ctas_per_sm < 1 || k.ctas_per_sm > 2 || k.ctas_per_sm * k.consumers > 4) {
    return Rule::kCtasPerSm;
  }
  if (!sms_are_valid(k)) return Rule::kSms;
  if (is_dynamic(k) &&
      (k.schedule == Schedule::kPingPong || multicast_size(k) > 2 || producer_registers(k) < 40)) {
    return Rule::kDynamic;
  }
  if (k.gpc && (is_dynamic(k) || k.ctas_per_sm > 1 || k.pdl)) return Rule::kGpc;
  if ((k.pdl && adds_in_workspace(k)) || (k.hold && !k.pdl)) return Rule::kPdl;
  if (k.promotion != 64 && k.promotion != 128 && k.promotion != 256) return Rule::kMemoryHint;
  if (!stores_by_tma(k) && k.d_hint != CacheHint::kNone) return Rule::kMemoryHint;
  if (needed_registers(k) > usable_registers(k)) {
    return Rule::kAccumulators;
  }
  if (adds_fp32_outputs(k) && accumulators_per_thread(k) > most_added_fp32_values(k)) {
    return Rule::kFp32Sums;
  }
  if (consumer_cols(k) / 2 + 26 > entry_registers(k, limits)) return Rule::kOperandRegisters;
  if (smem_layout(k).total_bytes > smem_limit(k.ctas_per_sm, limits)) return Rule::kSharedMemory;
  if (k.gemm.m != 0 && why_unsupported(k, fixed_extents(k.gemm))) return Rule::kExtents;
  if (k.probe && (k.schedule == Schedule::kPingPong || cuts_k(k) || is_dynamic(k) || k.pack ||
                  k.gpc || k.gemm.batched || producer_registers(k) < 32 ||
                  needed_registers(k) + stamp_registers(k) > usable_registers(k))) {
    return Rule::kProbe;
  }
  return Rule::kValid;
}

}  // namespace hgemm
