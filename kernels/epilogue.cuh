// Accumulators to D. All epilogues work warp by warp: a warp owns 16 rows of each 64-row block
// (PTX ISA, wgmma "D fragment": lane l holds columns 8j + 2 (l % 4) + {0, 1} of rows l / 4 and
// l / 4 + 8), so no warp waits for another one.
#pragma once

#include "params.h"
#include "probe.cuh"
#include "ptx.cuh"

namespace hgemm {

template <KernelConfig kConfig>
using Accumulators = float[mma_blocks(kConfig)][consumer_cols(kConfig) / 2];

/// Straight to memory, 4 bytes per store. No shared memory, so there is room for one more stage.
template <KernelConfig kConfig>
__device__ __forceinline__ void store_direct(const Accumulators<kConfig>& accumulators,
                                             const KernelParams& params, int warp_row, int column,
                                             int lane) {
  u32* const d = static_cast<u32*>(params.d_pointer);
  const u64 row_words = static_cast<u64>(leading_d<kConfig>(params)) / 2;
  const int lane_column = column + 2 * (lane % 4);
#pragma unroll
  for (int block = 0; block < mma_blocks(kConfig); ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + block * kMmaM + half * 8 + lane / 4;
      if (row >= extent_m<kConfig>(params)) continue;
      u32* const d_row = d + static_cast<u64>(row) * row_words;
#pragma unroll
      for (int group = 0; group < consumer_cols(kConfig) / 8; ++group) {
        // N is a multiple of 8 (why_unsupported): a group of 8 columns is inside or outside as a
        // whole.
        if (lane_column + group * 8 >= extent_n<kConfig>(params)) break;
        const float* const pair = &accumulators[block][group * 4 + half * 2];
        d_row[(lane_column + group * 8) / 2] = ptx::pack<kConfig.dtype>(pair[0], pair[1]);
      }
    }
  }
}

/// How a warp's part of a tile is cut into boxes of kStoreRows rows for the copy engine: kStoreCols
/// columns each, and a narrower one for what is left over.
template <KernelConfig kConfig>
struct StoreBoxes {
  static constexpr int kPerBlock = boxes_per_block(kConfig);
  static constexpr int kCount = store_boxes(kConfig);
  HGEMM_HOST_DEVICE static constexpr int block(int box) { return box / kPerBlock; }
  HGEMM_HOST_DEVICE static constexpr int column(int box) { return box % kPerBlock * kStoreCols; }
  HGEMM_HOST_DEVICE static constexpr int cols(int box) {
    const int left = consumer_cols(kConfig) - column(box);
    return left < kStoreCols ? left : kStoreCols;
  }
};

/// A thread's values of kCols columns (four for every eight) in the output type, two by two.
template <Dtype kDtype, int kCols>
__device__ __forceinline__ void pack_box(const float* d, u32* packed) {
#pragma unroll
  for (int i = 0; i < kCols / 4; ++i) packed[i] = ptx::pack<kDtype>(d[2 * i], d[2 * i + 1]);
}

/// One warp's box of kStoreRows x kCols: packed values to shared memory with stmatrix. Lane l
/// addresses row l % 16, 16-byte chunk l / 16 of each pair of groups of 8 columns. Whole boxes are
/// swizzled (chunk ^ row % 8) as their tensor map says, which keeps the eight rows of a matrix in
/// different banks; a tail box has plain rows.
template <int kCols>
__device__ __forceinline__ void stage_box(const u32* packed, u32 target, int lane) {
  constexpr int kGroups = kCols / 8;
  const int row = lane % 16;
  const u32 row_address = target + static_cast<u32>(row * kCols * kElementBytes);
#pragma unroll
  for (int group = 0; group < kGroups; group += 2) {
    const int chunk = group + lane / 16;
    const int placed = kCols == kStoreCols ? chunk ^ (row % 8) : chunk;
    const u32 address = row_address + static_cast<u32>(placed * 16);
    const u32* const r = packed + group * 2;
    if (group + 1 < kGroups) {
      ptx::stmatrix_x4(address, r[0], r[1], r[2], r[3]);
    } else {  // an odd last group: lanes 16..31 address nothing
      ptx::stmatrix_x2(address, r[0], r[1]);
    }
  }
}

/// Where one warp stages its boxes: kStoreBuffers buffers, used in turn. One fills while the copy
/// engine stores the other.
struct Staging {
  u32 base;
  int buffer = 0;  ///< the next to fill
};

/// One warp's box of rows x kCols, staged by stage_box, to D at (row, column), which may be any:
/// two elements a lane, side by side in memory as in the box, but where rows begin between two
/// words in memory each lane stores its first element with its left neighbour's second. Clipped at
/// D's edges.
template <KernelConfig kConfig, int kRows, int kCols>
__device__ __forceinline__ void store_rows_of_box(const KernelParams& params, u32 source, int row,
                                                  int column, int lane) {
  const int valid = min(kCols, extent_n<kConfig>(params) - column);  // of a row
  const int rows = min(kRows, extent_m<kConfig>(params) - row);
  const u64 leading = static_cast<u64>(leading_d<kConfig>(params));
  unsigned short* d = static_cast<unsigned short*>(params.d_pointer) +
                      static_cast<u64>(row) * leading + static_cast<u64>(column);
#pragma unroll 2
  for (int r = 0; r < rows; ++r, d += leading) {
    const int chunk = lane / 4;
    const int placed = kCols == kStoreCols ? chunk ^ (r % 8) : chunk;
    const u32 address =
        source + static_cast<u32>(r * kCols * kElementBytes + placed * 16 + lane % 4 * 4);
    const u32 word = lane < kCols / 2 ? ptx::load_shared(address) : 0;
    const u32 left = __shfl_up_sync(~0u, word, 1);
    const bool shifted = reinterpret_cast<u64>(d) % 4 != 0;
    const int first = shifted ? 2 * lane - 1 : 2 * lane;
    const u32 pair = shifted ? __byte_perm(left, word, 0x5432) : word;
    if (first >= 0 && first + 1 < valid) {
      *reinterpret_cast<u32*>(d + first) = pair;
    } else if (first >= 0 && first < valid) {
      d[first] = static_cast<unsigned short>(pair);
    } else if (first < 0 && valid > 0) {
      d[0] = static_cast<unsigned short>(word);
    }
    // The last element of a full row, where the lane that would begin with it has none of its own.
    if (shifted && kCols == 64 && lane == 31 && valid == kCols) {
      d[kCols - 1] = static_cast<unsigned short>(word >> 16);
    }
  }
}

/// Stores box kBox of a warp's part that begins at (row, column) of D.
template <KernelConfig kConfig, int kBox, class... Probe>
__device__ __forceinline__ void store_box(const u32* packed, const KernelParams& params,
                                          Staging& staging, int row, int column, int lane,
                                          Probe&... probe) {
  using Boxes = StoreBoxes<kConfig>;
  constexpr int kCols = Boxes::cols(kBox);
  const TensorMap& map = kCols == kStoreCols ? params.d : params.d_tail;
  const int box_row = row + Boxes::block(kBox) * kMmaM;
  const int box_column = column + Boxes::column(kBox);
  const u32 target = staging.base + static_cast<u32>(staging.buffer * store_buffer_bytes());
  // The copy that last read this buffer must be done. Lane 0 issued it, so only lane 0 can wait for
  // it, and the others wait for lane 0.
  if (stores_by_tma(kConfig) && lane == 0) ptx::bulk_wait_group_read<kStoreBuffers - 1>();
  __syncwarp();
  (probe.begin_staging(), ...);
  stage_box<kCols>(packed, target, lane);
  if constexpr (!stores_by_tma(kConfig)) {
    __syncwarp();
    (probe.end_staging(), ...);
    store_rows_of_box<kConfig, kStoreRows, kCols>(params, target, box_row, box_column, lane);
    staging.buffer = (staging.buffer + 1) % kStoreBuffers;
    return;
  }
  ptx::fence_proxy_async();
  __syncwarp();
  (probe.end_staging(), ...);
  if (lane == 0) {
    // The copy engine clips boxes at the edges of D; one wholly outside is not worth a copy.
    if (box_row < extent_m<kConfig>(params) && box_column < extent_n<kConfig>(params)) {
      ptx::tma_store<kConfig.d_hint>(map, target, box_column, box_row);
    }
    ptx::bulk_commit_group();
  }
  staging.buffer = (staging.buffer + 1) % kStoreBuffers;
}

/// Through shared memory: all of this warp's part, box after box from kBox on; of a tile that a
/// cluster has cut, the boxes that its CTA number `part` has added up.
template <KernelConfig kConfig, int kBox = 0, class... Probe>
__device__ __forceinline__ void store_staged(const Accumulators<kConfig>& accumulators,
                                             const KernelParams& params, Staging& staging, int row,
                                             int column, int part, int lane, Probe&... probe) {
  using Boxes = StoreBoxes<kConfig>;
  if constexpr (kBox < Boxes::kCount) {
    if (!adds_in_cluster(kConfig) || box_owner(kConfig, kBox) == part) {
      constexpr int kCols = Boxes::cols(kBox);
      u32 packed[kCols / 4];
      pack_box<kConfig.dtype, kCols>(&accumulators[Boxes::block(kBox)][Boxes::column(kBox) / 2],
                                     packed);
      store_box<kConfig, kBox>(packed, params, staging, row, column, lane, probe...);
    }
    store_staged<kConfig, kBox + 1>(accumulators, params, staging, row, column, part, lane,
                                    probe...);
  }
}

/// A tile that is computed but not stored yet: packed, in registers, so that the accumulators are
/// free for the next one. Its boxes leave while that one's wgmmas run.
template <KernelConfig kConfig>
struct LateTile {
  using Boxes = StoreBoxes<kConfig>;
  u32 packed[mma_blocks(kConfig)][consumer_cols(kConfig) / 4];
  int row, column;
  int next = Boxes::kCount;  ///< the box to be stored next

  __device__ __forceinline__ void take(const Accumulators<kConfig>& accumulators, int tile_row,
                                       int tile_column) {
#pragma unroll
    for (int block = 0; block < mma_blocks(kConfig); ++block) {
      pack_box<kConfig.dtype, consumer_cols(kConfig)>(accumulators[block], packed[block]);
    }
    row = tile_row;
    column = tile_column;
    next = 0;
  }
  /// Stores the next box, if one is left, or all that are. (kBox: which registers are meant must be
  /// known at compile time.)
  template <int kBox = 0>
  __device__ __forceinline__ void store(const KernelParams& params, Staging& staging, bool all,
                                        int lane) {
    if constexpr (kBox < Boxes::kCount) {
      if (next == kBox) {
        store_box<kConfig, kBox>(&packed[Boxes::block(kBox)][Boxes::column(kBox) / 4], params,
                                 staging, row, column, lane);
        next = kBox + 1;
        if (!all) return;
      }
      store<kBox + 1>(params, staging, all, lane);
    }
  }
};

}  // namespace hgemm
