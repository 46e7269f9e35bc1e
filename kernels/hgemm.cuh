// THE kernel: D[m x n] = A[m x k] * B[n x k]^T, fp16/bf16 in and out, fp32 accumulate, sm_90a.
//
// One producer warpgroup feeds shared-memory stages by TMA; 1 to 3 consumer warpgroups multiply
// them with wgmma, each on its own rows of the tile, and write D. A cluster shares what its CTAs
// have in common: CTAs side by side along M read the same B tile, along N the same A tile; each
// fetches its share and multicasts it.
//
// Read top to bottom: producer, consumer, kernel. config.h says which configs exist, schedule.h
// which tile comes when, pipeline.cuh how the roles meet, epilogue.cuh how D is written. Lines of
// the form (probe.what(), ...) are stamps (probe.cuh), and nothing in a plain build.
#pragma once

#include "config.h"
#include "epilogue.cuh"
#include "pipeline.cuh"
#include "probe.cuh"
#include "ptx.cuh"
#include "schedule.h"
#include "wgmma.cuh"

namespace hgemm {

/// The positions in the tile order that one cluster computes: first, first + step, ... < count.
struct TileWalk {
  int first, step, count;
};

template <KernelConfig kConfig>
__device__ __forceinline__ TileWalk tile_walk(TileGrid grid) {
  const int cluster = static_cast<int>(blockIdx.x) / cluster_size(kConfig);
  const int clusters = static_cast<int>(gridDim.x) / cluster_size(kConfig);
  if constexpr (kConfig.persistent) return {cluster, clusters, grid.tiles()};
  return {cluster, grid.tiles(), grid.tiles()};
}

// ---- Producer ----

/// Fetches this CTA's share of one operand tile into a stage: `slabs` of 64 elements of K, each
/// `tile_rows` rows tall in shared memory, of which the CTA fills rows [slice_row, + slice_rows).
template <int kTileRows, int kSliceRows, int kBk>
__device__ __forceinline__ void load_slice(const TensorMap& map, u32 stage, u32 full, int k,
                                           int tile_row, int slice_row, unsigned short mask) {
  constexpr int kBoxCols = kBk < kSlabK ? kBk : kSlabK;
  constexpr int kBoxRows = box_rows(kSliceRows);
  constexpr int kRowBytes = kBoxCols * kElementBytes;
#pragma unroll
  for (int slab = 0; slab < kBk / kBoxCols; ++slab) {
#pragma unroll
    for (int box = 0; box < kSliceRows; box += kBoxRows) {
      const int row = slice_row + box;
      const u32 destination =
          stage + static_cast<u32>(slab * kTileRows * kRowBytes + row * kRowBytes);
      if constexpr (kSliceRows == kTileRows) {
        ptx::tma_load(destination, map, full, k + slab * kBoxCols, tile_row + row);
      } else {
        ptx::tma_load_multicast(destination, map, full, k + slab * kBoxCols, tile_row + row, mask);
      }
    }
  }
}

/// The producer warp. Lane 0 issues all copies. The other lanes help with the tile order: each
/// holds one of the next 32 tiles, so that an order that takes hundreds of instructions (Hilbert)
/// costs a few per tile and never starves the pipeline.
template <KernelConfig kConfig, class... Probe>
__device__ __forceinline__ void produce(const KernelParams& params,
                                        const Pipeline<kConfig>& pipeline, u32 rank, int lane,
                                        Probe... probe) {
  const TileGrid grid = tile_grid(params.m, params.n, kConfig);
  const TileWalk walk = tile_walk<kConfig>(grid);
  const int rank_m = static_cast<int>(rank) % kConfig.cluster_m;
  const int rank_n = static_cast<int>(rank) / kConfig.cluster_m;
  // With at most two CTAs, whoever shares a tile shares it with the whole cluster.
  constexpr unsigned short kMask = (1 << cluster_size(kConfig)) - 1;

  typename Pipeline<kConfig>::State state;
  for (int first = walk.first; first < walk.count; first += 32 * walk.step) {
    const int position = first + lane * walk.step;
    TileCoord lane_tile{};
    if (position < walk.count) lane_tile = tile_at(kConfig.order, kConfig.group, position, grid);
#pragma unroll 1
    for (int i = 0; i < 32 && first + i * walk.step < walk.count; ++i) {
      const TileCoord tile = {__shfl_sync(~0u, lane_tile.m, i) * kConfig.cluster_m + rank_m,
                              __shfl_sync(~0u, lane_tile.n, i) * kConfig.cluster_n + rank_n};
      if (lane == 0) {
        (probe.begin_load(first + i * walk.step), ...);
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
        for (int k = 0; k < params.k; k += kConfig.bk) {
          const int stage = state.stage;
          ptx::mbarrier_wait(pipeline.empty(stage), state.parity ^ 1);
          (probe.lap(producer_phase::kWaitEmpty), ...);
          if (k == 0) pipeline.tile(stage) = tile;
          ptx::mbarrier_arrive_expect_tx(pipeline.full(stage), stage_bytes(kConfig));
          load_slice<kConfig.bm, a_slice_rows(kConfig), kConfig.bk>(
              params.a, pipeline.a_stage(stage), pipeline.full(stage), k, tile.m * kConfig.bm,
              rank_n * a_slice_rows(kConfig), kMask);
          load_slice<kConfig.bn, b_slice_rows(kConfig), kConfig.bk>(
              params.b, pipeline.b_stage(stage), pipeline.full(stage), k, tile.n * kConfig.bn,
              rank_m * b_slice_rows(kConfig), kMask);
          state.advance();
          (probe.lap(producer_phase::kIssue), ...);
        }
        (probe.end_load(first + i * walk.step, tile), ...);
      }
      __syncwarp();
    }
  }
}

// ---- Consumers ----

/// Shared-memory matrix descriptor of a K-major operand at `address` (PTX ISA, "Matrix Descriptor
/// Format"): start address / 16; the leading offset is not used with a swizzle; stride offset =
/// 8 rows; layout 1 = 128-byte swizzle, 2 = 64-byte.
template <int kBk>
__device__ __forceinline__ u64 smem_descriptor(u32 address) {
  constexpr u64 kRowBytes = (kBk < kSlabK ? kBk : kSlabK) * kElementBytes;
  constexpr u64 kStride = 8 * kRowBytes / 16;
  constexpr u64 kSwizzle = kRowBytes == 128 ? 1 : 2;
  return static_cast<u64>(address >> 4) | (1ull << 16) | (kStride << 32) | (kSwizzle << 62);
}

/// Issues the wgmmas of one stage for this consumer's rows. Offsets are in descriptor units (16 B).
template <KernelConfig kConfig>
__device__ __forceinline__ void multiply_stage(
    float (&accumulators)[mma_blocks(kConfig)][kConfig.bn / 2], u64 a, u64 b, int accumulate) {
  constexpr int kCols = box_cols(kConfig);
  constexpr int kRowUnits = kCols * kElementBytes / 16;
#pragma unroll
  for (int k = 0; k < kConfig.bk; k += kMmaK) {
    const int slab = k / kCols;
    const int k_units = k % kCols * kElementBytes / 16;
    const u64 b_k = b + static_cast<u64>(slab * kConfig.bn * kRowUnits + k_units);
#pragma unroll
    for (int block = 0; block < mma_blocks(kConfig); ++block) {
      const u64 a_k =
          a + static_cast<u64>((slab * kConfig.bm + block * kMmaM) * kRowUnits + k_units);
      Wgmma<kConfig.bn, kConfig.dtype>::mma(accumulators[block], a_k, b_k, k > 0 ? 1 : accumulate);
    }
  }
}

/// A consumer warpgroup: rows [consumer * bm / consumers, ...) of every tile of this CTA.
template <KernelConfig kConfig, class... Probe>
__device__ __forceinline__ void consume(const KernelParams& params,
                                        const Pipeline<kConfig>& pipeline, int consumer,
                                        Probe... probe) {
  constexpr int kConsumerRows = kConfig.bm / kConfig.consumers;
  constexpr int kRowUnits = box_cols(kConfig) * kElementBytes / 16;
  const TileWalk walk = tile_walk<kConfig>(tile_grid(params.m, params.n, kConfig));
  const int k_blocks = ceil_div(params.k, kConfig.bk);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;

  const u64 a_base = smem_descriptor<kConfig.bk>(pipeline.a_stage(0)) +
                     static_cast<u64>(consumer * kConsumerRows * kRowUnits);
  const u64 b_base = smem_descriptor<kConfig.bk>(pipeline.b_stage(0));
  const u32 staging = pipeline.smem_base + static_cast<u32>(Pipeline<kConfig>::kLayout.staging +
                                                            (consumer * 4 + warp) * kStoreBuffers *
                                                                store_buffer_bytes());
  int store_buffer = 0;

  float accumulators[mma_blocks(kConfig)][kConfig.bn / 2];
  typename Pipeline<kConfig>::State state;
  for (int position = walk.first; position < walk.count; position += walk.step) {
    TileCoord tile{};
    int previous_stage = 0;
    (probe.begin_tile(position), ...);
    for (int k_block = 0; k_block < k_blocks; ++k_block) {
      const int stage = state.stage;
      ptx::mbarrier_wait(pipeline.full(stage), state.parity);
      (probe.lap(consumer_phase::kWaitFull), ...);
      if (k_block == 0) {
        tile = pipeline.tile(stage);
        (probe.ready(position, tile), ...);
        __syncwarp();  // every lane has read it before lane 0 releases the stage
      }
      const u64 a = a_base + static_cast<u32>(stage * (a_stage_bytes(kConfig) / 16));
      const u64 b = b_base + static_cast<u32>(stage * (b_stage_bytes(kConfig) / 16));
      ptx::wgmma_fence();
      multiply_stage<kConfig>(accumulators, a, b, k_block > 0);
      ptx::wgmma_commit_group();
      (probe.lap(consumer_phase::kMmaIssue), ...);
      ptx::wgmma_wait_group<kConfig.mma_depth>();
      (probe.lap(consumer_phase::kMmaWait), ...);
      if constexpr (kConfig.mma_depth == 0) {
        pipeline.release(stage, lane);
      } else {
        if (k_block > 0) pipeline.release(previous_stage, lane);
        previous_stage = stage;
      }
      state.advance();
      (probe.lap(consumer_phase::kRelease), ...);
    }
    if constexpr (kConfig.mma_depth > 0) {
      ptx::wgmma_wait_group<0>();
      (probe.lap(consumer_phase::kMmaWait), ...);
      pipeline.release(previous_stage, lane);
      (probe.lap(consumer_phase::kRelease), ...);
    }
    (probe.end_main_loop(position), ...);
    // The compiler does not know that wait_group is what makes the accumulators readable.
#pragma unroll
    for (int block = 0; block < mma_blocks(kConfig); ++block) {
#pragma unroll
      for (int i = 0; i < kConfig.bn / 2; ++i) asm volatile("" : "+f"(accumulators[block][i]));
    }

    const int warp_row = tile.m * kConfig.bm + consumer * kConsumerRows + warp * 16;
    const int column = tile.n * kConfig.bn;
    if constexpr (kConfig.epilogue == Epilogue::kTma) {
      store_tma<kConfig>(accumulators, params, staging, store_buffer, warp_row, column, lane,
                         probe...);
    } else {
      store_direct<kConfig>(accumulators, params, warp_row, column, lane);
    }
    (probe.end_tile(position), ...);
  }
}

// ---- Kernel ----

/// Body of the kernel: launched with threads_per_cta(kConfig) threads, smem_layout(kConfig)
/// .total_bytes of dynamic shared memory, clusters of cluster_size(kConfig) along x, and a grid of
/// one cluster per tile, or, if persistent, any number of clusters. A probed one is given its
/// CtaProbe.
template <KernelConfig kConfig, class... Probe>
__device__ __forceinline__ void hgemm(const KernelParams& params, Probe... probe) {
  static_assert(why_invalid(kConfig) == Rule::kValid, "config.h rejects this config");
  static_assert(sizeof...(Probe) == (kConfig.probe ? 1 : 0), "one probe, if the config says so");
  static_assert(!moves_registers(kConfig) ||
                    producer_registers(kConfig) + kConfig.consumers * consumer_registers(kConfig) <=
                        entry_registers(kConfig) * (kConfig.consumers + 1),
                "setmaxnreg.inc would wait for registers that the CTA does not have");
  extern __shared__ __align__(1024) unsigned char smem[];
  const Pipeline<kConfig> pipeline(smem);

  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Broadcast from lane 0, so that the compiler knows the role to be the same for the whole warp.
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
  const u32 rank = cluster_size(kConfig) > 1 ? ptx::cluster_rank() : 0;

  if (warp == 0 && lane == 0) {
    if (pipeline.smem_base % 1024 != 0) asm volatile("trap;");  // swizzle atoms would be split
    ptx::prefetch_tensormap(params.a);
    ptx::prefetch_tensormap(params.b);
    if (kConfig.epilogue == Epilogue::kTma) {
      if (kConfig.bn >= kStoreCols) ptx::prefetch_tensormap(params.d);
      if (kConfig.bn % kStoreCols != 0) ptx::prefetch_tensormap(params.d_tail);
    }
    pipeline.init();
  }
  __syncwarp();
  if constexpr (cluster_size(kConfig) > 1) {
    ptx::cluster_sync();
  } else {
    __syncthreads();
  }
  (probe.synced(), ...);

  if (warp < 4) {
    if constexpr (moves_registers(kConfig)) ptx::setmaxnreg_dec<producer_registers(kConfig)>();
    (probe.begin_role(), ...);
    if (warp == 0) produce<kConfig>(params, pipeline, rank, lane, probe.watch()...);
  } else {
    if constexpr (moves_registers(kConfig)) ptx::setmaxnreg_inc<consumer_registers(kConfig)>();
    (probe.begin_role(), ...);
    consume<kConfig>(params, pipeline, warp / 4 - 1, probe.watch()...);
  }
  (probe.end_role(), ...);

  // Shared memory must outlive the copies that read it. For all threads, though only consumers have
  // copies: inside the consumers' branch this wait makes ptxas 13.0 give consumers the registers of
  // kernel entry, and every tile of more than about 130 accumulators spills.
  if constexpr (kConfig.epilogue == Epilogue::kTma) ptx::bulk_wait_group_read<0>();
  // A peer may still multicast into this CTA's stages or arrive at its barriers.
  if constexpr (cluster_size(kConfig) > 1) ptx::cluster_sync();
  (probe.finish(), ...);
}

}  // namespace hgemm
