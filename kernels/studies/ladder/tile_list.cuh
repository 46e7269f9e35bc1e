// The tiles of a CTA along the Hilbert curve, worked out by all of its threads at the start.
#pragma once

#include "common/ptx.cuh"
#include "studies/ladder/hopper_steps.h"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

/// kMaxTilesPerCta entries of shared memory.
class TileList {
 public:
  __device__ __forceinline__ TileList(unsigned char* memory, TileGrid grid, int first, int step)
      : tiles_(reinterpret_cast<u32*>(memory)), step_(step), first_(first) {
    for (int i = static_cast<int>(threadIdx.x); first + i * step < grid.tiles();
         i += static_cast<int>(blockDim.x)) {
      if (i >= kMaxTilesPerCta) asm volatile("trap;");  // the host launches enough CTAs
      const TileCoord tile = hilbert_tile(first + i * step, grid);
      tiles_[i] = static_cast<u32>(tile.m) << 16 | static_cast<u32>(tile.n);
    }
  }
  /// After a barrier of the CTA.
  __device__ __forceinline__ TileCoord operator[](int position) const {
    const u32 packed = tiles_[(position - first_) / step_];
    return {static_cast<int>(packed >> 16), static_cast<int>(packed & 0xffff)};
  }

 private:
  u32* tiles_;
  int step_, first_;
};

}  // namespace hgemm::ladder
