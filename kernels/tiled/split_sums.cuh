// Tiles that are cut into equal parts along K (TileScheduler::kSplitK): every CTA leaves the sums
// of its part in the workspace, waits for the other parts of the tile, then adds up a share of the
// tile and stores it. So all CTAs add at once; if one added for all, it would read as many tiles as
// there are parts while the others idle.
//
// It works warp by warp, as workspace_sums.cuh does. A share is whole groups: a warp's 16 rows by 8
// columns of the tile as wgmma computes it, four values for each lane. Sums are added in the order
// of the parts, so they do not depend on which part is done first.
//
// Each warp's part of a tile has two counters in the workspace: of the parts that were left, and of
// those whose CTAs have seen that all were left. The last of these resets both for the next launch.
#pragma once

#include "common/ptx.cuh"
#include "tiled/store.cuh"
#include "tiled/workspace_sums.cuh"

namespace hgemm {

/// One warp's part of a tile, in the workspace.
template <TiledKernel kKernel>
struct SplitSums {
  static constexpr int kGroups = accumulators_per_thread(kKernel) / 4;  ///< of a warp
  static constexpr int kGroupsPerBlock = consumer_cols(kKernel) / 8;
  static constexpr int kWarps = readers(kKernel) * 4;  ///< that compute a tile
  static constexpr int kGroupFloats = 4 * 32;
  /// Loads that are under way at once, as groups by parts: a warp may have one group of many parts
  /// to add, or many groups of two parts.
  static constexpr int kAtOnce = entry_registers(kKernel) < 128 ? 8 : 16;
  static constexpr int kPartsAtOnce = kKernel.splits < kAtOnce ? kKernel.splits : kAtOnce;
  static constexpr int kGroupsAtOnce = kAtOnce / kPartsAtOnce;

  float* first_part;  ///< this lane's first four sums of the tile's part 0
  u64 part_floats;    ///< from there to the same sums of the next part
  u32* counters;
  int warp;  ///< among those that compute the tile
  int part, parts;

  __device__ __forceinline__ SplitSums(const KernelParams& params, const Work& work, u32 rank,
                                       int this_warp, int lane)
      : part_floats(static_cast<u64>(cluster_size(kKernel) * kWarps * kGroups * kGroupFloats)),
        warp(this_warp),
        part(work.slot - work.tile * work.parts),
        parts(work.parts) {
    const int warp_of_cluster = static_cast<int>(rank) * kWarps + warp;
    const u64 tile = static_cast<u64>(work.tile);
    first_part = params.partials + tile * static_cast<u64>(parts) * part_floats +
                 static_cast<u64>(warp_of_cluster * kGroups * kGroupFloats + lane * 4);
    counters = params.flags + (tile * static_cast<u64>(cluster_size(kKernel) * kWarps) +
                               static_cast<u64>(warp_of_cluster)) *
                                  2;
  }

  /// Returns when all parts were left.
  __device__ __forceinline__ void leave(const Accumulators<kKernel>& accumulators, int lane) const {
    write_sums<kKernel>(accumulators, first_part + static_cast<u64>(part) * part_floats);
    __syncwarp();
    if (lane == 0) {
      ptx::add_release(counters, 1);
      ptx::wait_until_is(counters, static_cast<u32>(parts));
      if (ptx::atomic_add(counters + 1, 1) == static_cast<u32>(parts) - 1) {
        counters[0] = 0;
        counters[1] = 0;
      }
    }
    __syncwarp();
  }

  /// Adds up this CTA's share of the tile and stores it. `begin`: of the warp's part of the tile in
  /// D.
  __device__ __forceinline__ void add_and_store(const KernelParams& params,
                                                TileOrigin<kKernel> begin, int lane) const {
    // Groups of all warps in turns: number group * kWarps + warp belongs to the part
    // number * parts / (kGroups * kWarps).
    constexpr int kAll = kGroups * kWarps;
    const int first = ceil_div(part * kAll, parts);
    const int end = ceil_div((part + 1) * kAll, parts);
    const int end_group = ceil_div(max(end - warp, 0), kWarps);
#pragma unroll 1
    for (int group = ceil_div(max(first - warp, 0), kWarps); group < end_group;
         group += kGroupsAtOnce) {
      const int groups = min(kGroupsAtOnce, end_group - group);
      float sums[kGroupsAtOnce][4];
      add_groups(group, groups, sums);
#pragma unroll
      for (int i = 0; i < kGroupsAtOnce; ++i) {
        if (i >= groups) break;
        const int of_rows = (group + i) / kGroupsPerBlock * kMmaM;
        const int of_cols = (group + i) % kGroupsPerBlock * 8;
        if constexpr (has_epilogue(kKernel.gemm)) {
          finish_columns<kKernel, 1>(sums[i], params, begin, of_rows, of_cols, lane);
        }
        const TileOrigin<kKernel> at = in_tile<kKernel>(begin, of_rows, of_cols);
        if constexpr (kKernel.gemm.epilogue.aux) {
          store_group<kKernel, Output::kAux>(sums[i], params, at, lane);
          activate_stored<kKernel, 1>(sums[i], params);
        }
        store_group<kKernel>(sums[i], params, at, lane);
      }
    }
  }

 private:
  /// The sums of `groups` groups from `group` on, over all parts.
  __device__ __forceinline__ void add_groups(int group, int groups,
                                             float (&sums)[kGroupsAtOnce][4]) const {
#pragma unroll
    for (int i = 0; i < kGroupsAtOnce; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][j] = 0;
    }
    const float* from = first_part + group * kGroupFloats;
#pragma unroll 1
    for (int first = 0; first < parts; first += kPartsAtOnce) {
      float values[kGroupsAtOnce][kPartsAtOnce][4];
#pragma unroll
      for (int p = 0; p < kPartsAtOnce; ++p) {
#pragma unroll
        for (int i = 0; i < kGroupsAtOnce; ++i) {
          if (i < groups && first + p < parts) {
            ptx::load_v4(values[i][p], from + static_cast<u64>(p) * part_floats + i * kGroupFloats);
          }
        }
      }
#pragma unroll
      for (int p = 0; p < kPartsAtOnce; ++p) {
        if (first + p >= parts) break;
#pragma unroll
        for (int i = 0; i < kGroupsAtOnce; ++i) {
          if (i >= groups) break;
#pragma unroll
          for (int j = 0; j < 4; ++j) sums[i][j] += values[i][p][j];
        }
      }
      from += static_cast<u64>(kPartsAtOnce) * part_floats;
    }
  }
};

}  // namespace hgemm
