// Step 12: the copy engine also stores. The consumers write their results to shared memory with few
// instructions (stmatrix), and continue with the next tile while the copy engine writes whole rows
// to D.
#pragma once

#include "common/pipeline.cuh"
#include "studies/ladder/common.cuh"
#include "studies/ladder/ring.cuh"
#include "studies/ladder/tile_list.cuh"
#include "tiled/tile_scheduler.h"

namespace hgemm::ladder {

/// Stores four 8x8 matrices of 16-bit elements, transposed; lane i gives the address of row i % 8
/// of the transpose of matrix i / 8.
__device__ __forceinline__ void stmatrix_x4_trans(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
      "r"(r0), "r"(r1), "r"(r2), "r"(r3)
      : "memory");
}
/// Barrier of one consumer's 128 threads. 0 is __syncthreads'.
__device__ __forceinline__ void consumer_sync(int consumer) {
  asm volatile("bar.sync %0, 128;" ::"r"(consumer + 1) : "memory");
}

/// A consumer's 64 x 256 accumulators of D^T to `box`: 256 rows of D of 64 elements, swizzled as
/// the tensor map says (16-byte chunk ^ row % 8), which keeps the eight rows of a matrix in
/// different banks. An 8 x 8 matrix of the accumulators is 8 rows of D once it is transposed.
template <Element kElement, int kHalfCols>
__device__ __forceinline__ void stage_tile(const float (&d)[1][kHalfCols], u32 box) {
  const u32 lane = threadIdx.x % 32;
  const u32 warp = threadIdx.x / 32 % 4;
  const u32 matrix = lane / 8;  // the halves of 16 columns of D, for two groups of 8 rows of D
  const u32 row = matrix / 2 * 8 + lane % 8;
  const u32 chunk = warp * 2 + matrix % 2;
  const u32 lane_address = box + row * 128 + (chunk ^ (row % 8)) * 16;
#pragma unroll
  for (int j = 0; j < kHalfCols / 4; j += 2) {
    const float* const at = &d[0][4 * j];
    constexpr DataType kType = kDtype<kElement>;
    stmatrix_x4_trans(lane_address + static_cast<u32>(8 * j) * 128, ptx::pack<kType>(at[0], at[1]),
                      ptx::pack<kType>(at[2], at[3]), ptx::pack<kType>(at[4], at[5]),
                      ptx::pack<kType>(at[6], at[7]));
  }
}

inline constexpr int kLeft = 128;
inline constexpr int kRight = 256;
inline constexpr int kStages = 3;
inline constexpr int kCluster = 2;
using StageRing = Ring<kLeft, kRight, kStages, u32>;
inline constexpr u32 kStagingBytes = kLeft * kRight * 2;  ///< between the stages and the barriers

/// One thread: keeps the ring full, from one tile to the next.
template <bool kProbe>
__device__ __forceinline__ void produce(const LadderParams& params, const StageRing& ring,
                                        const TileList& tiles, int rank, Stopwatch<kProbe>& watch) {
  constexpr int kShare = kRight / kCluster;  // of the right tile, which both CTAs need
  PipelineState<kStages> state;
  for (int position = tiles.first; position < tiles.end(); position += tiles.step) {
    const TileCoord tile = tiles[position];
    const int left_row = (tile.m * kCluster + rank) * kLeft;
    const int right_row = tile.n * kRight + rank * kShare;
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
    for (int k = 0; k < params.k; k += kDepth) {
      const int stage = state.stage;
      ptx::mbarrier_wait(ring.empty(stage), state.parity() ^ 1);
      watch.stop(Phase::kWaitEmpty);
      ptx::mbarrier_arrive_expect_tx(ring.full(stage), StageRing::kStageBytes);
      ptx::tma_load(ring.left(stage), params.b_map, ring.full(stage), k, left_row);
      ptx::tma_load_multicast(ring.right(stage) + static_cast<u32>(rank) * tile_bytes(kShare),
                              params.a_map, ring.full(stage), k, right_row, 0b11);
      watch.stop(Phase::kIssue);
      state.advance();
    }
  }
  watch.write(params, true, false);
}

/// A warpgroup: multiplies its rows of every tile, and writes them.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void consume(const LadderParams& params, const StageRing& ring,
                                        const TileList& tiles, int rank, int warpgroup, u32 staging,
                                        Stopwatch<kProbe>& watch) {
  const int consumer_row = (warpgroup - 1) * kMmaM;
  const u32 lane = threadIdx.x % 32;
  const bool issuer = threadIdx.x % 128 == 0;
  const u32 box = staging + static_cast<u32>(consumer_row * kRight * 2);
  PipelineState<kStages> state;
  float d[1][kRight / 2];
  for (int position = tiles.first; position < tiles.end(); position += tiles.step) {
    const TileCoord tile = tiles[position];
    for (int k = 0; k < params.k; k += kDepth) {
      const int stage = state.stage;
      ptx::mbarrier_wait(ring.full(stage), state.parity());
      watch.stop(Phase::kWaitFull);
      ptx::wgmma_fence();
      multiply<kElement>(d, ring.left(stage) + tile_bytes(consumer_row), ring.right(stage), k > 0);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
      if (lane < kCluster) ptx::mbarrier_arrive_cluster(ring.empty(stage), lane);
      watch.stop(Phase::kMma);
      state.advance();
    }
    settle(d);
    // The copy that last read the staging must be complete. The thread that issued it waits for it;
    // the others wait for that thread.
    if (issuer) ptx::bulk_wait_group_read<0>();
    consumer_sync(warpgroup - 1);
    stage_tile<kElement>(d, box);
    ptx::fence_proxy_async();  // the copy engine will read what every thread wrote
    consumer_sync(warpgroup - 1);
    if (issuer) {
      const int left_row = (tile.m * kCluster + rank) * kLeft + consumer_row;
      ptx::tma_store(params.d_map, box, left_row, tile.n * kRight);
      ptx::bulk_commit_group();
    }
    watch.stop(Phase::kStore);
  }
  watch.write(params, threadIdx.x == 128 + kWatchedThread, true);
}

/// 384 threads, 256 rows x 128 columns of D at a time, clusters of two.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void tma_store(const LadderParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const StageRing ring(smem, kStagingBytes);
  const u32 staging = ring.tiles + StageRing::kTileBytes;
  const int rank = static_cast<int>(ptx::cluster_rank());
  // In tiles of a whole cluster; its CTAs take turns along the left operand.
  const TileGrid grid = {params.n / (kLeft * kCluster), params.m / kRight};
  const int first = static_cast<int>(blockIdx.x) / kCluster;
  const int step = static_cast<int>(gridDim.x) / kCluster;
  const TileList tiles(smem + StageRing::kBytes + kStagingBytes, grid, first, step);

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      ptx::mbarrier_init(ring.full(stage), 1);                  // the producer
      ptx::mbarrier_init(ring.empty(stage), 2 * 4 * kCluster);  // the consumers' warps of both CTAs
    }
    ptx::fence_mbarrier_init();
  }
  __syncwarp();
  ptx::cluster_sync();

  Stopwatch<kProbe> watch;
  const int warpgroup = warpgroup_index();
  if (warpgroup == 0) {
    ptx::setmaxnreg_dec<kProducerRegisters>();
    if (threadIdx.x == 0) produce(params, ring, tiles, rank, watch);
  } else {
    ptx::setmaxnreg_inc<kConsumerRegisters>();
    consume<kElement>(params, ring, tiles, rank, warpgroup, staging, watch);
  }
  ptx::bulk_wait_group_read<0>();  // shared memory must outlive the copies that read it
  // The peer may still copy into this CTA's stages, or arrive at its barriers.
  __syncwarp();
  ptx::cluster_sync();
}

}  // namespace hgemm::ladder
