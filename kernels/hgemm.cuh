// The kernel for many rows (stream.cuh is the one for few): D[m x n] = A[m x k] * B[n x k]^T,
// fp16/bf16 in and out, fp32 accumulate, sm_90a.
//
// One producer warpgroup feeds shared-memory stages by TMA; 1 to 3 consumer warpgroups multiply
// them with wgmma, each its own rows or columns of the tile or a whole tile in turn, and write D. A
// cluster shares what its CTAs have in common: CTAs side by side along M read the same B tile,
// along N the same A tile; each fetches its share and multicasts it. Or the CTAs of a cluster each
// have a part of one tile's K, and add up (cluster_sums.cuh).
//
// Read top to bottom: producer, consumer, kernel. config.h says which configs exist, schedule.h
// which tile comes when, pipeline.cuh how the roles meet, epilogue.cuh how D is written. Lines of
// the form (probe.what(), ...) are stamps (probe.cuh), and nothing in a plain build.
#pragma once

#include "cluster_sums.cuh"
#include "config.h"
#include "epilogue.cuh"
#include "params.h"
#include "partial.cuh"
#include "pipeline.cuh"
#include "probe.cuh"
#include "ptx.cuh"
#include "rules.h"
#include "schedule.h"
#include "wgmma.cuh"

namespace hgemm {

template <KernelConfig kConfig>
__device__ __forceinline__ WorkList work_list(const KernelParams& params, TileGrid grid, int part) {
  return WorkList(kConfig, static_cast<int>(blockIdx.x) / cluster_size(kConfig),
                  static_cast<int>(gridDim.x) / cluster_size(kConfig), grid.tiles(),
                  ceil_div(extent_k<kConfig>(params), kConfig.bk), part);
}

// ---- Producer ----

/// What tiles ask L2 for before they may copy it: so many rings full of stages. Two is all of K at
/// 1024^3; other values were not tried.
inline constexpr int kPrefetchRounds = 2;

/// Asks L2 for what load_slice will fetch.
template <int kSliceRows, int kBk>
__device__ __forceinline__ void prefetch_slice(const TensorMap& map, int k, int row) {
  constexpr int kBoxCols = kBk < kSlabK ? kBk : kSlabK;
#pragma unroll
  for (int slab = 0; slab < kBk; slab += kBoxCols) {
#pragma unroll
    for (int box = 0; box < kSliceRows; box += box_rows(kSliceRows)) {
      ptx::tma_prefetch(map, k + slab, row + box);
    }
  }
}

/// Which part of the operand tiles this CTA fetches, by its rank among those that share them.
template <KernelConfig kConfig>
struct Slices {
  int rank_m, rank_n;

  __device__ __forceinline__ explicit Slices(u32 rank)
      : rank_m(static_cast<int>(rank) % kConfig.cluster_m),
        rank_n(static_cast<int>(rank) / kConfig.cluster_m) {}

  __device__ __forceinline__ TileOrigin origin(TileCoord tile) const {
    return {(tile.m * kConfig.cluster_m + rank_m) * kConfig.bm,
            (tile.n * kConfig.cluster_n + rank_n) * kConfig.bn};
  }
  // With at most two CTAs, the second one's slice is the one that ends with the tile.
  __device__ __forceinline__ int a_row() const {
    return rank_n * (kConfig.bm - a_slice_rows(kConfig));
  }
  __device__ __forceinline__ int b_row() const {
    return rank_m * (kConfig.bn - b_slice_rows(kConfig));
  }
};

/// The work that comes next: each lane of the producer warp holds one of 32 pieces, so that an
/// order that takes hundreds of instructions a tile (Hilbert) costs a few and never starves the
/// pipeline.
template <KernelConfig kConfig>
struct LookAhead {
  TileGrid grid;
  WorkList list;
  Work work{};
  TileCoord tile{};

  __device__ __forceinline__ LookAhead(const KernelParams& params, int part, int lane)
      : grid(tile_grid(extent_m<kConfig>(params), extent_n<kConfig>(params), kConfig)),
        list(work_list<kConfig>(params, grid, part)) {
    look(0, lane);
  }
  /// At pieces index to index + 31.
  __device__ __forceinline__ void look(int index, int lane) {
    // No lane may fall behind the others: they meet at barriers.
    const int piece = min(index + lane, list.count - 1);
    work = list.at(piece > 0 ? piece : 0);
    // Where there is no work at all, at(0) is a tile outside the grid.
    tile = tile_at(kConfig.order, kConfig.group, min(work.tile, grid.tiles() - 1), grid);
  }
};

/// Before the kernels before this one are done, which may be writing A or B: asks L2 for the bytes
/// of the first copies. That is safe, since L2 is where those writes arrive: nothing it holds gets
/// stale. Tiles in a row of the grid read the same A and share the asking, as tiles in a column
/// share that for B: if all asked for all, 1024^3 would take 1.3 times as long (measured). The
/// share of a tile that comes in a later wave is not asked for.
template <KernelConfig kConfig>
__device__ __forceinline__ void prefetch(const KernelParams& params,
                                         const LookAhead<kConfig>& ahead, u32 rank) {
  const Slices<kConfig> slices(rank);
  const TileOrigin origin = slices.origin(ahead.tile);
  const int first = ahead.work.first;
  const int end = min(ahead.work.end, first + kPrefetchRounds * kConfig.stages);
#pragma unroll 1
  for (int k_block = first + ahead.tile.n; k_block < end; k_block += ahead.grid.n) {
    prefetch_slice<a_slice_rows(kConfig), kConfig.bk>(params.a, k_block * kConfig.bk,
                                                      origin.m + slices.a_row());
  }
#pragma unroll 1
  for (int k_block = first + ahead.tile.m; k_block < end; k_block += ahead.grid.m) {
    prefetch_slice<b_slice_rows(kConfig), kConfig.bk>(params.b, k_block * kConfig.bk,
                                                      origin.n + slices.b_row());
  }
}

/// One lane: says what the stage waits for, and copies this CTA's slices into it, for all that
/// share the tile.
template <KernelConfig kConfig>
__device__ __forceinline__ void load_stage(const KernelParams& params,
                                           const Pipeline<kConfig>& pipeline,
                                           const Slices<kConfig>& slices, TileOrigin origin,
                                           int stage, int k) {
  // Whoever shares a tile shares it with the whole cluster.
  constexpr unsigned short kMask = (1 << multicast_size(kConfig)) - 1;
  ptx::mbarrier_arrive_expect_tx(pipeline.full(stage), arriving_bytes(kConfig));
  load_slice<kConfig.bm, a_slice_rows(kConfig), kConfig.bk, kConfig.a_hint>(
      params.a, pipeline.a_stage(stage), pipeline.full(stage), k, origin.m, slices.a_row(), kMask);
  load_slice<kConfig.bn, b_slice_rows(kConfig), kConfig.bk, kConfig.b_hint>(
      params.b, pipeline.b_stage(stage), pipeline.full(stage), k, origin.n, slices.b_row(), kMask);
}

/// The producer warp. Lane 0 issues all copies; its `state` ends past the last one.
template <KernelConfig kConfig, class... Probe>
__device__ __forceinline__ void produce(const KernelParams& params,
                                        const Pipeline<kConfig>& pipeline,
                                        LookAhead<kConfig>& ahead,
                                        typename Pipeline<kConfig>::State& state, u32 rank,
                                        int lane, Probe... probe) {
  const Slices<kConfig> slices(rank);

#pragma unroll 1
  for (int index = 0; index < ahead.list.count; ++index) {
    const int source = index % 32;
    if (source == 0 && index > 0) ahead.look(index, lane);
    const TileCoord tile = {__shfl_sync(~0u, ahead.tile.m, source),
                            __shfl_sync(~0u, ahead.tile.n, source)};
    const TileOrigin origin = slices.origin(tile);
    const int first = cuts_k(kConfig) ? __shfl_sync(~0u, ahead.work.first, source) * kConfig.bk : 0;
    const int end = cuts_k(kConfig) ? __shfl_sync(~0u, ahead.work.end, source) * kConfig.bk
                                    : extent_k<kConfig>(params);
    if (lane == 0) {
      (probe.begin_load(ahead.list.at(index).tile), ...);
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
      for (int k = first; k < end; k += kConfig.bk) {
        const int stage = state.stage;
        if (state.round > 0) ptx::mbarrier_wait(pipeline.empty(stage), state.parity() ^ 1);
        (probe.lap(producer_phase::kWaitEmpty), ...);
        if (k == first) pipeline.origin(stage) = origin;
        load_stage<kConfig>(params, pipeline, slices, origin, stage, k);
        state.advance();
        (probe.lap(producer_phase::kIssue), ...);
      }
      (probe.end_load(ahead.list.at(index).tile, origin), ...);
    }
    __syncwarp();
  }
}

/// The queue of tiles that the clusters of a launch share, who take one when they are ready for it
/// (Walk::kDynamic). Their first ones are those of their own numbers. For each tile that is
/// computed one is asked for, so that the count tells who asks last, and that one sets it back for
/// the next launch (which sees it: a kernel's end, or griddepcontrol.wait, is between). Lane 0 of
/// the producer warp.
template <KernelConfig kConfig>
struct TileQueue {
  u32* asked;
  int tiles, clusters;
  u32 round = 0;

  static_assert(multicast_size(kConfig) <= 2, "send() knows one other CTA");

  /// Rank 0 asks, and goes on while the answer comes; it tells the other one by send().
  __device__ __forceinline__ u32 ask() const { return ptx::atomic_add(asked, 1); }
  /// The tile that was given: at least `tiles` if there was none left.
  __device__ __forceinline__ u32 take(u32 answer) const {
    if (answer == static_cast<u32>(tiles) - 1) *asked = 0;
    return answer + static_cast<u32>(clusters);
  }
  __device__ __forceinline__ void send(const Pipeline<kConfig>& pipeline, u32 tile) {
    if (round > 0) ptx::mbarrier_wait(pipeline.next_empty(), (round - 1) & 1);
    ptx::store_async(ptx::map_to_rank(pipeline.next(), 1), tile,
                     ptx::map_to_rank(pipeline.next_full(), 1));
    ++round;
  }
  __device__ __forceinline__ u32 receive(const Pipeline<kConfig>& pipeline) {
    ptx::mbarrier_arrive_expect_tx(pipeline.next_full(), sizeof(u32));
    ptx::mbarrier_wait(pipeline.next_full(), round & 1);
    const u32 tile = ptx::load_shared(pipeline.next());
    ptx::mbarrier_arrive_cluster(pipeline.next_empty(), 0);
    ++round;
    return tile;
  }
  /// Rank 0, last: until then the other CTA may have to say that it has received.
  __device__ __forceinline__ void await_received(const Pipeline<kConfig>& pipeline) const {
    if (round > 0) ptx::mbarrier_wait(pipeline.next_empty(), (round - 1) & 1);
  }
};

/// As produce(), with the tiles of a queue: asks for the next one when it begins a tile, and needs
/// the answer at that one's last stage, which tells the consumers whether there is another. (With
/// one k block that is at once: each tile then takes as long as an atomic.)
template <KernelConfig kConfig>
__device__ __forceinline__ void produce_dynamic(const KernelParams& params,
                                                const Pipeline<kConfig>& pipeline, TileGrid grid,
                                                typename Pipeline<kConfig>::State& state,
                                                u32 rank) {
  const Slices<kConfig> slices(rank);
  constexpr bool kShared = multicast_size(kConfig) > 1;
  const int cluster = static_cast<int>(blockIdx.x) / cluster_size(kConfig);
  TileQueue<kConfig> queue{params.flags, grid.tiles(),
                           static_cast<int>(gridDim.x) / cluster_size(kConfig)};
  u32 tile = static_cast<u32>(cluster);
#pragma unroll 1
  while (tile < static_cast<u32>(grid.tiles())) {
    u32 answer = 0;
    u32 next = 0;
    if (!kShared || rank == 0) answer = queue.ask();
    const TileOrigin origin =
        slices.origin(tile_at(kConfig.order, kConfig.group, static_cast<int>(tile), grid));
#pragma unroll 1
    for (int k = 0; k < extent_k<kConfig>(params); k += kConfig.bk) {
      const int stage = state.stage;
      const bool is_last = k + kConfig.bk >= extent_k<kConfig>(params);
      if (is_last) {
        if (!kShared || rank == 0) {
          next = queue.take(answer);
          if constexpr (kShared) queue.send(pipeline, next);
        } else {
          next = queue.receive(pipeline);
        }
      }
      if (state.round > 0) ptx::mbarrier_wait(pipeline.empty(stage), state.parity() ^ 1);
      if (k == 0 || is_last) {
        const bool ends = is_last && next >= static_cast<u32>(grid.tiles());
        pipeline.origin(stage) = {origin.m, origin.n | (ends ? 1 : 0)};
      }
      load_stage<kConfig>(params, pipeline, slices, origin, stage, k);
      state.advance();
    }
    tile = next;
  }
  if (kShared && rank == 0) queue.await_received(pipeline);
}

// ---- Consumers ----

/// Issues the wgmmas of one stage for this consumer's part. Offsets are in descriptor units (16 B).
template <KernelConfig kConfig>
__device__ __forceinline__ void multiply_stage(Accumulators<kConfig>& accumulators, u64 a, u64 b,
                                               int accumulate) {
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
      Wgmma<consumer_cols(kConfig), kConfig.dtype>::mma(accumulators[block], a_k, b_k,
                                                        k > 0 ? 1 : accumulate);
    }
  }
}

/// A consumer warpgroup: its rows or columns of every tile of this CTA, or every other tile.
template <KernelConfig kConfig, class... Probe>
__device__ __forceinline__ void consume(const KernelParams& params,
                                        const Pipeline<kConfig>& pipeline, u32 rank, int part,
                                        int consumer, Probe... probe) {
  constexpr bool kPingPong = kConfig.schedule == Schedule::kPingPong;
  constexpr bool kLate = kConfig.epilogue == Epilogue::kLate;
  constexpr int kRowUnits = box_cols(kConfig) * kElementBytes / 16;
  constexpr bool kDynamic = is_dynamic(kConfig);
  constexpr int kStride = kPingPong ? 2 : 1;
  const TileGrid grid = tile_grid(extent_m<kConfig>(params), extent_n<kConfig>(params), kConfig);
  const WorkList list = work_list<kConfig>(params, grid, part);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  // Where this consumer's part of a tile begins.
  const int part_row = kConfig.schedule == Schedule::kRows ? consumer * consumer_rows(kConfig) : 0;
  const int part_col =
      kConfig.schedule == Schedule::kColumns ? consumer * consumer_cols(kConfig) : 0;

  const u64 a_base =
      smem_descriptor<kConfig.bk>(pipeline.a_stage(0)) + static_cast<u64>(part_row * kRowUnits);
  const u64 b_base =
      smem_descriptor<kConfig.bk>(pipeline.b_stage(0)) + static_cast<u64>(part_col * kRowUnits);
  Staging staging{pipeline.staging(consumer * 4 + warp)};
  const Turn<kPingPong> turn(consumer);

  Accumulators<kConfig> accumulators;
  [[maybe_unused]] LateTile<kConfig> late;
  typename Pipeline<kConfig>::State state;
  bool is_last_tile = false;
  for (int index = kPingPong ? consumer : 0; index < list.count && !is_last_tile;
       index += kDynamic ? 0 : kStride) {
    const Work work = list.at(index);
    if (!kDynamic) is_last_tile = index + kStride >= list.count;
    if (kPingPong && index > 0) {
      const Work other = list.at(index - 1);
      state.skip(other.end - other.first);
    }
    TileOrigin origin{};
    int previous_stage = 0;
    (probe.begin_tile(work.tile), ...);
    turn.await();
    for (int k_block = work.first; k_block < work.end; ++k_block) {
      const bool is_first = k_block == work.first;
      const bool is_last = k_block + 1 == work.end;
      const int stage = state.stage;
      ptx::mbarrier_wait(pipeline.full(stage), state.parity());
      (probe.lap(consumer_phase::kWaitFull), ...);
      if (is_first) {
        origin = pipeline.read_origin(stage, rank, lane);
        (probe.ready(work.tile, origin), ...);
      }
      if constexpr (kDynamic) {
        if (is_last) is_last_tile = pipeline.read_origin(stage, rank, lane).n % 2 != 0;
        origin.n &= ~1;
      }
      const u64 a = a_base + static_cast<u32>(stage * (a_stage_bytes(kConfig) / 16));
      const u64 b = b_base + static_cast<u32>(stage * (b_stage_bytes(kConfig) / 16));
      ptx::wgmma_fence();
      multiply_stage<kConfig>(accumulators, a, b, !is_first);
      ptx::wgmma_commit_group();
      (probe.lap(consumer_phase::kMmaIssue), ...);
      if (kPingPong && is_last) turn.pass();
      if constexpr (kLate) late.store(params, staging, is_last, lane);
      ptx::wgmma_wait_group<kConfig.mma_depth>();
      (probe.lap(consumer_phase::kMmaWait), ...);
      if constexpr (kConfig.mma_depth == 0) {
        pipeline.release(stage, lane);
      } else {
        if (!is_first) pipeline.release(previous_stage, lane);
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
    (probe.end_main_loop(work.tile), ...);
    // The compiler does not know that wait_group is what makes the accumulators readable.
#pragma unroll
    for (int block = 0; block < mma_blocks(kConfig); ++block) {
#pragma unroll
      for (int i = 0; i < consumer_cols(kConfig) / 2; ++i) {
        asm volatile("" : "+f"(accumulators[block][i]));
      }
    }

    if constexpr (adds_in_cluster(kConfig)) {
      if (work.first == work.end) {  // K has fewer blocks than parts
#pragma unroll
        for (int i = 0; i < accumulators_per_thread(kConfig); ++i) *value_at(accumulators, i) = 0;
      }
      add_in_cluster<kConfig>(accumulators, pipeline, part, consumer);
      // Known without a stage, of which there may be none.
      origin = Slices<kConfig>(rank).origin(tile_at(kConfig.order, kConfig.group, work.tile, grid));
    }
    if constexpr (adds_in_workspace(kConfig)) {
      const int reader = kPingPong ? 0 : consumer;
      if (work.parts < 0) {
        leave_sums<kConfig>(accumulators, {params, work.slot, rank, reader, warp, lane}, lane);
        continue;
      }
      for (int slot = 0; slot < work.parts; ++slot) {
        add_sums<kConfig>(accumulators, {params, work.slot + slot, rank, reader, warp, lane}, lane);
      }
    }
    const int row = origin.m + part_row + warp * kStoreRows;
    const int column = origin.n + part_col;
    if constexpr (kConfig.epilogue == Epilogue::kDirect) {
      store_direct<kConfig>(accumulators, params, row, column, lane);
    } else if constexpr (kLate) {
      late.take(accumulators, row, column);
      // No next tile to hide behind. (After the loop this would make ptxas 13.0 give consumers the
      // registers of kernel entry, and spill.)
      if (is_last_tile) late.store(params, staging, true, lane);
    } else {
      store_staged<kConfig>(accumulators, params, staging, row, column, part, lane, probe...);
    }
    (probe.end_tile(work.tile), ...);
  }
}

// ---- Kernel ----

/// Where all roles meet before the first copy, of all CTAs that share what they fetch.
template <KernelConfig kConfig>
__device__ __forceinline__ void meet() {
  if constexpr (multicast_size(kConfig) > 1) {
    ptx::cluster_sync_relaxed();
  } else {
    ptx::cta_sync();
  }
  if constexpr (kConfig.pdl) {
    // The next kernel's CTAs come when ours leave room on their SM, prefetch, and wait here.
    ptx::griddepcontrol_launch_dependents();
    ptx::griddepcontrol_wait();
  }
}

/// Body of the kernel: launched with threads_per_cta(kConfig) threads, smem_layout(kConfig)
/// .total_bytes of dynamic shared memory, clusters of cluster_size(kConfig) along x, and a grid of
/// one cluster per tile (Walk::kSingle, kClusterSplit), any number of clusters (kPersistent,
/// kDynamic), or, where sums meet in a workspace, as many as that was made for, all of which must
/// be resident at once. A probed one is given its CtaProbe.
template <KernelConfig kConfig, class... Probe>
__device__ __forceinline__ void hgemm(const KernelParams& params, Probe... probe) {
  static_assert(why_invalid(kConfig) == Rule::kValid, "rules.h rejects this config");
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
  const u32 cluster_rank = cluster_size(kConfig) > 1 ? ptx::cluster_rank() : 0;
  // Among the CTAs that share what they fetch, and among those that share a tile.
  const u32 rank = adds_in_cluster(kConfig) ? 0 : cluster_rank;
  const int part = adds_in_cluster(kConfig) ? static_cast<int>(cluster_rank) : 0;

  (probe.entered(), ...);
  // Until the first copy arrives nobody can do anything, so three warps of the producers share what
  // must come before it.
  if (warp == 1 && lane == 0) {
    if (pipeline.smem_base % 1024 != 0) asm volatile("trap;");  // swizzle atoms would be split
    if constexpr (adds_in_cluster(kConfig)) init_sums(pipeline, part);
    pipeline.init();
  }
  if (warp == 2 && lane == 0) {
    ptx::prefetch_tensormap(params.a);
    ptx::prefetch_tensormap(params.b);
    if (stores_by_tma(kConfig)) {
      if (consumer_cols(kConfig) >= kStoreCols) ptx::prefetch_tensormap(params.d);
      if (consumer_cols(kConfig) % kStoreCols != 0) ptx::prefetch_tensormap(params.d_tail);
    }
  }
  if (warp < 4) {
    if constexpr (moves_registers(kConfig)) ptx::setmaxnreg_dec<producer_registers(kConfig)>();
    if (warp == 0) {
      LookAhead<kConfig> ahead(params, part, lane);
      if constexpr (kConfig.pdl) {
        if (lane == 0 && ahead.list.count > 0) prefetch<kConfig>(params, ahead, rank);
        __syncwarp();
      }
      meet<kConfig>();
      (probe.synced(), ...);
      (probe.begin_role(), ...);
      typename Pipeline<kConfig>::State state;
      if constexpr (is_dynamic(kConfig)) {
        if (lane == 0) produce_dynamic<kConfig>(params, pipeline, ahead.grid, state, rank);
        __syncwarp();
      } else {
        produce<kConfig>(params, pipeline, ahead, state, rank, lane, probe.watch()...);
      }
      (probe.end_role(), ...);
      // A peer may still have to receive what this CTA multicast, and to release it to this CTA's
      // barriers. (What else peers send here was awaited, by whoever is to have it.) A barrier of
      // the whole cluster would also wait for the peer's epilogue, and, if it releases, for D to
      // reach memory: 2000 cycles.
      if constexpr (multicast_size(kConfig) > 1) {
        if (lane == 0) pipeline.await_readers(state);
        __syncwarp();
      }
    } else {
      meet<kConfig>();
    }
  } else {
    meet<kConfig>();
    (probe.synced(), ...);
    if constexpr (moves_registers(kConfig)) ptx::setmaxnreg_inc<consumer_registers(kConfig)>();
    (probe.begin_role(), ...);
    consume<kConfig>(params, pipeline, rank, part, warp / 4 - 1, probe.watch()...);
  }
  if (warp != 0) {
    (probe.end_role(), ...);  // the producer's was before it awaited the readers
  }

  // Shared memory must outlive the copies that read it. For all threads, though only consumers have
  // copies: inside the consumers' branch this wait makes ptxas 13.0 give consumers the registers of
  // kernel entry, and every tile of more than about 130 accumulators spills.
  if constexpr (stores_by_tma(kConfig)) ptx::bulk_wait_group_read<0>();
  (probe.finish(), ...);
}

}  // namespace hgemm
