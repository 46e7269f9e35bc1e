// How sums of 8-bit products are promoted: what the tensor cores have added up is added to a
// consumer's own sums in fp32 registers (tiled/promotion.cuh says why).
#pragma once

#include "common/block_scales.cuh"

namespace hgemm {

/// Makes the tensor cores' sums readable: the compiler does not know that wgmma.wait_group does.
template <int kSums>
__device__ __forceinline__ void settle_sums(float* sums) {
#pragma unroll
  for (int i = 0; i < kSums; ++i) asm volatile("" : "+f"(sums[i]));
}

/// Promotes kGroups groups of 8 columns of a 64-row block: adds the tensor cores' sums, times their
/// scales, to a thread's own. `first_group`: the number of the first one within the block.
template <int kGroups, class Scales>
__device__ __forceinline__ void add_promoted(float* own, const float* sums, Scales& scales,
                                             int block, int first_group) {
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
    float by[4];
    scales.factors(by, block, first_group + group);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& sum = own[group * 4 + i];
      sum = __fmaf_rn(sums[group * 4 + i], by[i], sum);
      asm volatile("" : "+f"(sum));  // added before the next wgmma writes to `sums`
    }
  }
}

/// The tensor cores' sums of a stage, and what they are multiplied by.
template <class Sums, class Scales>
struct PromotedStage {
  Sums sums;
  Scales scales;
  int stage;
};

/// The main loop over the k blocks [first, end), each of which is promoted.
///
/// `issue(k_block, i)` issues the wgmmas of the next stage, whose sums are the i-th ones, as one
/// group. `add(i, has_next)` adds these sums to the consumer's own; has_next: another stage is
/// issued after those that were. kDepth 0: one stage after the other, kGroup of them in straight
/// code, so that the addresses of one are computed between the additions of the one before. 1:
/// while the sums of one are added, those of the next one are multiplied, but for the last one of
/// each kGroup stages: ptxas 13.0 follows groups in flight through straight code only. If one is in
/// flight when the loop begins anew, it waits after each wgmma (C7514).
template <int kDepth, int kGroup, class Issue, class Add>
__device__ __forceinline__ void promote_each_stage(int first, int end, const Issue& issue,
                                                   const Add& add) {
  int k_block = first;
  if constexpr (kGroup > 1) {
#pragma unroll 1
    for (; k_block + kGroup <= end; k_block += kGroup) {
#pragma unroll
      for (int i = 0; i < kGroup; ++i) {
        const bool is_last = i + 1 == kGroup;
        const bool has_next = !is_last || k_block + kGroup < end;
        issue(k_block + i, i % (kDepth + 1));
        if (kDepth > 0 && i > 0) {
          ptx::wgmma_wait_group<1>();
          add((i - 1) % 2, has_next);
        }
        if (kDepth == 0 || is_last) {
          ptx::wgmma_wait_group<0>();
          add(i % (kDepth + 1), has_next);
        }
      }
    }
  }
#pragma unroll 1
  for (; k_block < end; ++k_block) {
    issue(k_block, 0);
    ptx::wgmma_wait_group<0>();
    add(0, k_block + 1 < end);
  }
}

}  // namespace hgemm
