// The producer warp: copies the stages of every tile of its CTA by TMA.
#pragma once

#include "common/operand_copy.cuh"
#include "common/ptx.cuh"
#include "tiled/addends.cuh"
#include "tiled/pipeline.cuh"
#include "tiled/probe.cuh"
#include "tiled/work.cuh"

namespace hgemm {

/// Number of rings of stages that tiles prefetch into L2 before they may copy. Two rings are all of
/// K at 1024^3; other values were not tried.
inline constexpr int kPrefetchRounds = 2;

/// Where A and B of a product are: which matrices of the maps.
template <TiledKernel kKernel, bool kByPointers = kKernel.gemm.by_pointers>
struct Sources {
  int number;  ///< of the product

  __device__ __forceinline__ Sources(const KernelParams& /*params*/, int of_product)
      : number(of_product) {}
  __device__ __forceinline__ auto a(const KernelParams& params) const {
    if constexpr (kKernel.gemm.batched) {
      return Plane{number * static_cast<const BatchedParams&>(params).a_step};
    } else {
      return OnlyMatrix{};
    }
  }
  __device__ __forceinline__ auto b(const KernelParams& params) const {
    if constexpr (kKernel.gemm.batched) {
      return Plane{number * static_cast<const BatchedParams&>(params).b_step};
    } else {
      return OnlyMatrix{};
    }
  }
};
/// By pointers: read once for each tile.
template <TiledKernel kKernel>
struct Sources<kKernel, true> {
  MatrixAt of_a, of_b;

  __device__ __forceinline__ Sources(const KernelParams& params, int number)
      : of_a(MatrixAt::address(address_in(params.a_pointer, number))),
        of_b(MatrixAt::address(address_in(params.b_pointer, number))) {}
  __device__ __forceinline__ SourceAnywhere a(const KernelParams& params) const {
    return source_anywhere<kKernel.gemm.a_major>(
        of_a, static_cast<const PointersParams&>(params).a_outside, extent_m<kKernel>(params),
        extent_k<kKernel>(params));
  }
  __device__ __forceinline__ SourceAnywhere b(const KernelParams& params) const {
    return source_anywhere<kKernel.gemm.b_major>(
        of_b, static_cast<const PointersParams&>(params).b_outside, extent_n<kKernel>(params),
        extent_k<kKernel>(params));
  }
};

/// The next pieces of work: each lane of the producer warp holds one of 32. So the cost of an order
/// that takes hundreds of instructions per tile (Hilbert) is divided by 32, and the pipeline does
/// not starve.
template <TiledKernel kKernel>
struct LookAhead {
  TileGrid grid;
  WorkList list;
  Work work{};
  TileCoord tile{};
  int number = 0;  ///< of the product to which the tile belongs

  __device__ __forceinline__ LookAhead(const KernelParams& params, int part, int lane)
      : grid(tile_grid(extent_m<kKernel>(params), extent_n<kKernel>(params), kKernel)),
        list(work_list<kKernel>(params, grid, part)) {
    look(0, lane);
    if constexpr (!kKernel.pdl) touch_addresses(params);
  }
  /// Looks up pieces index to index + 31.
  __device__ __forceinline__ void look(int index, int lane) {
    // No lane may leave early, because the lanes meet at barriers.
    const int piece = min(index + lane, list.count - 1);
    work = list.at(piece > 0 ? piece : 0);
    // If there is no work at all, at(0) is a tile outside the grid.
    const int position = min(work.tile, list.tiles - 1);
    tile = tile_at<kKernel>(position, grid);
    number = product_number<kKernel>(position, grid);
  }
  /// Fetches the addresses of their operands into L1, if the launch has arrays of these: read only
  /// when a tile begins, each would cost the latency of L2, and kept in registers they made
  /// producers spill. With PDL it follows the wait for earlier kernels, which may write the arrays.
  __device__ __forceinline__ void touch_addresses(const KernelParams& params) const {
    if constexpr (kKernel.gemm.by_pointers) {
      ptx::prefetch_l1(static_cast<const u64*>(params.a_pointer) + number);
      ptx::prefetch_l1(static_cast<const u64*>(params.b_pointer) + number);
      ptx::prefetch_l1(static_cast<const u64*>(params.d_pointer) + number);
    }
  }
};

/// Prefetches the data of the first copies into L2, before the earlier kernels, which may be
/// writing A or B, have completed. That is safe, because those writes arrive in L2 too, so nothing
/// there becomes stale. Tiles in a row of the grid read the same A and divide its prefetch among
/// them; tiles in a column do so for B. If every tile prefetched everything, 1024^3 would take 1.3
/// times as long (measured). The share of a tile in a later wave is not prefetched. (By pointers
/// nothing is: an earlier kernel may be writing the addresses, too.)
template <TiledKernel kKernel>
__device__ __forceinline__ void prefetch(const KernelParams& params,
                                         const LookAhead<kKernel>& ahead,
                                         const Place<kKernel>& place) {
  const TileOrigin<kKernel> origin = place.origin(ahead.tile, {});
  const Sources<kKernel> sources(params, ahead.number);
  const int first = ahead.work.first;
  const int end = min(ahead.work.end, first + kPrefetchRounds * kKernel.stages);
#pragma unroll 1
  for (int k_block = first + ahead.tile.n; k_block < end; k_block += ahead.grid.n) {
    prefetch_boxes<ABoxes<kKernel>>(params.a, k_block * kKernel.bk, origin.m, place.a_begin(),
                                    sources.a(params));
  }
#pragma unroll 1
  for (int k_block = first + ahead.tile.m; k_block < end; k_block += ahead.grid.m) {
    prefetch_boxes<BBoxes<kKernel>>(params.b, k_block * kKernel.bk, origin.n, place.b_begin(),
                                    sources.b(params));
  }
}

/// For one lane: sets the number of bytes that the stage waits for, and copies this CTA's slices
/// into it, for all CTAs that share the tile.
template <TiledKernel kKernel>
__device__ __forceinline__ void load_stage(const KernelParams& params,
                                           const TiledPipeline<kKernel>& pipeline,
                                           const Place<kKernel>& place, TileOrigin<kKernel> origin,
                                           const Sources<kKernel>& sources, int stage, int k) {
  ptx::mbarrier_arrive_expect_tx(pipeline.full(stage), arriving_bytes(kKernel));
  load_boxes<ABoxes<kKernel>, kKernel.a_hint>(params.a, pipeline.a_stage(stage),
                                              pipeline.full(stage), k, origin.m, place.a_begin(),
                                              place.a_mask(), sources.a(params));
  load_boxes<BBoxes<kKernel>, kKernel.b_hint>(params.b, pipeline.b_stage(stage),
                                              pipeline.full(stage), k, origin.n, place.b_begin(),
                                              place.b_mask(), sources.b(params));
  load_block_scales<kKernel>(params, pipeline, stage, k, origin.m, origin.n);
}

/// The producer warp. One thread issues all copies; its `state` ends past the last one.
template <TiledKernel kKernel, class... Probe>
__device__ __forceinline__ void produce(const KernelParams& params,
                                        const TiledPipeline<kKernel>& pipeline,
                                        LookAhead<kKernel>& ahead,
                                        typename TiledPipeline<kKernel>::State& state,
                                        const Place<kKernel>& place, int lane, Probe... probe) {
#pragma unroll 1
  for (int index = 0; index < ahead.list.count; ++index) {
    const int source = index % 32;
    if (source == 0 && index > 0) {
      ahead.look(index, lane);
      ahead.touch_addresses(params);
    }
    const TileCoord tile = {__shfl_sync(~0u, ahead.tile.m, source),
                            __shfl_sync(~0u, ahead.tile.n, source)};
    const int number = kKernel.gemm.batched ? __shfl_sync(~0u, ahead.number, source) : 0;
    // (Outside of the branch, where it has no address to read. Inside, the code of most kernels was
    // another one.)
    TileOrigin<kKernel> origin = place.origin(tile, {});
    if constexpr (kKernel.gemm.batched && !kKernel.gemm.by_pointers) origin.product = number;
    const int first = cuts_k(kKernel) ? __shfl_sync(~0u, ahead.work.first, source) * kKernel.bk : 0;
    const int end = cuts_k(kKernel) ? __shfl_sync(~0u, ahead.work.end, source) * kKernel.bk
                                    : extent_k<kKernel>(params);
    if (ptx::elect_one()) {
      if constexpr (kKernel.gemm.by_pointers) origin.product = product_of<kKernel>(params, number);
      const Sources<kKernel> sources(params, number);
      (probe.begin_load(ahead.list.at(index).tile), ...);
#pragma unroll 1  // unrolled, the loop needs more registers than a producer has
      for (int k = first; k < end; k += kKernel.bk) {
        const int stage = state.stage;
        if (state.round > 0) ptx::mbarrier_wait(pipeline.empty(stage), state.parity() ^ 1);
        (probe.lap(producer_phase::kWaitEmpty), ...);
        if (k == first) pipeline.origin(stage) = origin;
        load_stage<kKernel>(params, pipeline, place, origin, sources, stage, k);
        state.advance();
        (probe.lap(producer_phase::kIssue), ...);
      }
      if constexpr (copies_addends(kKernel)) {
        if (adds_addends<kKernel>(first, end, extent_k<kKernel>(params))) {
          load_addends(params, pipeline, state, origin);
        }
      }
      (probe.end_load(ahead.list.at(index).tile, origin), ...);
    }
    __syncwarp();
  }
}

// ---- Tiles from a queue ----

/// The queue of tiles that the clusters of a launch share (TileScheduler::kDynamic): each cluster
/// takes a tile when it is ready for it. Its first tile is the one with its own number. For each
/// computed tile there is one request, so the count shows which cluster makes the last request;
/// that cluster resets the count for the next launch (which sees it, because a kernel's end or
/// griddepcontrol.wait lies between). For the elected thread of the producer warp.
template <TiledKernel kKernel>
struct TileQueue {
  u32* asked;
  int tiles, clusters;
  u32 round = 0;

  static_assert(multicast_size(kKernel) <= 2, "send() knows one other CTA");

  /// Rank 0 requests a tile and continues until the answer is needed; send() tells it to the other
  /// CTA.
  __device__ __forceinline__ u32 ask() const { return ptx::atomic_add(asked, 1); }
  /// The tile that was assigned; a number >= `tiles` if there was none left.
  __device__ __forceinline__ u32 take(u32 answer) const {
    if (answer == static_cast<u32>(tiles) - 1) *asked = 0;
    return answer + static_cast<u32>(clusters);
  }
  __device__ __forceinline__ void send(const TiledPipeline<kKernel>& pipeline, u32 tile) {
    if (round > 0) ptx::mbarrier_wait(pipeline.next_empty(), (round - 1) & 1);
    ptx::store_async(ptx::map_to_rank(pipeline.next(), 1), tile,
                     ptx::map_to_rank(pipeline.next_full(), 1));
    ++round;
  }
  __device__ __forceinline__ u32 receive(const TiledPipeline<kKernel>& pipeline) {
    ptx::mbarrier_arrive_expect_tx(pipeline.next_full(), sizeof(u32));
    ptx::mbarrier_wait(pipeline.next_full(), round & 1);
    const u32 tile = ptx::load_shared(pipeline.next());
    // With an arrival that may overtake the read, this CTA took the tile after next and left one
    // out when another process got the GPU in between (in 5 to 21 % of launches of 70000x32768x64;
    // in none with this).
    ptx::mbarrier_arrive_cluster_release(pipeline.next_empty(), 0);
    ++round;
    return tile;
  }
  /// For rank 0, at the end: until then the other CTA may still have to confirm receipt.
  __device__ __forceinline__ void await_received(const TiledPipeline<kKernel>& pipeline) const {
    if (round > 0) ptx::mbarrier_wait(pipeline.next_empty(), (round - 1) & 1);
  }
};

/// Does the work of produce() with tiles from a queue. It requests the next tile when it begins
/// one, and needs the answer at that tile's last stage, which tells the consumers whether another
/// tile follows. (With a single k block that is at once, so each tile then takes as long as an
/// atomic.)
template <TiledKernel kKernel>
__device__ __forceinline__ void produce_dynamic(const KernelParams& params,
                                                const TiledPipeline<kKernel>& pipeline,
                                                TileGrid grid,
                                                typename TiledPipeline<kKernel>::State& state,
                                                const Place<kKernel>& place) {
  const u32 rank = place.rank;
  constexpr bool kShared = multicast_size(kKernel) > 1;
  const int cluster = static_cast<int>(blockIdx.x) / cluster_size(kKernel);
  const int tiles = all_tiles<kKernel>(params, grid);
  TileQueue<kKernel> queue{params.flags, tiles,
                           static_cast<int>(gridDim.x) / cluster_size(kKernel)};
  u32 tile = static_cast<u32>(cluster);
#pragma unroll 1
  while (tile < static_cast<u32>(tiles)) {
    u32 answer = 0;
    u32 next = 0;
    if (!kShared || rank == 0) answer = queue.ask();
    const int number = product_number<kKernel>(static_cast<int>(tile), grid);
    const Sources<kKernel> sources(params, number);
    const TileOrigin<kKernel> origin = place.origin(tile_at<kKernel>(static_cast<int>(tile), grid),
                                                    product_of<kKernel>(params, number));
#pragma unroll 1
    for (int k = 0; k < extent_k<kKernel>(params); k += kKernel.bk) {
      const int stage = state.stage;
      const bool is_last = k + kKernel.bk >= extent_k<kKernel>(params);
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
        const bool ends = is_last && next >= static_cast<u32>(tiles);
        pipeline.origin(stage) = origin.at(origin.m, origin.n | (ends ? 1 : 0));
      }
      load_stage<kKernel>(params, pipeline, place, origin, sources, stage, k);
      state.advance();
    }
    if constexpr (copies_addends(kKernel)) load_addends(params, pipeline, state, origin);
    tile = next;
  }
  if (kShared && rank == 0) queue.await_received(pipeline);
}

}  // namespace hgemm
