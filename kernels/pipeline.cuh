// The ring of shared-memory stages between the producer and the consumers.
//
// Each stage has a full barrier (the copy engine's bytes have arrived), an empty barrier (all
// consumers that read it have released it) and, but for the kernel of few rows, the origin of the
// output tile it belongs to, written by the producer: consumers learn what they compute from the
// data itself.
#pragma once

#include "ptx.cuh"
#include "schedule.h"

namespace hgemm {

/// Shared-memory matrix descriptor of a K-major operand at `address` (PTX ISA, "Matrix Descriptor
/// Format"): start address / 16; the leading offset is not used with a swizzle; stride offset =
/// 8 rows; layout 1 = 128-byte swizzle, 2 = 64-byte.
template <int kBk>
__device__ __forceinline__ u64 smem_descriptor(u32 address) {
  constexpr u64 kRowBytes = (kBk < kSlabK ? kBk : kSlabK) * kElementBytes;
  constexpr u64 kStride = 8 * kRowBytes / 16;
  constexpr u64 kSwizzle = kRowBytes == 128 ? 1 : 2;
  return static_cast<u64>(address >> 4) | (1ull << 16) | (kStride << 32) | (kSwizzle << 62);
}

/// Where one role stands on its walk around the ring.
template <int kStages>
struct PipelineState {
  int stage = 0;
  int round = 0;

  /// Of the barriers' phase in this round.
  __device__ __forceinline__ u32 parity() const { return static_cast<u32>(round) & 1; }
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      ++round;
    }
  }
  /// Past the stages of a tile that another consumer computes.
  __device__ __forceinline__ void skip(int stages) {
    const int ahead = stage + stages;
    stage = ahead % kStages;
    round += ahead / kStages;
  }
};

/// A tile's first row and column of D. Columns are multiples of 8: the lowest bit of n is free
/// (Walk::kDynamic: in the tile's last stage, whether it is the CTA's last tile).
struct TileOrigin {
  int m, n;
};

template <KernelConfig kConfig>
struct Pipeline {
  static constexpr SmemLayout kLayout = smem_layout(kConfig);
  static constexpr int kSharers = multicast_size(kConfig);
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
  /// Where a consumer warp stages its output.
  __device__ __forceinline__ u32 staging(int consumer_warp) const {
    return smem_base +
           static_cast<u32>(kLayout.staging + consumer_warp * kStoreBuffers * store_buffer_bytes());
  }
  __device__ __forceinline__ TileOrigin& origin(int stage) const {
    static_assert(!is_swapped(kConfig), "the swapped kernel has none");
    return reinterpret_cast<TileOrigin*>(smem + kLayout.origin)[stage];
  }

  /// On which the sums of the cluster's other CTAs arrive for a consumer.
  __device__ __forceinline__ u32 sums(int consumer) const {
    static_assert(adds_in_cluster(kConfig));
    return smem_base + static_cast<u32>(kLayout.sums + consumer * 8);
  }

  /// Where the cluster's first CTA leaves the next tile for this one, and the barriers around it.
  __device__ __forceinline__ u32 next() const { return smem_base + static_cast<u32>(kLayout.next); }
  __device__ __forceinline__ u32 next_full() const { return next() + 8; }
  __device__ __forceinline__ u32 next_empty() const { return next() + 16; }

  /// Consumer warp: read by the lane that will release the stage to this CTA's producer, so that
  /// its own arrival orders the read before the next write (and racecheck sees that it does).
  __device__ __forceinline__ TileOrigin read_origin(int stage, u32 rank, int lane) const {
    const int reader = kSharers == 1 ? 0 : static_cast<int>(rank);
    TileOrigin at{};
    if (lane == reader) at = origin(stage);
    return {__shfl_sync(~0u, at.m, reader), __shfl_sync(~0u, at.n, reader)};
  }

  /// One thread, once, before any other use; a CTA or cluster barrier must follow.
  __device__ __forceinline__ void init() const {
    for (int stage = 0; stage < kConfig.stages; ++stage) {
      ptx::mbarrier_init(full(stage), 1);
      // Every warp that reads the stage, in every CTA that our copies reach, releases it to us.
      ptx::mbarrier_init(empty(stage), readers(kConfig) * 4 * kSharers);
    }
    if constexpr (is_dynamic(kConfig) && kSharers > 1) {
      ptx::mbarrier_init(next_full(), 1);
      ptx::mbarrier_init(next_empty(), 1);
    }
    ptx::fence_mbarrier_init();
  }

  /// Consumer warp, after its last read of the stage: tells every producer that writes to it. Each
  /// warp speaks for itself, since wgmma.wait_group of one warp says nothing of the other three.
  __device__ __forceinline__ void release(int stage, int lane) const {
    if constexpr (kSharers == 1) {
      if (lane == 0) ptx::mbarrier_arrive(empty(stage));
    } else {
      if (lane < kSharers) {
        ptx::mbarrier_arrive_cluster(empty(stage), static_cast<u32>(lane));
      }
    }
  }

  /// The producer's lane that copied, past its last copy: waits until every stage that it filled
  /// was released.
  __device__ __forceinline__ void await_readers(State state) const {
#pragma unroll 1
    for (int i = 0; i < kConfig.stages; ++i) {
      if (state.round > 0) ptx::mbarrier_wait(empty(state.stage), state.parity() ^ 1);
      state.advance();
    }
  }
};

/// Fetches this CTA's share of one operand tile into a stage: `slabs` of 64 elements of K, each
/// `tile_rows` rows tall in shared memory, of which the CTA fills rows [slice_row, + slice_rows).
template <int kTileRows, int kSliceRows, int kBk, CacheHint kHint>
__device__ __forceinline__ void load_slice(const TensorMap& map, u32 stage, u32 full, int k,
                                           int tile_row, int slice_row, unsigned short mask) {
  constexpr int kBoxCols = kBk < kSlabK ? kBk : kSlabK;
  constexpr int kBoxRows = box_rows(kSliceRows);
  constexpr int kRowBytes = kBoxCols * kElementBytes;
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

/// Ping-pong: consumers multiply in turn. The one whose turn ends has issued all wgmmas of its
/// tile, so those of the other follow without a gap, and its own tile is stored meanwhile.
///
/// Without turns both would multiply at once, each at half the speed, and both would store at once
/// with the tensor cores idle.
template <bool kTakesTurns>
struct Turn {
  int consumer;

  __device__ __forceinline__ explicit Turn(int this_consumer) : consumer(this_consumer) {
    if (kTakesTurns && consumer == 1) pass();  // the first turn is consumer 0's
  }
  __device__ __forceinline__ void await() const {
    if constexpr (kTakesTurns) {
      __syncwarp();  // lane 0 may still be storing the tile before
      ptx::named_barrier_sync<2 * kWarpgroupThreads>(1 + consumer);
    }
  }
  __device__ __forceinline__ void pass() const {
    if constexpr (kTakesTurns) ptx::named_barrier_arrive<2 * kWarpgroupThreads>(2 - consumer);
  }
};

}  // namespace hgemm
