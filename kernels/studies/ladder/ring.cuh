// The ring of stages that the producer fills and the consumers read (steps 4 to 12): where the
// tiles and the barriers of each stage lie in shared memory.
#pragma once

#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

/// The tiles of all stages, then a `full` barrier for each stage, then an `empty` barrier for each.
/// A barrier is 8 bytes; a `Barrier` is made from its address.
template <int kLeftRows, int kRightRows, int kCount, class Barrier>
struct Ring {
  static constexpr u32 kStageBytes = tile_bytes(kLeftRows) + tile_bytes(kRightRows);
  static constexpr u32 kTileBytes = kCount * kStageBytes;
  static constexpr u32 kBytes = kTileBytes + 2 * kCount * 8;

  u32 tiles;
  u32 barriers;

  /// `between`: bytes between the tiles and the barriers, for another use.
  __device__ __forceinline__ explicit Ring(const void* smem, u32 between = 0)
      : tiles(aligned_smem(smem)), barriers(tiles + kTileBytes + between) {}

  __device__ __forceinline__ u32 left(int stage) const {
    return tiles + static_cast<u32>(stage) * kStageBytes;
  }
  __device__ __forceinline__ u32 right(int stage) const {
    return left(stage) + tile_bytes(kLeftRows);
  }
  __device__ __forceinline__ Barrier full(int stage) const {
    return Barrier{barriers + static_cast<u32>(stage) * 8};
  }
  __device__ __forceinline__ Barrier empty(int stage) const {
    return Barrier{barriers + static_cast<u32>(stage) * 8 + kCount * 8};
  }
};

}  // namespace hgemm::ladder
