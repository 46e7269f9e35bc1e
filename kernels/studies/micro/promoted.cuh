// wgmma of 8-bit operands whose sums are promoted: after every so many elements of K a warpgroup
// waits for its wgmmas and adds their sums to fp32 sums of its own, as a kernel with promoted sums
// does (tiled/promotion.cuh). One warpgroup leaves the tensor cores idle meanwhile; two take turns.
//
// Operands, ring and checks are those of wgmma.cuh. A round is one interval; without promotion it
// is once around the ring, as there.
#pragma once

#include "studies/micro/wgmma.cuh"

namespace hgemm::micro {

/// The wgmmas of `kEvery` elements of K, which their first one begins at zero, and the additions.
template <class Mma, int kEvery>
__device__ __forceinline__ void issue_promoted(ActorOf<Mma>& actor,
                                               float (&sums)[Mma::kAccumulators], int rounds) {
  constexpr int kStagesOfRound = promoted_per_round(kEvery) / kStepsPerStage;
  constexpr int kStages = wgmma_stages(Mma::kN, Mma::kAFromRegisters, Mma::kWarpgroups);
  int stage = 0;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    ptx::wgmma_fence();
#pragma unroll
    for (int i = 0; i < kStagesOfRound; ++i) {
#pragma unroll
      for (int k = 0; k < kStepsPerStage; ++k) actor.step(stage, k, i + k > 0 ? 1 : 0);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
#pragma unroll
    for (int i = 0; i < Mma::kAccumulators; ++i) {
      Mma::touch(actor.d[i]);
      sums[i] += actor.d[i];
    }
  }
}

/// Launched as time_wgmma(). kEvery: elements of K; 0: sums are not promoted.
template <class Mma, int kEvery>
__device__ __forceinline__ void time_promoted(const ComputeParams& params) {
  if constexpr (kEvery == 0) {
    time_wgmma<Mma, false>(params);
  } else {
    float sums[Mma::kAccumulators];
#pragma unroll
    for (int i = 0; i < Mma::kAccumulators; ++i) sums[i] = 0;
    time_actor<Mma>(
        params,
        [&](ActorOf<Mma>& actor, int rounds) { issue_promoted<Mma, kEvery>(actor, sums, rounds); },
        [&](ActorOf<Mma>&) {
          float sum = 0;
#pragma unroll
          for (int i = 0; i < Mma::kAccumulators; ++i) sum += sums[i];
          return sum;
        });
  }
}

}  // namespace hgemm::micro
