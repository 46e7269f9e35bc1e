// The work of a CTA: its pieces of work, and its share of the tiles that its cluster fetches.
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"
#include "tiled/pipeline.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm {

/// The number of this CTA's cluster, which decides its work.
template <TiledKernel kKernel>
__device__ __forceinline__ int cluster_number(const KernelParams& params) {
  const int number = static_cast<int>(blockIdx.x) / cluster_size(kKernel);
  if constexpr (kKernel.gpc) {
    if (number < kMostNumbered) return static_cast<const NumberedParams&>(params).numbers[number];
  }
  return number;
}

/// The tiles of all products, each of which has those of the grid.
template <TiledKernel kKernel>
__device__ __forceinline__ int all_tiles(const KernelParams& params, TileGrid grid) {
  if constexpr (kKernel.gemm.batched) {
    return grid.tiles() * static_cast<const BatchedParams&>(params).products;
  }
  return grid.tiles();
}
/// The number of the product to which the tile at a position of the order belongs: they follow one
/// another.
template <TiledKernel kKernel>
__device__ __forceinline__ int product_number(int position, TileGrid grid) {
  return kKernel.gemm.batched ? position / grid.tiles() : 0;
}
/// An address from an array of the launch. (Not __ldg(): with PDL the kernel before may write it.)
__device__ __forceinline__ u64 address_in(const void* array, int number) {
  return static_cast<const u64*>(array)[number];
}
/// The product with a number.
template <TiledKernel kKernel>
__device__ __forceinline__ Product<kKernel> product_of(const KernelParams& params, int number) {
  if constexpr (kKernel.gemm.by_pointers) {
    return address_in(params.d_pointer, number);
  } else if constexpr (kKernel.gemm.batched) {
    return number;
  } else {
    return {};
  }
}
/// The tile at that position in its product's grid.
template <TiledKernel kKernel>
__device__ __forceinline__ TileCoord tile_at(int position, TileGrid grid) {
  if constexpr (kKernel.gemm.batched) position %= grid.tiles();
  return tile_at(kKernel.order, kKernel.group, position, grid);
}

/// The pieces of work of this CTA's cluster. `part`: the CTA's rank in a tile that the cluster has
/// cut.
template <TiledKernel kKernel>
__device__ __forceinline__ WorkList work_list(const KernelParams& params, TileGrid grid, int part) {
  return WorkList(
      kKernel, cluster_number<kKernel>(params), static_cast<int>(gridDim.x) / cluster_size(kKernel),
      all_tiles<kKernel>(params, grid), ceil_div(extent_k<kKernel>(params), kKernel.bk), part);
}

/// The place of a CTA in its cluster, and what follows from it: its tile, the slices of the operand
/// tiles that it fetches, and the CTAs with which it shares them. Ranks in a cluster count along M
/// first, then along N, then the parts of a tile's K.
template <TiledKernel kKernel>
struct Place {
  static constexpr int kAlongM = kKernel.cluster_m;
  static constexpr int kAlongN = kKernel.cluster_n;
  static constexpr bool kIsSquare = kAlongM > 1 && kAlongN > 1;

  int m, n;  ///< among the CTAs that share fetched data
  int part;  ///< among those that share a tile
  u32 rank;  ///< number among the CTAs that share fetched data

  /// The compiler does not know how large a rank may be, so nothing is divided without need.
  __device__ __forceinline__ explicit Place(u32 cluster_rank)
      : part(!adds_in_cluster(kKernel) ? 0
             : multicast_size(kKernel) == 1
                 ? static_cast<int>(cluster_rank)
                 : static_cast<int>(cluster_rank) / multicast_size(kKernel)),
        rank(!adds_in_cluster(kKernel)      ? cluster_rank
             : multicast_size(kKernel) == 1 ? 0
                                            : cluster_rank % multicast_size(kKernel)) {
    m = static_cast<int>(rank) % kAlongM;
    n = static_cast<int>(rank) / kAlongM;
  }

  /// The rank in the cluster of a CTA that shares fetched data.
  __device__ __forceinline__ u32 rank_of(int along_m, int along_n) const {
    return static_cast<u32>((part * kAlongN + along_n) * kAlongM + along_m);
  }
  /// The rank in the cluster of the CTA that has another part of this tile.
  __device__ __forceinline__ u32 rank_of_part(int other) const {
    return static_cast<u32>((other * kAlongN + n) * kAlongM + m);
  }
  // ---- The CTAs whose copies reach this one: first those along M, then the others along N ----

  /// The rank of CTA number `index` of these, which is below senders(kKernel).
  __device__ __forceinline__ u32 sender(int index) const {
    if constexpr (!kIsSquare) {
      return rank_of(kAlongM > 1 ? index : 0, kAlongM > 1 ? 0 : index);
    } else {
      const int other = index - kAlongM;
      return index < kAlongM ? rank_of(index, n) : rank_of(m, other < n ? other : other + 1);
    }
  }
  /// This CTA's own number among them.
  __device__ __forceinline__ int own_sender() const {
    return kIsSquare ? m : static_cast<int>(rank);
  }

  // ---- Its tile and slices ----

  __device__ __forceinline__ TileOrigin<kKernel> origin(TileCoord tile,
                                                        Product<kKernel> product) const {
    return position_of((tile.m * kAlongM + m) * kKernel.bm, (tile.n * kAlongN + n) * kKernel.bn,
                       product);
  }
  /// Where the slice of A (B) that this CTA fetches begins in the tile: a row, or an element of K
  /// if the operand is MN-major. A slice that would reach beyond the tile begins early enough to
  /// end with it.
  __device__ __forceinline__ int a_begin() const {
    return slice_begin<kAlongN, kKernel.gemm.a_major>(n, kKernel.bm, a_slice(kKernel));
  }
  __device__ __forceinline__ int b_begin() const {
    return slice_begin<kAlongM, kKernel.gemm.b_major>(m, kKernel.bn, b_slice(kKernel));
  }
  /// The CTAs that its slices of A (B) go to, a bit for each rank.
  __device__ __forceinline__ unsigned short a_mask() const {
    unsigned along_n = 0;
#pragma unroll
    for (int i = 0; i < kAlongN; ++i) along_n |= 1u << (i * kAlongM);
    return static_cast<unsigned short>(along_n << (m + part * multicast_size(kKernel)));
  }
  __device__ __forceinline__ unsigned short b_mask() const {
    constexpr unsigned kAll = (1u << kAlongM) - 1;
    return static_cast<unsigned short>(kAll << ((part * kAlongN + n) * kAlongM));
  }

 private:
  template <int kCtas, Major kMajor>
  static __device__ __forceinline__ int slice_begin(int index, int rows, int slice) {
    if constexpr (kMajor == Major::kMn) {
      return index * slice;
    } else if constexpr (kCtas <= 2) {
      return index * (rows - slice);
    } else {
      return min(index * slice, rows - slice);
    }
  }
};

}  // namespace hgemm
