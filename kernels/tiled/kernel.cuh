// The tiled kernel, for many rows: D[m x n] = A[m x k] * B[n x k]^T, fp16/bf16 operands, fp32
// accumulation, sm_90a.
//
// One producer warpgroup fills shared-memory stages by TMA. 1 to 3 consumer warpgroups multiply
// them with wgmma and write D; each has its own rows or columns of the tile, or takes whole tiles
// in turn. CTAs of a cluster share operands: CTAs side by side along M read the same B tile, along
// N the same A tile; each fetches its share and multicasts it. CTAs of a cluster may also have
// parts of one tile's K, and add up (common/cluster_sums.cuh).
//
// Where to read on: config.h has the configs, rules.h their validity, tile_scheduler.h the order of
// tiles, producer.cuh and consumer.cuh the roles, pipeline.cuh their synchronisation, addends.cuh C
// and the bias, store.cuh the stores of D. Lines of the form (probe.what(), ...) are cycle stamps
// (probe.cuh); in a plain build they are empty.
#pragma once

#include "common/cluster_sums.cuh"
#include "common/params.h"
#include "common/ptx.cuh"
#include "common/tma.cuh"
#include "tiled/consumer.cuh"
#include "tiled/probe.cuh"
#include "tiled/producer.cuh"
#include "tiled/rules.h"

namespace hgemm {

/// The barrier of all roles before the first copy, over all CTAs that share fetched data.
template <TiledKernel kKernel>
__device__ __forceinline__ void meet() {
  if constexpr (multicast_size(kKernel) > 1) {
    ptx::cluster_sync_relaxed();
  } else {
    ptx::cta_sync();
  }
  if constexpr (kKernel.pdl) {
    // CTAs of the next kernel start when ours leave room on their SM (with `hold` not before our
    // last copies); they prefetch, then wait here.
    if constexpr (!kKernel.hold) ptx::griddepcontrol_launch_dependents();
    ptx::griddepcontrol_wait();
  }
}

template <TiledKernel kKernel, Output kOutput>
__device__ __forceinline__ void prefetch_maps_of(const KernelParams& params) {
  constexpr int kTail = output_cols(kKernel) % store_cols(kKernel);
  if (output_cols(kKernel) >= store_cols(kKernel)) ptx::prefetch_tensormap(map_of<kOutput>(params));
  if (kTail != 0) ptx::prefetch_tensormap(tail_map_of<kOutput>(params));
}

/// No role can work before the first copy has arrived. So three warps of the producer warpgroup
/// share the work that must precede it; these are two of them.
template <TiledKernel kKernel>
__device__ __forceinline__ void prepare(const KernelParams& params,
                                        const TiledPipeline<kKernel>& pipeline, int warp, int lane,
                                        int part) {
  if (warp == 1 && lane == 0) {
    ptx::check_swizzle_alignment(pipeline.smem_base);
    if constexpr (adds_in_cluster(kKernel)) init_sums(pipeline, part);
    pipeline.init();
  }
  // (With elect_one() a kernel spilled, and there is no loop to be saved.)
  if (warp == 2 && lane == 0) {
    ptx::prefetch_tensormap(params.a);
    ptx::prefetch_tensormap(params.b);
    if constexpr (copies_addends(kKernel)) {
      const auto& operands = static_cast<const EpilogueParams&>(params);
      if (kKernel.gemm.adds_c) ptx::prefetch_tensormap(operands.c_map);
      if (kKernel.gemm.epilogue.bias != Bias::kNone) ptx::prefetch_tensormap(operands.bias_map);
    }
    if constexpr (stores_by_tma(kKernel)) {
      prefetch_maps_of<kKernel, Output::kD>(params);
      if constexpr (kKernel.gemm.epilogue.aux) prefetch_maps_of<kKernel, Output::kAux>(params);
    }
  }
}

/// The producer warpgroup, of which one warp copies.
template <TiledKernel kKernel, class... Probe>
__device__ __forceinline__ void run_producers(const KernelParams& params,
                                              const TiledPipeline<kKernel>& pipeline,
                                              const Place<kKernel>& place, int warp, int lane,
                                              Probe&... probe) {
  if constexpr (moves_registers(kKernel)) ptx::setmaxnreg_dec<producer_registers(kKernel)>();
  if (warp == 0) {
    LookAhead<kKernel> ahead(params, place.part, lane);
    if constexpr (kKernel.pdl && !kKernel.gemm.by_pointers) {
      if (ptx::elect_one() && ahead.list.count > 0) prefetch<kKernel>(params, ahead, place);
      __syncwarp();
    }
    meet<kKernel>();
    if constexpr (kKernel.pdl) ahead.touch_addresses(params);
    (probe.synced(), ...);
    (probe.begin_role(), ...);
    typename TiledPipeline<kKernel>::State state;
    if constexpr (is_dynamic(kKernel)) {
      if (ptx::elect_one()) produce_dynamic<kKernel>(params, pipeline, ahead.grid, state, place);
      __syncwarp();
    } else {
      produce<kKernel>(params, pipeline, ahead, state, place, lane, probe.watch()...);
    }
    if constexpr (kKernel.hold) ptx::griddepcontrol_launch_dependents();
    (probe.end_role(), ...);
    // A peer may not yet have received what this CTA multicast, or not yet released it to this
    // CTA's barriers. (The consumers have waited for all other data from peers.) A barrier of the
    // whole cluster would also wait for the peer's store and, if it releases, for D to reach
    // memory: 2000 cycles.
    if constexpr (multicast_size(kKernel) > 1) {
      if (ptx::elect_one()) pipeline.await_readers(state);
      __syncwarp();
    }
  } else {
    meet<kKernel>();
  }
}

/// Body of the kernel. Launch it with threads_per_cta(kKernel) threads,
/// smem_layout(kKernel).total_bytes of dynamic shared memory, and clusters of cluster_size(kKernel)
/// along x. The grid has one cluster per tile (TileScheduler::kSingle, kClusterSplitK) or any
/// number of clusters (kPersistent, kDynamic). If sums are added in a workspace, it has exactly the
/// number of clusters for which the workspace was made, and all must be resident at once. A probed
/// kernel gets a CtaProbe.
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
  // Broadcast from lane 0, so that the compiler knows that the role is uniform in the warp.
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
  const Place<kKernel> place(cluster_size(kKernel) > 1 ? ptx::cluster_rank() : 0);

  (probe.entered(), ...);
  prepare<kKernel>(params, pipeline, warp, lane, place.part);
  if (warp < 4) {
    run_producers<kKernel>(params, pipeline, place, warp, lane, probe...);
  } else {
    meet<kKernel>();
    (probe.synced(), ...);
    if constexpr (moves_registers(kKernel)) ptx::setmaxnreg_inc<consumer_registers(kKernel)>();
    (probe.begin_role(), ...);
    consume<kKernel>(params, pipeline, place, warp / 4 - 1, probe.watch()...);
  }
  if (warp != 0) {
    (probe.end_role(), ...);  // the producer's role ended before it awaited the readers
  }

  // Shared memory must outlive the copies that read it. All threads wait, although only consumers
  // have copies: inside the consumers' branch this wait makes ptxas 13.0 give consumers the
  // registers of kernel entry, and every tile of more than about 130 accumulators spills.
  if constexpr (stores_by_tma(kKernel)) ptx::bulk_wait_group_read<0>();
  (probe.finish(), ...);
}

}  // namespace hgemm
