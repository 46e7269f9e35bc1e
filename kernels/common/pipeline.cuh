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

  /// For a consumer warp, after its last read of the stage: tells every producer that writes to the
  /// stage. Each warp arrives by itself, because wgmma.wait_group of one warp does not cover the
  /// other three. `sender`: for lanes below kSenders, the rank in the cluster of one of the CTAs
  /// with these producers.
  __device__ __forceinline__ void release(int stage, int lane, u32 sender) const {
    if constexpr (kSenders == 1) {
      if (lane == 0) ptx::mbarrier_arrive(empty(stage));
    } else {
      if (lane < kSenders) ptx::mbarrier_arrive_cluster(empty(stage), sender);
    }
  }
};

/// Fetches this CTA's share of one operand tile into a stage: `slabs` of 64 elements of K. Each has
/// `tile_rows` rows in shared memory, of which the CTA fills rows [slice_row, slice_row +
/// slice_rows).
template <int kTileRows, int kSliceRows, int kBk, CacheHint kHint>
__device__ __forceinline__ void load_slice(const TensorMap& map, u32 stage, u32 full, int k,
                                           int tile_row, int slice_row, unsigned short mask) {
  constexpr int kBoxCols = kBk < kSlabK ? kBk : kSlabK;
  constexpr int kBoxRows = box_rows(kSliceRows);
  constexpr int kRowBytes = kBoxCols * kInputBytes;
#pragma unroll
  for (int slab = 0; slab < kBk / kBoxCols; ++slab) {
#pragma unroll
    for (int box = 0; box < kSliceRows; box += kBoxRows) {
      const int row = slice_row + box;
      const u32 destination =
          stage + static_cast<u32>(slab * kTileRows * kRowBytes + row * kRowBytes);
      if constexpr (kSliceRows == kTileRows) {
        ptx::tma_load<kHint>(destination, map, full, k + slab * kBoxCols, tile_row + row);
      } else {
        ptx::tma_load_multicast<kHint>(destination, map, full, k + slab * kBoxCols, tile_row + row,
                                       mask);
      }
    }
  }
}

/// The same for an MN-major operand: this CTA's share of each chunk of a tile that begins with
/// element `mn` of M or N: elements [slice_k, slice_k + kSliceK) of kBk of K. The map's columns are
/// M or N, its rows K.
template <int kExtent, int kSliceK, int kBk, CacheHint kHint>
__device__ __forceinline__ void load_chunks(const TensorMap& map, u32 stage, u32 full, int k,
                                            int mn, int slice_k, unsigned short mask) {
#pragma unroll
  for (int chunk = 0; chunk < chunks_of(kExtent); ++chunk) {
    const u32 destination = stage + static_cast<u32>(chunk_offset(chunk, slice_k, kBk));
    if constexpr (kSliceK == kBk) {
      ptx::tma_load<kHint>(destination, map, full, mn + chunk * kChunkMn, k + slice_k);
    } else {
      ptx::tma_load_multicast<kHint>(destination, map, full, mn + chunk * kChunkMn, k + slice_k,
                                     mask);
    }
  }
}

}  // namespace hgemm
