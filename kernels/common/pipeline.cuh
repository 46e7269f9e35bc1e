// The ring of shared-memory stages between the producer and the consumers.
//
// Each stage has a full barrier (the copy engine's bytes have arrived) and an empty barrier (all
// consumers that read it have released it).
#pragma once

#include "common/operand_tile.h"
#include "common/ptx.cuh"

namespace hgemm {

/// The position of one role in the ring.
template <int kStages>
struct PipelineState {
  int stage = 0;
  int round = 0;

  /// The parity of the barriers' phase in this round.
  __device__ __forceinline__ u32 parity() const { return static_cast<u32>(round) & 1; }
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      ++round;
    }
  }
  /// Skips the stages of a tile that another consumer computes.
  __device__ __forceinline__ void skip(int stages) {
    const int ahead = stage + stages;
    stage = ahead % kStages;
    round += ahead / kStages;
  }
};

template <auto kKernel>
struct Pipeline {
  static constexpr auto kLayout = smem_layout(kKernel);
  static constexpr int kSenders = senders(kKernel);
  using State = PipelineState<kKernel.stages>;

  unsigned char* smem;
  u32 smem_base;  ///< its address in the shared window

  __device__ __forceinline__ explicit Pipeline(unsigned char* shared)
      : smem(shared), smem_base(ptx::smem_address(shared)) {}

  __device__ __forceinline__ u32 a_stage(int stage) const {
    return smem_base + static_cast<u32>(stage * a_stage_bytes(kKernel));
  }
  __device__ __forceinline__ u32 b_stage(int stage) const {
    return smem_base + static_cast<u32>(kLayout.b + stage * b_stage_bytes(kKernel));
  }
  __device__ __forceinline__ u32 full(int stage) const {
    return smem_base + static_cast<u32>(kLayout.full + stage * 8);
  }
  __device__ __forceinline__ u32 empty(int stage) const {
    return smem_base + static_cast<u32>(kLayout.empty + stage * 8);
  }
  /// The barrier on which sums of the cluster's other CTAs arrive for a consumer.
  __device__ __forceinline__ u32 sums(int consumer) const {
    static_assert(adds_in_cluster(kKernel));
    return smem_base + static_cast<u32>(kLayout.sums + consumer * 8);
  }

  /// One thread calls it once, before any other use. ptx::fence_mbarrier_init() and a CTA or
  /// cluster barrier must follow.
  __device__ __forceinline__ void init_stages() const {
    for (int stage = 0; stage < kKernel.stages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      // Every warp that reads the stage, in every CTA that our copies reach, arrives to release it.
      // These are as many CTAs as those whose copies reach us.
      ptx::mbarrier_init(empty(stage), readers(kKernel) * 4 * kSenders);
    }
  }

  /// For a consumer warp, after its last wgmma that reads the stage: tells every producer that
  /// writes to the stage. Each warp arrives by itself, because wgmma.wait_group of one warp does
  /// not cover the other three. `sender`: for lanes below kSenders, the rank in the cluster of one
  /// of the CTAs with these producers.
  __device__ __forceinline__ void release(int stage, int lane, u32 sender) const {
    if constexpr (kSenders == 1) {
      if (lane == 0) ptx::mbarrier_arrive(empty(stage));
    } else {
      if (lane < kSenders) ptx::mbarrier_arrive_cluster(empty(stage), sender);
    }
  }

  /// As release(), of a stage that the warp's lanes read by loads. `read`: all words that a lane
  /// has read, XORed.
  ///
  /// An arrival may overtake a load: a remote one without a release at cluster scope does
  /// (kernel-notes.md, "A read that a remote arrival overtook"), and ptxas 13.0 lets a local one,
  /// though it is a release, go ahead without waiting for loads ("Scales that the next stage
  /// overwrote"). A release at cluster scope also waits for stores of D, which cost 1 % of a layer.
  /// So the address at which a lane arrives is made to depend on its words: a warp issues in order,
  /// and a load of a warp is done when it is done for all lanes.
  __device__ __forceinline__ void release_read(int stage, int lane, u32 sender, u32 read) const {
    __syncwarp();  // the arrival of one lane stands for the reads of all
    const u32 barrier = empty(stage) + (read & ptx::unknown_zero());
    if constexpr (kSenders == 1) {
      ptx::mbarrier_arrive_if(lane == 0, barrier);
    } else {
      ptx::mbarrier_arrive_cluster_if(lane < kSenders, barrier, sender);
    }
  }
};

}  // namespace hgemm
