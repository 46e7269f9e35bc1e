// The tiled kernel, for many rows: D[m x n] = A[m x k] * B[n x k]^T, fp16/bf16 operands, fp32
// accumulation, sm_90a.
//
// One producer warpgroup feeds shared-memory stages by TMA; 1 to 3 consumer warpgroups multiply
// them with wgmma, each its own rows or columns of the tile or a whole tile in turn, and write D. A
// cluster shares what its CTAs have in common: CTAs side by side along M read the same B tile,
// along N the same A tile; each fetches its share and multicasts it. Or the CTAs of a cluster each
// have a part of one tile's K, and add up (common/cluster_sums.cuh).
//
// Where to read on: config.h says which configs exist, rules.h which are valid, tile_scheduler.h
// which tile comes when, producer.cuh and consumer.cuh what the roles do, pipeline.cuh how they
// meet, store.cuh how D is written. Lines of the form (probe.what(), ...) are stamps (probe.cuh),
// and nothing in a plain build.
#pragma once

#include "common/cluster_sums.cuh"
#include "common/params.h"
#include "common/ptx.cuh"
#include "tiled/consumer.cuh"
#include "tiled/probe.cuh"
#include "tiled/producer.cuh"
#include "tiled/rules.h"

namespace hgemm {

/// Where all roles meet before the first copy, of all CTAs that share what they fetch.
template <TiledKernel kKernel>
__device__ __forceinline__ void meet() {
  if constexpr (multicast_size(kKernel) > 1) {
    ptx::cluster_sync_relaxed();
  } else {
    ptx::cta_sync();
  }
  if constexpr (kKernel.pdl) {
    // The next kernel's CTAs come when ours leave room on their SM, prefetch, and wait here.
    ptx::griddepcontrol_launch_dependents();
    ptx::griddepcontrol_wait();
  }
}

/// Until the first copy arrives no role can do anything, so three warps of the producer warpgroup
/// share what must come before it: these are two of them.
template <TiledKernel kKernel>
__device__ __forceinline__ void prepare(const KernelParams& params,
                                        const TiledPipeline<kKernel>& pipeline, int warp, int lane,
                                        int part) {
  if (warp == 1 && lane == 0) {
    ptx::check_swizzle_alignment(pipeline.smem_base);
    if constexpr (adds_in_cluster(kKernel)) init_sums(pipeline, part);
    pipeline.init();
  }
  if (warp == 2 && lane == 0) {
    ptx::prefetch_tensormap(params.a);
    ptx::prefetch_tensormap(params.b);
    if (stores_by_tma(kKernel)) {
      if (consumer_cols(kKernel) >= store_cols(kKernel)) ptx::prefetch_tensormap(params.d);
      if (consumer_cols(kKernel) % store_cols(kKernel) != 0) ptx::prefetch_tensormap(params.d_tail);
    }
  }
}

/// The producer warpgroup, of which one warp copies.
template <TiledKernel kKernel, class... Probe>
__device__ __forceinline__ void run_producers(const KernelParams& params,
                                              const TiledPipeline<kKernel>& pipeline, u32 rank,
                                              int part, int warp, int lane, Probe&... probe) {
  if constexpr (moves_registers(kKernel)) ptx::setmaxnreg_dec<producer_registers(kKernel)>();
  if (warp == 0) {
    LookAhead<kKernel> ahead(params, part, lane);
    if constexpr (kKernel.pdl) {
      if (lane == 0 && ahead.list.count > 0) prefetch<kKernel>(params, ahead, rank);
      __syncwarp();
    }
    meet<kKernel>();
    (probe.synced(), ...);
    (probe.begin_role(), ...);
    typename TiledPipeline<kKernel>::State state;
    if constexpr (is_dynamic(kKernel)) {
      if (lane == 0) produce_dynamic<kKernel>(params, pipeline, ahead.grid, state, rank);
      __syncwarp();
    } else {
      produce<kKernel>(params, pipeline, ahead, state, rank, lane, probe.watch()...);
    }
    (probe.end_role(), ...);
    // A peer may still have to receive what this CTA multicast, and to release it to this CTA's
    // barriers. (The consumers awaited whatever else peers send here.) A barrier of the whole
    // cluster would also wait for the peer's store, and, if it releases, for D to reach memory:
    // 2000 cycles.
    if constexpr (multicast_size(kKernel) > 1) {
      if (lane == 0) pipeline.await_readers(state);
      __syncwarp();
    }
  } else {
    meet<kKernel>();
  }
}

/// Body of the kernel: launched with threads_per_cta(kKernel) threads, smem_layout(kKernel)
/// .total_bytes of dynamic shared memory, clusters of cluster_size(kKernel) along x, and a grid of
/// one cluster per tile (TileScheduler::kSingle, kClusterSplitK), any number of clusters
/// (kPersistent, kDynamic), or, where sums meet in a workspace, as many as that was made for, all
/// of which must be resident at once. A probed one is given its CtaProbe.
template <TiledKernel kKernel, class... Probe>
__device__ __forceinline__ void tiled_gemm(const KernelParams& params, Probe... probe) {
  static_assert(why_invalid(kKernel) == TiledRule::kValid, "rules.h rejects this config");
  static_assert(kKernel.fixed == (kKernel.gemm.m != 0), "extents are constants if `fixed` says so");
  static_assert(sizeof...(Probe) == (kKernel.probe ? 1 : 0), "one probe, if the config says so");
  static_assert(!moves_registers(kKernel) ||
                    producer_registers(kKernel) + kKernel.consumers * consumer_registers(kKernel) <=
                        entry_registers(kKernel) * (kKernel.consumers + 1),
                "setmaxnreg.inc would wait for registers that the CTA does not have");
  extern __shared__ __align__(1024) unsigned char smem[];
  const TiledPipeline<kKernel> pipeline(smem);

  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Broadcast from lane 0, so that the compiler knows the role to be the same for the whole warp.
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
  const u32 cluster_rank = cluster_size(kKernel) > 1 ? ptx::cluster_rank() : 0;
  // Among the CTAs that share what they fetch, and among those that share a tile.
  const u32 rank = adds_in_cluster(kKernel) ? 0 : cluster_rank;
  const int part = adds_in_cluster(kKernel) ? static_cast<int>(cluster_rank) : 0;

  (probe.entered(), ...);
  prepare<kKernel>(params, pipeline, warp, lane, part);
  if (warp < 4) {
    run_producers<kKernel>(params, pipeline, rank, part, warp, lane, probe...);
  } else {
    meet<kKernel>();
    (probe.synced(), ...);
    if constexpr (moves_registers(kKernel)) ptx::setmaxnreg_inc<consumer_registers(kKernel)>();
    (probe.begin_role(), ...);
    consume<kKernel>(params, pipeline, rank, part, warp / 4 - 1, probe.watch()...);
  }
  if (warp != 0) {
    (probe.end_role(), ...);  // the producer's was before it awaited the readers
  }

  // Shared memory must outlive the copies that read it. For all threads, though only consumers have
  // copies: inside the consumers' branch this wait makes ptxas 13.0 give consumers the registers of
  // kernel entry, and every tile of more than about 130 accumulators spills.
  if constexpr (stores_by_tma(kKernel)) ptx::bulk_wait_group_read<0>();
  (probe.finish(), ...);
}

}  // namespace hgemm
