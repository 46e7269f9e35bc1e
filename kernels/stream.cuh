// The kernel for few rows of A (decode): D[m x n] = A[m x k] * B[n x k]^T as in hgemm.cuh, where B,
// the weight, is read once and as fast as memory gives it.
//
// The operands are swapped: 64 rows of B are wgmma's M, 8 to 128 rows of A its N, so that a few
// rows of A take little of shared memory, and what is in flight is B. A CTA has one tile, or a part
// of K of one, and a cluster adds up the parts of its tile through shared memory: 4096 columns are
// 64 tiles, too few for 132 SMs, but 128 halves of tiles.
//
// A launch may last 10 us, so what comes before the first copy and after the last one counts: the
// consumers fetch their first stage themselves while the copy engine still fetches its tensor maps
// (0.3 us, measured: analysis/kernel-notes.md), there is no setmaxnreg, and a cluster meets once.
//
// Read top to bottom: producer, consumer, store, kernel. cluster_sums.cuh adds up.
#pragma once

#include "cluster_sums.cuh"
#include "config.h"
#include "epilogue.cuh"
#include "params.h"
#include "pipeline.cuh"
#include "ptx.cuh"
#include "rules.h"
#include "schedule.h"
#include "wgmma.cuh"

namespace hgemm {

/// What a CTA computes: k blocks [first, end) of the tile whose first row of A and of B these are.
struct StreamPart {
  int a_row, b_row;
  int first, end;
};

template <KernelConfig kConfig>
__device__ __forceinline__ StreamPart stream_part(const KernelParams& params, int rank) {
  const TileGrid grid = tile_grid(extent_m<kConfig>(params), extent_n<kConfig>(params), kConfig);
  const TileCoord tile = linear_tile(static_cast<int>(blockIdx.x) / kConfig.splits, grid);
  const KRange k = part_of_k(ceil_div(extent_k<kConfig>(params), kConfig.bk), rank, kConfig.splits);
  return {tile.m * kConfig.bm, tile.n * kConfig.bn, k.first, k.end};
}

// ---- Producer ----

/// One lane: says what the stage waits for, A's bytes too (stream_load_a must follow), and copies
/// B. `fetches_b`: not of the first stage, which the consumers fetch.
template <KernelConfig kConfig>
__device__ __forceinline__ void stream_load_b(const KernelParams& params,
                                              const Pipeline<kConfig>& pipeline, int stage,
                                              int k_block, int row, bool fetches_b) {
  constexpr int kBytes = a_stage_bytes(kConfig) + b_stage_bytes(kConfig);
  ptx::mbarrier_arrive_expect_tx(pipeline.full(stage), fetches_b ? kBytes : a_stage_bytes(kConfig));
  if (!fetches_b) return;
  load_slice<kConfig.bn, kConfig.bn, kConfig.bk, kConfig.b_hint>(
      params.b, pipeline.b_stage(stage), pipeline.full(stage), k_block * kConfig.bk, row, 0, 0);
}
template <KernelConfig kConfig>
__device__ __forceinline__ void stream_load_a(const KernelParams& params,
                                              const Pipeline<kConfig>& pipeline, int stage,
                                              int k_block, int row) {
  load_slice<kConfig.bm, kConfig.bm, kConfig.bk, kConfig.a_hint>(
      params.a, pipeline.a_stage(stage), pipeline.full(stage), k_block * kConfig.bk, row, 0, 0);
}

/// The first ring of copies, by one warp before the CTA meets. B is nobody's output (KernelConfig::
/// pdl), so its copies need not wait for the kernel before this one.
template <KernelConfig kConfig>
__device__ __forceinline__ void stream_fill(const KernelParams& params,
                                            const Pipeline<kConfig>& pipeline,
                                            const StreamPart& part, int lane) {
  const int filled = min(part.end - part.first, kConfig.stages);
  if (lane == 0) {
    for (int i = 0; i < filled; ++i) {
      stream_load_b(params, pipeline, i, part.first + i, part.b_row, i > 0);
      if constexpr (!kConfig.pdl) stream_load_a(params, pipeline, i, part.first + i, part.a_row);
    }
  }
  __syncwarp();
  if constexpr (kConfig.pdl) {
    ptx::griddepcontrol_launch_dependents();
    ptx::griddepcontrol_wait();
    if (lane == 0) {
      for (int i = 0; i < filled; ++i) {
        stream_load_a(params, pipeline, i, part.first + i, part.a_row);
      }
    }
    __syncwarp();
  }
}

/// All further ones.
template <KernelConfig kConfig>
__device__ __forceinline__ void stream_produce(const KernelParams& params,
                                               const Pipeline<kConfig>& pipeline,
                                               const StreamPart& part) {
  typename Pipeline<kConfig>::State state{0, 1};
  for (int k_block = part.first + kConfig.stages; k_block < part.end; ++k_block) {
    ptx::mbarrier_wait(pipeline.empty(state.stage), state.parity() ^ 1);
    stream_load_b(params, pipeline, state.stage, k_block, part.b_row, true);
    stream_load_a(params, pipeline, state.stage, k_block, part.a_row);
    state.advance();
  }
}

// ---- Consumers ----

/// This consumer's 64 rows of B of the first stage, in the layout that the copy engine would give
/// them (128-byte swizzle). A kernel parameter is at hand at once; a tensor map comes from memory.
template <KernelConfig kConfig>
__device__ __forceinline__ void fetch_first_stage(const KernelParams& params,
                                                  const Pipeline<kConfig>& pipeline,
                                                  const StreamPart& part, int consumer) {
  if (part.first == part.end) return;
  constexpr int kChunks = kSlabK * kElementBytes / 16;
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
  const int chunk = thread % kChunks;
  const char* const b = static_cast<const char*>(params.b_pointer);
#pragma unroll
  for (int slab = 0; slab < kConfig.bk / kSlabK; ++slab) {
    const int k = part.first * kConfig.bk + slab * kSlabK + chunk * 8;
#pragma unroll
    for (int step = 0; step < kMmaM; step += kWarpgroupThreads / kChunks) {
      const int row = consumer * kMmaM + step + thread / kChunks;
      const bool inside = part.b_row + row < extent_n<kConfig>(params);
      const int left = max(0, min(kUnitElements, extent_k<kConfig>(params) - k));
      const int valid = inside ? left * kElementBytes : 0;
      const u64 element =
          static_cast<u64>(part.b_row + row) * static_cast<u64>(leading_b<kConfig>(params)) +
          static_cast<u64>(k);
      ptx::copy_async_16(pipeline.b_stage(0) +
                             static_cast<u32>((slab * kConfig.bn + row) * kSlabK * kElementBytes +
                                              (chunk ^ row % 8) * 16),
                         b + (valid > 0 ? element * kElementBytes : 0), valid);
    }
  }
}

template <KernelConfig kConfig>
using SwappedAccumulators = float[accumulators_per_thread(kConfig)];

inline constexpr int kConsumerBarrier = 1;  ///< named, + consumer
inline constexpr int kAllConsumersBarrier = kConsumerBarrier + 3;

/// Multiplies all k blocks of the part. The first stage must have been asked for.
template <KernelConfig kConfig>
__device__ __forceinline__ void stream_multiply(SwappedAccumulators<kConfig>& accumulators,
                                                const Pipeline<kConfig>& pipeline,
                                                const StreamPart& part, int consumer, int lane) {
  constexpr int kRowUnits = kSlabK * kElementBytes / 16;  // of descriptors
  if (part.first < part.end) {
    // What threads wrote, wgmma reads by another way.
    ptx::copy_async_wait_all();
    ptx::fence_proxy_async();
    ptx::named_barrier_sync<kWarpgroupThreads>(kConsumerBarrier + consumer);
  }
  typename Pipeline<kConfig>::State state;
  int previous_stage = 0;
#pragma unroll 1
  for (int k_block = part.first; k_block < part.end; ++k_block) {
    const int stage = state.stage;
    ptx::mbarrier_wait(pipeline.full(stage), state.parity());
    const u64 b = smem_descriptor<kConfig.bk>(pipeline.b_stage(stage)) +
                  static_cast<u32>(consumer * kMmaM * kRowUnits);
    const u64 a = smem_descriptor<kConfig.bk>(pipeline.a_stage(stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < kConfig.bk; k += kMmaK) {
      const int slab = k / kSlabK;
      const int k_units = k % kSlabK * kElementBytes / 16;
      Wgmma<kConfig.bm, kConfig.dtype>::mma(
          accumulators, b + static_cast<u32>(slab * kConfig.bn * kRowUnits + k_units),
          a + static_cast<u32>(slab * kConfig.bm * kRowUnits + k_units),
          k > 0 || k_block > part.first ? 1 : 0);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<kConfig.mma_depth>();
    if constexpr (kConfig.mma_depth == 0) {
      pipeline.release(stage, lane);
    } else {
      if (k_block > part.first) pipeline.release(previous_stage, lane);
      previous_stage = stage;
    }
    state.advance();
  }
  ptx::wgmma_wait_group<0>();  // nobody waits for the last stage's release
  // The compiler does not know that wait_group is what makes the accumulators readable.
#pragma unroll
  for (int i = 0; i < accumulators_per_thread(kConfig); ++i) {
    asm volatile("" : "+f"(accumulators[i]));
  }
  if (part.first == part.end) {  // K has fewer blocks than parts
#pragma unroll
    for (int i = 0; i < accumulators_per_thread(kConfig); ++i) accumulators[i] = 0;
  }
}

/// This rank's groups to D: transposed into shared memory, 8 rows of A by this consumer's 64 rows
/// of B each, and stored from there, without what lies outside.
template <KernelConfig kConfig>
__device__ __forceinline__ void store_groups(const SwappedAccumulators<kConfig>& accumulators,
                                             const KernelParams& params,
                                             const Pipeline<kConfig>& pipeline,
                                             const StreamPart& part, int rank, int consumer,
                                             int lane) {
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int first = first_box(kConfig, rank);
  const int end = first_box(kConfig, rank + 1);
  const u32 staging =
      pipeline.smem_base +
      static_cast<u32>(received_bytes(kConfig) + consumer * most_boxes(kConfig) * kGroupStoreBytes);
  // Lanes 0..7 address the rows of A of the warp's first 8 columns, lanes 8..15 of its next 8.
  const int row = lane % 8;
  const int chunk = warp * 2 + lane / 8 % 2;
  const u32 lane_offset = static_cast<u32>(row * kStoreCols * kElementBytes + (chunk ^ row) * 16);
#pragma unroll
  for (int group = 0; group < store_boxes(kConfig); ++group) {
    if (box_owner(kConfig, group) != rank) continue;
    const float* const value = &accumulators[box_value(kConfig, group)];
    ptx::stmatrix_x2_transposed(
        staging + static_cast<u32>((group - first) * kGroupStoreBytes) + lane_offset,
        ptx::pack<kConfig.dtype>(value[0], value[1]), ptx::pack<kConfig.dtype>(value[2], value[3]));
  }
  if constexpr (stores_by_tma(kConfig)) ptx::fence_proxy_async();
  ptx::named_barrier_sync<kWarpgroupThreads>(kConsumerBarrier + consumer);
  const int column = part.b_row + consumer * kMmaM;
  if constexpr (!stores_by_tma(kConfig)) {
    for (int group = first + warp; group < end; group += kWarpgroupThreads / 32) {
      store_rows_of_box<kConfig, kGroupRows, kStoreCols>(
          params, staging + static_cast<u32>((group - first) * kGroupStoreBytes),
          part.a_row + group * kGroupRows, column, lane);
    }
  } else if (warp == 0 && lane == 0) {
    for (int group = first; group < end; ++group) {
      ptx::tma_store<kConfig.d_hint>(params.d,
                                     staging + static_cast<u32>((group - first) * kGroupStoreBytes),
                                     column, part.a_row + group * kGroupRows);
    }
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();  // shared memory must outlive the copies that read it
  }
}

// ---- Kernel ----

/// Body of the kernel: launched with threads_per_cta(kConfig) threads, smem_layout(kConfig)
/// .total_bytes of dynamic shared memory, clusters of cluster_size(kConfig), and a cluster for each
/// tile.
template <KernelConfig kConfig>
__device__ __forceinline__ void stream(const KernelParams& params) {
  static_assert(why_invalid(kConfig) == Rule::kValid, "rules.h rejects this config");
  static_assert(is_swapped(kConfig) && !kConfig.probe);
  extern __shared__ __align__(1024) unsigned char smem[];
  const Pipeline<kConfig> pipeline(smem);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Broadcast from lane 0, so that the compiler knows the role to be the same for the whole warp.
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
  const int rank = adds_in_cluster(kConfig) ? static_cast<int>(ptx::cluster_rank()) : 0;
  const StreamPart part = stream_part<kConfig>(params, rank);

  if (warp == kConfig.consumers * 4) {
    if (pipeline.smem_base % 1024 != 0) asm volatile("trap;");  // swizzle atoms would be split
    if (lane == 0) {  // with a lane for each, racecheck warns that only __syncwarp orders them
      if constexpr (adds_in_cluster(kConfig)) init_sums(pipeline, rank);
      pipeline.init();
    }
    stream_fill(params, pipeline, part, lane);
    ptx::cta_sync();
    if (lane == 0) stream_produce(params, pipeline, part);
    return;  // a cluster's barrier does not wait for threads that are gone
  }
  const int consumer = warp / 4;
  fetch_first_stage(params, pipeline, part, consumer);
  ptx::cta_sync();
  SwappedAccumulators<kConfig> accumulators;
  stream_multiply<kConfig>(accumulators, pipeline, part, consumer, lane);
  if constexpr (adds_in_cluster(kConfig)) {
    add_in_cluster<kConfig>(accumulators, pipeline, rank, consumer);
    if (first_box(kConfig, rank) == first_box(kConfig, rank + 1)) return;
  } else {
    // The output is staged where other consumers may still read stages.
    ptx::named_barrier_sync<kConfig.consumers * kWarpgroupThreads>(kAllConsumersBarrier);
  }
  store_groups<kConfig>(accumulators, params, pipeline, part, rank, consumer, lane);
}

}  // namespace hgemm
