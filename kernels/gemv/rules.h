// Validity in the GEMV family: which configs exist, and which problems a kernel can compute. The
// kernel static_asserts the same why_invalid() with which the host rejects a point.
//
// Compiled by the host compiler and by NVRTC.
#pragma once

#include "common/extents.h"
#include "gemv/config.h"

namespace hgemm {

/// The named rules. `plan` counts rejections by these names.
enum class GemvRule : unsigned char {
  kValid,
  kVectors,
  kStep,
  kDepth,
  kWarps,
  kRows,
  kRegisters,
  kSplits,
  kCtasPerSm,
  kSharedMemory,
  kTypes,
  kLayout,
  kGate,
  kBatch,
  kExtents,
};

HGEMM_HOST_DEVICE constexpr RuleText rule_text(GemvRule rule) {
  using Rule = GemvRule;
  // Local, because NVRTC would put a table at namespace scope into every cubin.
  struct Entry {
    Rule rule;
    const char *name, *reason;
  };
  constexpr Entry kTexts[] = {
      {Rule::kValid, "valid", "the kernel can be built and launched"},
      {Rule::kVectors, "vectors", "1, 2, 4, 8 or 16 vectors (a warp's sums are one for each lane)"},
      {Rule::kStep, "step",
       "a step is 256, 512, 1024 or 2048 elements: 1 to 8 units of 16 bytes a lane"},
      {Rule::kDepth, "depth", "1 or 2 steps on their way"},
      {Rule::kWarps, "warps", "4, 8 or 12 warps"},
      {Rule::kRows, "rows",
       "rows must divide the warps or be divided by them, and a warp's rows times vectors be at "
       "most 32"},
      {Rule::kRegisters, "registers",
       "what a thread has on its way, its sums and the elements that it multiplies must fit its "
       "registers (measured with ptxas 13.0)"},
      {Rule::kSplits, "splits", "scheduler csplit cuts K into 2..8 parts (a portable cluster)"},
      {Rule::kCtasPerSm, "ctas_per_sm", "1 or 2 CTAs per SM"},
      {Rule::kSharedMemory, "shared_memory", "the vectors and the sums must fit one CTA's limit"},
      {Rule::kTypes, kTypesRule.name,
       "a gemv kernel multiplies bf16 or fp16 and stores the operands' type or fp32: 8-bit "
       "operands are for tiled and swap_ab kernels"},
      {Rule::kLayout, "layout",
       "a gemv kernel reads rows along K: layout TN only, in which A and B are contiguous in K"},
      {Rule::kGate, "gate",
       "with a gate a warp has rows in pairs, a gate and its up; B is the large operand, and its "
       "leading dimension a multiple of 8; and there is no C, bias, alpha or beta"},
      {Rule::kBatch, kBatchRule.name, kBatchRule.reason},
      {Rule::kExtents, "extents",
       "a kernel that is made for one problem needs an M, an N and a K of 1 to 2^30, without "
       "padding, and no more than `vectors` rows of A or of B"},
  };
  for (const Entry& entry : kTexts) {
    if (entry.rule == rule) return {entry.name, entry.reason};
  }
  return {"?", "?"};
}

/// Why a kernel cannot compute a problem of its types, or nullptr.
HGEMM_HOST_DEVICE constexpr const char* why_unsupported(const GemvKernel& k,
                                                        const ProblemExtents& p) {
  if (k.fixed) {
    if (const char* reason = why_not_made_for(k.gemm, p)) return reason;
  }
  if (const char* reason = why_unsupported(p)) return reason;
  if (p.a_major != Major::kK || p.b_major != Major::kK) return rule_text(GemvRule::kLayout).reason;
  if (const char* reason = why_not_gated(k.gemm, p)) return reason;
  if (const char* reason = why_not_batched(k.gemm, p)) return reason;
  if (p.gated && (p.m > k.vectors || p.ldb % kVectorUnit != 0)) {
    return rule_text(GemvRule::kGate).reason;
  }
  return p.m <= k.vectors || p.n <= k.vectors
             ? nullptr
             : "a gemv kernel computes at most as many rows of A or of B as it has vectors";
}

/// The first rule that the kernel breaks, or kValid. Every kernel that is valid must compile
/// without a spill; tests check it.
HGEMM_HOST_DEVICE constexpr GemvRule why_invalid(const GemvKernel& k,
                                                 const DeviceLimits& limits = {}) {
  using Rule = GemvRule;
  if (!types_are_supported(k.gemm) || is_8_bit(k.gemm.input)) return Rule::kTypes;
  if (k.gemm.batched) return Rule::kBatch;
  if (k.gemm.a_major != Major::kK || k.gemm.b_major != Major::kK) return Rule::kLayout;
  if (k.vectors < 1 || k.vectors > kMaxVectors || (k.vectors & (k.vectors - 1)) != 0) {
    return Rule::kVectors;
  }
  const int units = k.step / kVectorStep;
  if (k.step % kVectorStep != 0 || units < 1 || units > 8 || (units & (units - 1)) != 0) {
    return Rule::kStep;
  }
  if (k.depth != 1 && k.depth != 2) return Rule::kDepth;
  if (k.warps != 4 && k.warps != 8 && k.warps != 12) return Rule::kWarps;
  if (k.rows < 1 || k.rows * row_sharers(k) != warp_rows(k) * k.warps || warp_sums(k) > 32) {
    return Rule::kRows;
  }
  if (is_gated(k.gemm) && (why_no_epilogue(k.gemm) || warp_rows(k) % 2 != 0)) return Rule::kGate;
  if (k.splits < 1 || k.splits > kMaxClusterSplits) return Rule::kSplits;
  if (k.ctas_per_sm < 1 || k.ctas_per_sm > 2) return Rule::kCtasPerSm;
  if (registers_needed(k) > entry_registers(k, limits)) return Rule::kRegisters;
  if (smem_layout(k).total_bytes > smem_limit(k.ctas_per_sm, limits)) return Rule::kSharedMemory;
  if (k.gemm.m != 0 && why_unsupported(k, fixed_extents(k.gemm))) return Rule::kExtents;
  return Rule::kValid;
}

}  // namespace hgemm
