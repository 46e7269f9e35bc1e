// Accumulators to D. Both epilogues work warp by warp: a warp owns 16 rows of each 64-row block
// (PTX ISA, wgmma "D fragment": lane l holds columns 8j + 2 (l % 4) + {0, 1} of rows l / 4 and
// l / 4 + 8), so no warp waits for another one.
#pragma once

#include "probe.cuh"
#include "ptx.cuh"

namespace hgemm {

/// Straight to memory, 4 bytes per store. No shared memory, so there is room for one more stage.
template <KernelConfig kConfig>
__device__ __forceinline__ void store_direct(
    const float (&accumulators)[mma_blocks(kConfig)][kConfig.bn / 2], const KernelParams& params,
    int warp_row, int column, int lane) {
  u32* const d = static_cast<u32*>(params.d_pointer);
  const u64 row_words = static_cast<u64>(params.n) / 2;
  const int lane_column = column + 2 * (lane % 4);
#pragma unroll
  for (int block = 0; block < mma_blocks(kConfig); ++block) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + block * kMmaM + half * 8 + lane / 4;
      if (row >= params.m) continue;
      u32* const d_row = d + static_cast<u64>(row) * row_words;
#pragma unroll
      for (int group = 0; group < kConfig.bn / 8; ++group) {
        // N is a multiple of 8: a group of 8 columns is inside or outside as a whole.
        if (lane_column + group * 8 >= params.n) break;
        const float* const pair = &accumulators[block][group * 4 + half * 2];
        d_row[(lane_column + group * 8) / 2] = ptx::pack<kConfig.dtype>(pair[0], pair[1]);
      }
    }
  }
}

/// One warp's box of kStoreRows x kCols: accumulators (of kCols / 8 groups of columns) to shared
/// memory with stmatrix. Lane l addresses row l % 16, 16-byte chunk l / 16 of each pair of groups.
/// Whole boxes are swizzled (chunk ^ row % 8) as their tensor map says, which keeps the eight rows
/// of a matrix in different banks; a tail box has plain rows.
template <Dtype kDtype, int kCols>
__device__ __forceinline__ void stage_box(const float* d, u32 target, int lane) {
  constexpr int kGroups = kCols / 8;
  const int row = lane % 16;
  const u32 row_address = target + static_cast<u32>(row * kCols * kElementBytes);
#pragma unroll
  for (int group = 0; group < kGroups; group += 2) {
    const int chunk = group + lane / 16;
    const int placed = kCols == kStoreCols ? chunk ^ (row % 8) : chunk;
    const u32 address = row_address + static_cast<u32>(placed * 16);
    const u32 r0 = ptx::pack<kDtype>(d[group * 4 + 0], d[group * 4 + 1]);
    const u32 r1 = ptx::pack<kDtype>(d[group * 4 + 2], d[group * 4 + 3]);
    if (group + 1 < kGroups) {
      const u32 r2 = ptx::pack<kDtype>(d[group * 4 + 4], d[group * 4 + 5]);
      const u32 r3 = ptx::pack<kDtype>(d[group * 4 + 6], d[group * 4 + 7]);
      ptx::stmatrix_x4(address, r0, r1, r2, r3);
    } else {  // an odd last group: lanes 16..31 address nothing
      ptx::stmatrix_x2(address, r0, r1);
    }
  }
}

/// Through shared memory: the warp fills a box of `staging` (kStoreBuffers of them, used in turn;
/// `buffer` is the next), the copy engine stores it while the warp fills the next one.
template <Dtype kDtype, int kCols, class... Probe>
__device__ __forceinline__ void store_box(const float* d, const TensorMap& map, int m, int n,
                                          u32 staging, int& buffer, int row, int column, int lane,
                                          Probe&... probe) {
  const u32 target = staging + static_cast<u32>(buffer * store_buffer_bytes());
  // The copy that last read this buffer must be done. Lane 0 issued it, so only lane 0 can wait for
  // it, and the others wait for lane 0.
  if (lane == 0) ptx::bulk_wait_group_read<kStoreBuffers - 1>();
  __syncwarp();
  (probe.begin_staging(), ...);
  stage_box<kDtype, kCols>(d, target, lane);
  ptx::fence_proxy_async();
  __syncwarp();
  (probe.end_staging(), ...);
  if (lane == 0) {
    // The copy engine clips boxes at the edges of D; one wholly outside is not worth a copy.
    if (row < m && column < n) ptx::tma_store(map, target, column, row);
    ptx::bulk_commit_group();
  }
  buffer = (buffer + 1) % kStoreBuffers;
}

/// All of this warp's rows, in boxes of kStoreCols columns and a narrower one for what is left
/// over.
template <KernelConfig kConfig, class... Probe>
__device__ __forceinline__ void store_tma(
    const float (&accumulators)[mma_blocks(kConfig)][kConfig.bn / 2], const KernelParams& params,
    u32 staging, int& buffer, int warp_row, int column, int lane, Probe&... probe) {
  constexpr int kTailCols = kConfig.bn % kStoreCols;
  constexpr int kWholeCols = kConfig.bn - kTailCols;
#pragma unroll
  for (int block = 0; block < mma_blocks(kConfig); ++block) {
    const int row = warp_row + block * kMmaM;
#pragma unroll
    for (int col = 0; col < kWholeCols; col += kStoreCols) {
      store_box<kConfig.dtype, kStoreCols>(&accumulators[block][col / 2], params.d, params.m,
                                           params.n, staging, buffer, row, column + col, lane,
                                           probe...);
    }
    if constexpr (kTailCols != 0) {
      store_box<kConfig.dtype, kTailCols>(&accumulators[block][kWholeCols / 2], params.d_tail,
                                          params.m, params.n, staging, buffer, row,
                                          column + kWholeCols, lane, probe...);
    }
  }
}

}  // namespace hgemm
