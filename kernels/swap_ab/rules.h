// Validity in the swap-AB family: which configs exist, and which problems a kernel can compute. The
// kernel static_asserts the same why_invalid() with which the host rejects a point.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/extents.h"
#include "swap_ab/config.h"

namespace hgemm {

/// The named rules. `plan` counts rejections by these names.
enum class SwapAbRule : unsigned char {
  kValid,
  kTileM,
  kTileN,
  kTileK,
  kPromote,
  kStages,
  kMmaDepth,
  kStore,
  kAccumulators,
  kSharedMemory,
  kTypes,
  kSplits,
  kMemoryHint,
  kCtasPerSm,
  kPdl,
  kPack,
  kGate,
  kBatch,
  kOutputScales,
  kExtents,
};

HGEMM_HOST_DEVICE constexpr RuleText rule_text(SwapAbRule rule) {
  using Rule = SwapAbRule;
  // Local, because NVRTC would put a table at namespace scope into every cubin.
  struct Entry {
    Rule rule;
    const char *name, *reason;
  };
  constexpr Entry kTexts[] = {
      {Rule::kValid, "valid", "the kernel can be built and launched"},
      {Rule::kTileM, "tile_m", "bm must be a multiple of 8, in 8..256 (wgmma's N)"},
      {Rule::kTileN, "tile_n",
       "bn must be 64, 128 or 192: wgmma's 64 rows for each of 1 to 3 consumers"},
      {Rule::kTileK, "tile_k",
       "bk must be 64 or 128 (128-byte swizzle slabs); of 8-bit operands 128 or 256"},
      {Rule::kPromote, kPromoteRule.name, kPromoteRule.reason},
      {Rule::kStages, "stages",
       "stages must be in 2..16, and above mma_depth + 1 for depth 1 to overlap"},
      {Rule::kMmaDepth, "mma_depth", "0 or 1 wgmma groups may stay in flight"},
      {Rule::kStore, "store", "the store is tma or staged"},
      {Rule::kAccumulators, "accumulators",
       "accumulators (twice, if they are promoted) must leave a consumer thread 40 registers for "
       "the rest, 48 with the staged store or with gelu_erf, 8 more with scales of blocks, and 72 "
       "with scales of rows and csplit; with a C 96, and be at most 88 (measured with ptxas 13.0)"},
      {Rule::kSharedMemory, "shared_memory",
       "stages, the output and barriers must fit one CTA's limit"},
      {Rule::kTypes, kTypesRule.name, kTypesRule.reason},
      {Rule::kSplits, "splits", "scheduler csplit cuts K into 2..8 parts (a portable cluster)"},
      {Rule::kMemoryHint, "memory_hint",
       "L2 promotion is 64, 128 or 256 bytes (CUtensorMapL2promotion), and staged stores take no "
       "hint"},
      {Rule::kCtasPerSm, "ctas_per_sm",
       "1 or 2 CTAs per SM, and 2 with at most two consumers each"},
      {Rule::kPdl, "pdl",
       "late says when a kernel with programmatic dependent launch reads B, and hold when it lets "
       "the next one start: they need pdl"},
      {Rule::kPack, "pack",
       "with programmatic dependent launch B is read before the kernel before this one, which "
       "would be the one that packs B, is done; unless it is read late"},
      {Rule::kGate, "gate", "with a gate there is no C, bias, alpha or beta"},
      {Rule::kBatch, kBatchRule.name, kBatchRule.reason},
      {Rule::kOutputScales, kOutputScalesRule.name, kOutputScalesRule.reason},
      {Rule::kExtents, "extents",
       "a kernel that is made for one problem needs an M, an N and a K that it supports, without "
       "padding: at least 1, at most 2^30, and whole units of 16 bytes where its store or its lack "
       "of packing demands it"},
  };
  for (const Entry& entry : kTexts) {
    if (entry.rule == rule) return {entry.name, entry.reason};
  }
  return {"?", "?"};
}

/// Why a kernel cannot compute a problem of its types, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const SwapAbKernel& k,
                                                        const ProblemExtents& p) {
  if (k.fixed) {
    if (const char* reason = why_not_made_for(k.gemm, p)) return reason;
  }
  if (const char* reason = why_unsupported(p)) return reason;
  if (const char* reason = why_not_fetched(k.gemm, p, k.pack)) return reason;
  if (k.store != StorePath::kStaged && !output_is_aligned(p, k.gemm.output)) {
    return kUnalignedOutput;
  }
  return nullptr;
}

/// Whether stages of the config's depth can hold operands of this kind.
HGEMM_HOST_DEVICE constexpr bool depth_is_valid(const SwapAbConfig& c, const GemmKind& kind) {
  return c.bk == slab_k(kind.input) || c.bk == 2 * slab_k(kind.input);
}

/// The first rule that the kernel breaks, or kValid. Every kernel that is valid must compile
/// without a spill; tests check it.
HGEMM_HOST_DEVICE constexpr SwapAbRule why_invalid(const SwapAbKernel& k,
                                                   const DeviceLimits& limits = {}) {
  using Rule = SwapAbRule;
  if (!types_are_supported(k.gemm) || (is_8_bit(k.gemm.input) && k.pack)) return Rule::kTypes;
  if (k.gemm.batched) return Rule::kBatch;
  if (finds_output_scales(k.gemm)) return Rule::kOutputScales;
  if (why_no_epilogue(k.gemm)) return Rule::kGate;
  if (k.bm < kGroupRows || k.bm > 256 || k.bm % kGroupRows != 0) return Rule::kTileM;
  if (k.bn != kMmaM && k.bn != 2 * kMmaM && k.bn != 3 * kMmaM) return Rule::kTileN;
  if (!depth_is_valid(k, k.gemm)) return Rule::kTileK;
  if (k.mma_depth != 0 && k.mma_depth != 1) return Rule::kMmaDepth;
  if (!promotion_is_valid(k.gemm, k.promote, k.bk)) return Rule::kPromote;
  if (k.stages < 2 + k.mma_depth || k.stages > kMaxStages) return Rule::kStages;
  if (k.store != StorePath::kTma && k.store != StorePath::kStaged) return Rule::kStore;
  if (k.splits < 1 || k.splits > kMaxClusterSplits) return Rule::kSplits;
  if (k.ctas_per_sm < 1 || k.ctas_per_sm > 2 || k.ctas_per_sm * consumer_count(k) > 4) {
    return Rule::kCtasPerSm;
  }
  if ((k.late || k.hold) && !k.pdl) return Rule::kPdl;
  if (k.pack && reads_b_early(k)) return Rule::kPack;
  if (k.promotion != 64 && k.promotion != 128 && k.promotion != 256) return Rule::kMemoryHint;
  if (!stores_by_tma(k) && k.d_hint != CacheHint::kNone) return Rule::kMemoryHint;
  if (accumulators_per_thread(k) + promoted_registers(k) >
          entry_registers(k, limits) - accumulator_reserve(k) ||
      (k.gemm.adds_c && accumulators_per_thread(k) > kMostAccumulatorsWithC)) {
    return Rule::kAccumulators;
  }
  if (smem_layout(k).total_bytes > smem_limit(k.ctas_per_sm, limits)) return Rule::kSharedMemory;
  if (k.gemm.m != 0 && why_unsupported(k, fixed_extents(k.gemm))) return Rule::kExtents;
  return Rule::kValid;
}

}  // namespace hgemm
