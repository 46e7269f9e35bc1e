// The tiles of a CTA along the Hilbert curve; all its threads compute the list at the start.
#pragma once

#include "common/ptx.cuh"
#include "studies/ladder/hopper_steps.h"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

/// Positions first, first + step, ... < end of the order: kMaxTilesPerCta entries of shared memory.
class TileList {
 public:
  const TileGrid grid;
  const int first, step;

  __device__ __forceinline__ TileList(unsigned char* memory, TileGrid all, int first_position,
                                      int step_between)
      : grid(all),
        first(first_position),
        step(step_between),
        tiles_(reinterpret_cast<u32*>(memory)) {
    for (int i = static_cast<int>(threadIdx.x); first + i * step < end();
         i += static_cast<int>(blockDim.x)) {
      if (i >= kMaxTilesPerCta) asm volatile("trap;");  // the host launches enough CTAs
      const TileCoord tile = hilbert_tile(first + i * step, grid);
      tiles_[i] = static_cast<u32>(tile.m) << 16 | static_cast<u32>(tile.n);
    }
  }
  __device__ __forceinline__ int end() const { return grid.tiles(); }
  /// After a barrier of the CTA.
  __device__ __forceinline__ TileCoord operator[](int position) const {
    const u32 packed = tiles_[(position - first) / step];
    return {static_cast<int>(packed >> 16), static_cast<int>(packed & 0xffff)};
  }

 private:
  u32* tiles_;
};

}  // namespace hgemm::ladder
