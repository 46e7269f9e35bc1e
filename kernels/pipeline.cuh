// The ring of shared-memory stages between the producer and the consumers.
//
// Each stage has a full barrier (the copy engine's bytes have arrived), an empty barrier (all
// consumers that read it have released it) and the coordinates of the output tile it belongs to,
// written by the producer: consumers learn what they compute from the data itself.
#pragma once

#include "ptx.cuh"
#include "schedule.h"

namespace hgemm {

/// Stage and phase parity of one role's walk around the ring.
template <int kStages>
struct PipelineState {
  int stage = 0;
  u32 parity = 0;

  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <KernelConfig kConfig>
struct Pipeline {
  static constexpr SmemLayout kLayout = smem_layout(kConfig);
  static constexpr int kClusterSize = cluster_size(kConfig);
  using State = PipelineState<kConfig.stages>;

  unsigned char* smem;
  u32 smem_base;  ///< the same in the shared window

  __device__ __forceinline__ explicit Pipeline(unsigned char* shared)
      : smem(shared), smem_base(ptx::smem_address(shared)) {}

  __device__ __forceinline__ u32 a_stage(int stage) const {
    return smem_base + static_cast<u32>(stage * a_stage_bytes(kConfig));
  }
  __device__ __forceinline__ u32 b_stage(int stage) const {
    return smem_base + static_cast<u32>(kLayout.b + stage * b_stage_bytes(kConfig));
  }
  __device__ __forceinline__ u32 full(int stage) const {
    return smem_base + static_cast<u32>(kLayout.full + stage * 8);
  }
  __device__ __forceinline__ u32 empty(int stage) const {
    return smem_base + static_cast<u32>(kLayout.empty + stage * 8);
  }
  __device__ __forceinline__ TileCoord& tile(int stage) const {
    return reinterpret_cast<TileCoord*>(smem + kLayout.tile)[stage];
  }

  /// One thread, once, before any other use; a CTA or cluster barrier must follow.
  __device__ __forceinline__ void init() const {
    for (int stage = 0; stage < kConfig.stages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      // Every consumer warp of every CTA that our copies reach releases the stage to us.
      ptx::mbarrier_init(empty(stage), kConfig.consumers * 4 * kClusterSize);
    }
    ptx::fence_mbarrier_init();
  }

  /// Consumer warp, after its last read of the stage: tells every producer that writes to it. Each
  /// warp speaks for itself, since wgmma.wait_group of one warp says nothing of the other three.
  __device__ __forceinline__ void release(int stage, int lane) const {
    if constexpr (kClusterSize == 1) {
      if (lane == 0) ptx::mbarrier_arrive(empty(stage));
    } else {
      if (lane < kClusterSize) {
        ptx::mbarrier_arrive_cluster(empty(stage), static_cast<u32>(lane));
      }
    }
  }
};

}  // namespace hgemm
