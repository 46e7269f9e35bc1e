// The work of a CTA: its pieces of work, and its share of the tiles that its cluster fetches.
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"
#include "tiled/pipeline.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm {

/// The pieces of work of this CTA's cluster. `part`: the CTA's rank in a tile that the cluster has
/// cut.
template <TiledKernel kKernel>
__device__ __forceinline__ WorkList work_list(const KernelParams& params, TileGrid grid, int part) {
  return WorkList(kKernel, static_cast<int>(blockIdx.x) / cluster_size(kKernel),
                  static_cast<int>(gridDim.x) / cluster_size(kKernel), grid.tiles(),
                  ceil_div(extent_k<kKernel>(params), kKernel.bk), part);
}

/// The part of the operand tiles that this CTA fetches, by its rank among the CTAs that share them.
template <TiledKernel kKernel>
struct Slices {
  int rank_m, rank_n;

  __device__ __forceinline__ explicit Slices(u32 rank)
      : rank_m(static_cast<int>(rank) % kKernel.cluster_m),
        rank_n(static_cast<int>(rank) / kKernel.cluster_m) {}

  __device__ __forceinline__ TileOrigin origin(TileCoord tile) const {
    return {(tile.m * kKernel.cluster_m + rank_m) * kKernel.bm,
            (tile.n * kKernel.cluster_n + rank_n) * kKernel.bn};
  }
  // With at most two CTAs, the second slice is the one that ends with the tile.
  __device__ __forceinline__ int a_row() const {
    return rank_n * (kKernel.bm - a_slice_rows(kKernel));
  }
  __device__ __forceinline__ int b_row() const {
    return rank_m * (kKernel.bn - b_slice_rows(kKernel));
  }
};

}  // namespace hgemm
