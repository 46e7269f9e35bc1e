// A consumer warpgroup: multiplies its part of every tile with wgmma, adds C and the bias, adds the
// sums of other CTAs if K is cut, and writes D.
#pragma once

#include "common/cluster_sums.cuh"
#include "common/output_8_bit.cuh"
#include "common/ptx.cuh"
#include "common/scales.cuh"
#include "tiled/addends.cuh"
#include "tiled/pipeline.cuh"
#include "tiled/probe.cuh"
#include "tiled/promotion.cuh"
#include "tiled/split_sums.cuh"
#include "tiled/waiting_tile.cuh"
#include "tiled/work.cuh"
#include "tiled/workspace_sums.cuh"

namespace hgemm {

/// Issues the wgmmas of one stage for this consumer's part: `rows` describes wgmma's 64-row
/// operand, `cols` the other one.
template <TiledKernel kKernel>
__device__ __forceinline__ void multiply_stage(Accumulators<kKernel>& accumulators, u64 rows,
                                               u64 cols, int accumulate) {
  using Rows = RowsTile<kKernel>;
  using Cols = ColsTile<kKernel>;
  using Mma = TileMma<kKernel, consumer_cols(kKernel)>;
#pragma unroll
  for (int k = 0; k < kKernel.bk; k += mma_k(kKernel.gemm.input)) {
    const u64 cols_k = cols + static_cast<u64>(Cols::k_units(k));
#pragma unroll
    for (int block = 0; block < mma_blocks(kKernel); ++block) {
      const u64 rows_k = rows + static_cast<u64>(Rows::k_units(k) + Rows::mn_units(block * kMmaM));
      Mma::mma(accumulators[block], rows_k, cols_k, k > 0 ? 1 : accumulate);
    }
  }
}

/// Makes the accumulators readable: the compiler does not know that wgmma.wait_group does.
template <TiledKernel kKernel>
__device__ __forceinline__ void settle(Accumulators<kKernel>& accumulators) {
#pragma unroll
  for (int block = 0; block < mma_blocks(kKernel); ++block) {
#pragma unroll
    for (int i = 0; i < consumer_cols(kKernel) / 2; ++i) {
      asm volatile("" : "+f"(accumulators[block][i]));
    }
  }
}

/// Sets the accumulators to zero, so that their registers are free before: wgmma's results are its
/// inputs too, although it ignores them for a tile's first k block, so the compiler would keep them
/// from one tile to the next.
template <TiledKernel kKernel>
__device__ __forceinline__ void forget(Accumulators<kKernel>& accumulators) {
#pragma unroll
  for (int block = 0; block < mma_blocks(kKernel); ++block) {
#pragma unroll
    for (int i = 0; i < consumer_cols(kKernel) / 2; ++i) {
      accumulators[block][i] = 0;
    }
  }
}

/// A named barrier; those below are the turns', and those from Scales::kBarrier on the scales'.
inline constexpr int kRingReadBarrier = 3;

/// Whether a consumer must wait until the others have read the ring, before it stages output there.
/// (Where a cluster adds up, it has waited.)
template <TiledKernel kKernel>
inline constexpr bool waits_for_ring = stages_output_in_ring(kKernel) &&
                                       !adds_in_cluster(kKernel) && stages_output(kKernel);

template <TiledKernel kKernel>
using TileScales = Scales<kKernel, consumer_rows(kKernel), consumer_cols(kKernel), kKernel.swap>;

/// One consumer warpgroup of a CTA, with its state.
template <TiledKernel kKernel>
struct Consumer {
  static constexpr bool kPingPong = kKernel.schedule == Schedule::kPingPong;
  static constexpr bool kOverlapped = kKernel.store == StorePath::kOverlapped;
  static constexpr bool kWaitsInSums = waits_in_sums(kKernel);
  /// Whether a tile that is not stored yet has registers of its own.
  static constexpr bool kHoldsTiles = kOverlapped && !kWaitsInSums;
  static constexpr bool kHasBlockScales = is_of_blocks(kKernel.gemm.scaling);
  static constexpr bool kHasScales = scales_tiles(kKernel.gemm.scaling);
  static constexpr int kStride =
      kPingPong ? 2 : 1;  ///< pieces of work from one of this consumer's own to its next one
  using Rows = RowsTile<kKernel>;
  using Cols = ColsTile<kKernel>;
  static constexpr int kRowsStageUnits =
      (kKernel.swap ? b_stage_bytes(kKernel) : a_stage_bytes(kKernel)) / 16;
  static constexpr int kColsStageUnits =
      (kKernel.swap ? a_stage_bytes(kKernel) : b_stage_bytes(kKernel)) / 16;

  const KernelParams& params;
  const TiledPipeline<kKernel>& pipeline;
  const Place<kKernel> place;
  const int consumer;  ///< number of this one
  const TileGrid grid;
  const WorkList list;
  const int lane, warp;
  const int part_row, part_col;  ///< start of this consumer's part within a tile, as wgmma has it
  /// Descriptors of its part in stage 0: of wgmma's 64-row operand, and of the other one.
  const u64 rows_base, cols_base;
  const u32 sender;  ///< the CTA whose producer this lane tells of released stages
  const Turn<kPingPong> turn;
  Staging staging;
  const TileScales<kKernel> scales;
  typename TiledPipeline<kKernel>::State state{};
  bool is_last_tile = false;

  __device__ __forceinline__ Consumer(const KernelParams& kernel_params,
                                      const TiledPipeline<kKernel>& ring, const Place<kKernel>& cta,
                                      int number)
      : params(kernel_params),
        pipeline(ring),
        place(cta),
        consumer(number),
        grid(tile_grid(extent_m<kKernel>(params), extent_n<kKernel>(params), kKernel)),
        list(work_list<kKernel>(params, grid, place.part)),
        lane(static_cast<int>(threadIdx.x) % 32),
        warp(static_cast<int>(threadIdx.x) / 32 % 4),
        part_row(kKernel.schedule == Schedule::kRows ? consumer * consumer_rows(kKernel) : 0),
        part_col(kKernel.schedule == Schedule::kColumns ? consumer * consumer_cols(kKernel) : 0),
        rows_base(Rows::descriptor(kKernel.swap ? pipeline.b_stage(0) : pipeline.a_stage(0)) +
                  static_cast<u64>(part_row * Rows::kMnUnits)),
        cols_base(Cols::descriptor(kKernel.swap ? pipeline.a_stage(0) : pipeline.b_stage(0)) +
                  static_cast<u64>(part_col * Cols::kMnUnits)),
        sender(place.sender(lane)),
        turn(consumer),
        staging{pipeline.staging(consumer * 4 + warp)},
        scales{pipeline.scales(consumer), consumer} {}

  /// The main loop of one piece of work. Returns the origin of the tile in D. `waiting` is the
  /// previous tile, whose boxes are stored meanwhile.
  template <class... Probe>
  __device__ __forceinline__ TileOrigin<kKernel> multiply(const Work& work,
                                                          Accumulators<kKernel>& accumulators,
                                                          WaitingTile<kKernel>& waiting,
                                                          Probe&... probe) {
    TileOrigin<kKernel> origin{};
    int previous_stage = 0;
    turn.await();
    for (int k_block = work.first; k_block < work.end; ++k_block) {
      const bool is_first = k_block == work.first;
      const bool is_last = k_block + 1 == work.end;
      const int stage = state.stage;
      ptx::mbarrier_wait(pipeline.full(stage), state.parity());
      (probe.lap(consumer_phase::kWaitFull), ...);
      if (is_first) {
        origin = begin(stage);
        (probe.ready(work.tile, origin), ...);
      }
      if constexpr (is_dynamic(kKernel)) {
        if (is_last) is_last_tile = is_marked_last(stage);
        origin.n &= ~1;
      }
      const u64 rows = rows_base + static_cast<u32>(stage * kRowsStageUnits);
      const u64 cols = cols_base + static_cast<u32>(stage * kColsStageUnits);
      ptx::wgmma_fence();
      multiply_stage<kKernel>(accumulators, rows, cols, !is_first);
      ptx::wgmma_commit_group();
      (probe.lap(consumer_phase::kMmaIssue), ...);
      if (kPingPong && is_last && !adds_addends<kKernel>(work.first, work.end, list.k_blocks)) {
        turn.pass();
      }
      if constexpr (kHoldsTiles) waiting.store(params, staging, is_last, lane);
      ptx::wgmma_wait_group<kKernel.mma_depth>();
      (probe.lap(consumer_phase::kMmaWait), ...);
      if constexpr (kKernel.mma_depth == 0) {
        pipeline.release(stage, lane, sender);
      } else {
        if (!is_first) pipeline.release(previous_stage, lane, sender);
        previous_stage = stage;
      }
      state.advance();
      (probe.lap(consumer_phase::kRelease), ...);
    }
    if constexpr (kKernel.mma_depth > 0) {
      ptx::wgmma_wait_group<0>();
      (probe.lap(consumer_phase::kMmaWait), ...);
      pipeline.release(previous_stage, lane, sender);
      (probe.lap(consumer_phase::kRelease), ...);
    }
    return origin;
  }

  /// Whether the last stage of a tile from the queue says that there is no other tile.
  __device__ __forceinline__ bool is_marked_last(int stage) const {
    return pipeline.read_origin(stage, place.own_sender(), lane).n % 2 != 0;
  }

  /// For the first stage of a piece of work, which is full: its tile's origin, whose scales the
  /// consumer then fetches.
  __device__ __forceinline__ TileOrigin<kKernel> begin(int stage) const {
    TileOrigin<kKernel> origin = pipeline.read_origin(stage, place.own_sender(), lane);
    if constexpr (kHasScales) {
      scales.fetch(params, origin.m, is_dynamic(kKernel) ? origin.n & ~1 : origin.n, part_row,
                   part_col);
    }
    return origin;
  }

  /// Waits for the first stage of a piece of work, which is not empty. Returns its tile's origin.
  template <class... Probe>
  __device__ __forceinline__ TileOrigin<kKernel> await_tile(const Work& work, Probe&... probe) {
    ptx::mbarrier_wait(pipeline.full(state.stage), state.parity());
    (probe.lap(consumer_phase::kWaitFull), ...);
    TileOrigin<kKernel> origin = begin(state.stage);
    (probe.ready(work.tile, origin), ...);
    if constexpr (is_dynamic(kKernel)) origin.n &= ~1;
    (probe.lap(consumer_phase::kMmaIssue), ...);
    return origin;
  }

  /// Stores the blocks of the waiting tile to whose sums a piece of the next one is added.
  __device__ __forceinline__ void store_waiting(Accumulators<kKernel>& accumulators,
                                                const WaitingTile<kKernel>& waiting, int piece) {
    using Pieces = PromotedPieces<kKernel>;
    if (piece > 0 && !Pieces::kAreBlocks) return;
    const int end = Pieces::kAreBlocks ? piece + 1 : mma_blocks(kKernel);
    waiting.store(accumulators, params, staging, Pieces::first_block(piece), end, lane);
  }

  /// As multiply(), with sums that are promoted (tiled/promotion.cuh) after each stage.
  template <class... Probe>
  __device__ __forceinline__ TileOrigin<kKernel> multiply_promoted_stages(
      const Work& work, Accumulators<kKernel>& accumulators, WaitingTile<kKernel>& waiting,
      Probe&... probe) {
    using Pieces = PromotedPieces<kKernel>;
    using Scales = StageScales<kKernel>;
    constexpr int kLast = Pieces::kCount - 1;
    TileOrigin<kKernel> origin{};
    PromotedStage<typename Pieces::Sums, Scales> stages[kKernel.mma_depth + 1];
    bool is_full = false;  // the next stage, seen ahead of time
    const auto issue = [&](int k_block, int i, bool is_first = false) {
      auto& [sums, scales_of_stage, stage] = stages[i];
      const bool is_last = k_block + 1 == work.end;
      stage = state.stage;
      if (!is_full) ptx::mbarrier_wait(pipeline.full(stage), state.parity());
      (probe.lap(consumer_phase::kWaitFull), ...);
      is_full = false;
      if (is_dynamic(kKernel) && is_last) is_last_tile = is_marked_last(stage);
      const u64 rows = rows_base + static_cast<u32>(stage * kRowsStageUnits);
      const u64 cols = cols_base + static_cast<u32>(stage * kColsStageUnits);
      if constexpr (kHasBlockScales) {
        scales_of_stage.load_cols(params, pipeline, stage, k_block, origin.n, part_row, part_col,
                                  warp, lane);
      }
#pragma unroll
      for (int piece = 0; piece <= kLast; ++piece) {
        load_rows_of_piece<kKernel>(scales_of_stage, piece);
        ptx::wgmma_fence();
        multiply_piece<kKernel>(sums, piece, rows, cols, 0);
        ptx::wgmma_commit_group();
        (probe.lap(consumer_phase::kMmaIssue), ...);
        if constexpr (kWaitsInSums) {
          if (is_first) store_waiting(accumulators, waiting, piece);
        }
        if (piece < kLast) {
          ptx::wgmma_wait_group<0>();
          (probe.lap(consumer_phase::kMmaWait), ...);
          promote_piece<kKernel>(accumulators, sums, piece, scales_of_stage);
          (probe.lap(consumer_phase::kPromote), ...);
        }
      }
      state.advance();
      if (kPingPong && is_last && !adds_addends<kKernel>(work.first, work.end, list.k_blocks)) {
        turn.pass();
      }
      if constexpr (kHoldsTiles) waiting.store(params, staging, is_last, lane);
    };
    const auto add = [&](int i, bool has_next) {
      auto& [sums, scales_of_stage, stage] = stages[i];
      (probe.lap(consumer_phase::kMmaWait), ...);
      if constexpr (!kHasBlockScales) {
        pipeline.release(stage, lane, sender);
      } else if constexpr (Scales::kAreInRegisters) {
        pipeline.release_read(stage, lane, sender, scales_of_stage.read);
      }
      if constexpr (Scales::kAreInRegisters) (probe.lap(consumer_phase::kRelease), ...);
      is_full = has_next && ptx::mbarrier_try_wait(pipeline.full(state.stage), state.parity());
      (probe.lap(consumer_phase::kWaitFull), ...);
      promote_piece<kKernel>(accumulators, sums, kLast, scales_of_stage);
      (probe.lap(consumer_phase::kPromote), ...);
      if constexpr (!Scales::kAreInRegisters) {
        pipeline.release_read(stage, lane, sender, scales_of_stage.read);
        (probe.lap(consumer_phase::kRelease), ...);
      }
    };
    if constexpr (!kWaitsInSums) forget<kKernel>(accumulators);
    turn.await();
    if (work.first < work.end) {
      origin = await_tile(work, probe...);
      is_full = true;
    }
    int next = work.first;
    if constexpr (kWaitsInSums) {
      issue(next++, 0, true);
      ptx::wgmma_wait_group<0>();
      add(0, next < work.end);
    }
    promote_each_stage<kKernel.mma_depth, promoted_group<kKernel>()>(next, work.end, issue, add);
    return origin;
  }

  /// As multiply(), with sums that are promoted after several stages.
  template <class... Probe>
  __device__ __forceinline__ TileOrigin<kKernel> multiply_promoted(
      const Work& work, Accumulators<kKernel>& accumulators, WaitingTile<kKernel>& waiting,
      Probe&... probe) {
    constexpr int kInterval = kKernel.promote / kKernel.bk;  // in stages
    TileOrigin<kKernel> origin{};
    typename PromotedPieces<kKernel>::Sums sums;
    StageScales<kKernel> no_scales;
    forget<kKernel>(accumulators);
    turn.await();
    for (int first = work.first; first < work.end; first += kInterval) {
      const int end = min(first + kInterval, work.end);
      int previous_stage = 0;
      for (int k_block = first; k_block < end; ++k_block) {
        const bool is_last = k_block + 1 == work.end;
        const int stage = state.stage;
        ptx::mbarrier_wait(pipeline.full(stage), state.parity());
        (probe.lap(consumer_phase::kWaitFull), ...);
        if (k_block == work.first) {
          origin = begin(stage);
          (probe.ready(work.tile, origin), ...);
        }
        if constexpr (is_dynamic(kKernel)) {
          if (is_last) is_last_tile = is_marked_last(stage);
          origin.n &= ~1;
        }
        const u64 rows = rows_base + static_cast<u32>(stage * kRowsStageUnits);
        const u64 cols = cols_base + static_cast<u32>(stage * kColsStageUnits);
        ptx::wgmma_fence();
        multiply_piece<kKernel>(sums, 0, rows, cols, k_block > first);
        ptx::wgmma_commit_group();
        (probe.lap(consumer_phase::kMmaIssue), ...);
        if (kPingPong && is_last && !adds_addends<kKernel>(work.first, work.end, list.k_blocks)) {
          turn.pass();
        }
        if constexpr (kHoldsTiles) waiting.store(params, staging, is_last, lane);
        ptx::wgmma_wait_group<kKernel.mma_depth>();
        (probe.lap(consumer_phase::kMmaWait), ...);
        if constexpr (kKernel.mma_depth == 0) {
          pipeline.release(stage, lane, sender);
        } else {
          if (k_block > first) pipeline.release(previous_stage, lane, sender);
          previous_stage = stage;
        }
        state.advance();
        (probe.lap(consumer_phase::kRelease), ...);
      }
      if constexpr (kKernel.mma_depth > 0) {
        ptx::wgmma_wait_group<0>();
        (probe.lap(consumer_phase::kMmaWait), ...);
        pipeline.release(previous_stage, lane, sender);
        (probe.lap(consumer_phase::kRelease), ...);
      }
      promote_piece<kKernel>(accumulators, sums, 0, no_scales);
      (probe.lap(consumer_phase::kPromote), ...);
    }
    return origin;
  }

  /// Multiplies the sums of a piece of work by the scales of its tile.
  __device__ __forceinline__ void scale_operands(const Work& work,
                                                 Accumulators<kKernel>& accumulators) const {
    if (work.first == work.end) return;  // nothing was fetched, and the sums are zero
    scales.multiply(warp, lane, [&](int block, int i) -> float& { return accumulators[block][i]; });
  }

  /// Adds up a tile whose K a cluster has cut. Returns the origin of the tile in D. It is computed
  /// without a stage, because this CTA may have none.
  __device__ __forceinline__ TileOrigin<kKernel> add_parts_of_cluster(
      const Work& work, Accumulators<kKernel>& accumulators) {
    if (work.first == work.end) {  // K has fewer blocks than parts
#pragma unroll
      for (int i = 0; i < accumulators_per_thread(kKernel); ++i) *value_at(accumulators, i) = 0;
    }
    add_in_cluster<kKernel>(accumulators, pipeline, place.part, consumer, place.rank);
    return place.origin(tile_at<kKernel>(work.tile, grid),
                        product_of<kKernel>(params, product_number<kKernel>(work.tile, grid)));
  }

  /// For a tile whose K is cut evenly (kStreamK): leaves the sums in the workspace, or adds those
  /// of the others. Returns whether the tile is complete.
  __device__ __forceinline__ bool add_parts_in_workspace(const Work& work,
                                                         Accumulators<kKernel>& accumulators) {
    const int reader = kPingPong ? 0 : consumer;
    if (work.parts < 0) {
      leave_sums<kKernel>(accumulators, {params, work.slot, place.rank, reader, warp, lane}, lane);
      return false;
    }
    for (int slot = 0; slot < work.parts; ++slot) {
      add_sums<kKernel>(accumulators, {params, work.slot + slot, place.rank, reader, warp, lane},
                        lane);
    }
    return true;
  }

  /// Element of D with which this consumer warp's part of a tile begins.
  __device__ __forceinline__ TileOrigin<kKernel> begin_of_warp(TileOrigin<kKernel> tile) const {
    const int row = part_row + warp * kStoreRows;
    if constexpr (is_gated(kKernel.gemm)) {  // two rows of B are a column of D
      return kKernel.swap ? tile.at(tile.m + part_col, (tile.n + part_row) / 2 + warp * kStoreRows)
                          : tile.at(tile.m + row, (tile.n + part_col) / 2);
    }
    return kKernel.swap ? tile.at(tile.m + part_col, tile.n + row)
                        : tile.at(tile.m + row, tile.n + part_col);
  }

  __device__ __forceinline__ void scale(Accumulators<kKernel>& accumulators) const {
#pragma unroll
    for (int i = 0; i < accumulators_per_thread(kKernel); ++i) {
      float& sum = *value_at(accumulators, i);
      sum = scaled_sum<kKernel>(sum, params);
    }
  }

  __device__ __forceinline__ Addends<kKernel> addends(Accumulators<kKernel>& accumulators) const {
    return {accumulators, params, consumer, part_row + warp * kStoreRows, part_col, lane};
  }

  /// For a tile that is cut into equal parts (kSplitK): leaves the sums of this part, and stores a
  /// share of the tile.
  __device__ __forceinline__ void share_sums(const Work& work,
                                             const Accumulators<kKernel>& accumulators,
                                             TileOrigin<kKernel> tile) const {
    const int reader = kPingPong ? 0 : consumer;
    const SplitSums<kKernel> sums(params, work, place.rank, reader * 4 + warp, lane);
    sums.leave(accumulators, lane);
    sums.add_and_store(params, begin_of_warp(tile), lane);
  }

  template <class... Probe>
  __device__ __forceinline__ void store(Accumulators<kKernel>& accumulators,
                                        WaitingTile<kKernel>& waiting, TileOrigin<kKernel> origin,
                                        Probe&... probe) {
    const TileOrigin<kKernel> begin = begin_of_warp(origin);
    if constexpr (kKernel.store == StorePath::kDirect) {
      store_direct<kKernel>(accumulators, params, begin, lane);
    } else if constexpr (kOverlapped) {
      waiting.take(accumulators, params, begin, lane);
      // There is no next tile during which to store. (Placed after the loop over tiles, this would
      // make ptxas 13.0 give consumers the registers of kernel entry, and spill.)
      if constexpr (kHoldsTiles) {
        if (is_last_tile) waiting.store(params, staging, true, lane);
      }
    } else {
      store_staged<kKernel>(accumulators, params, staging, begin, place.part, lane, probe...);
    }
  }
};

/// The main loop of one piece of work (Consumer::multiply).
template <TiledKernel kKernel, class... Probe>
__device__ __forceinline__ TileOrigin<kKernel> multiplied(Consumer<kKernel>& consumer,
                                                          const Work& work,
                                                          Accumulators<kKernel>& accumulators,
                                                          WaitingTile<kKernel>& waiting,
                                                          Probe&... probe) {
  if constexpr (kKernel.promote == kKernel.bk) {
    return consumer.multiply_promoted_stages(work, accumulators, waiting, probe...);
  } else if constexpr (kKernel.promote != 0) {
    return consumer.multiply_promoted(work, accumulators, waiting, probe...);
  } else {
    return consumer.multiply(work, accumulators, waiting, probe...);
  }
}

/// A consumer warpgroup: computes its rows or columns of every tile of this CTA, or every second
/// tile.
template <TiledKernel kKernel, class... Probe>
__device__ __forceinline__ void consume(const KernelParams& params,
                                        const TiledPipeline<kKernel>& pipeline,
                                        const Place<kKernel>& place, int number, Probe... probe) {
  using C = Consumer<kKernel>;
  C consumer(params, pipeline, place, number);
  Accumulators<kKernel> accumulators;
  [[maybe_unused]] WaitingTile<kKernel> waiting;
  const int first = C::kPingPong ? number : 0;
  if (first < consumer.list.count) fetch_output_scale<kKernel>(params, consumer.lane);
  for (int index = first; index < consumer.list.count && !consumer.is_last_tile;
       index += is_dynamic(kKernel) ? 0 : C::kStride) {
    const Work work = consumer.list.at(index);
    if (!is_dynamic(kKernel)) consumer.is_last_tile = index + C::kStride >= consumer.list.count;
    if (C::kPingPong && index > 0) {
      const Work other = consumer.list.at(index - 1);
      const bool has_addends =
          adds_addends<kKernel>(other.first, other.end, consumer.list.k_blocks);
      consumer.state.skip(other.end - other.first + (has_addends ? addend_stages(kKernel) : 0));
    }
    (probe.begin_tile(work.tile), ...);
    if constexpr (shares_sums(kKernel)) forget<kKernel>(accumulators);
    TileOrigin<kKernel> origin =
        multiplied<kKernel>(consumer, work, accumulators, waiting, probe...);
    (probe.end_main_loop(work.tile), ...);
    settle<kKernel>(accumulators);
    await_output_scale<kKernel>();
    if constexpr (C::kHasScales) consumer.scale_operands(work, accumulators);
    if constexpr (kKernel.gemm.epilogue.scaled && !scales_when_stored(kKernel)) {
      consumer.scale(accumulators);
    }
    if constexpr (copies_addends(kKernel)) {
      if (adds_addends<kKernel>(work.first, work.end, consumer.list.k_blocks)) {
        add_addends<kKernel>(consumer.addends(accumulators), pipeline, consumer.state,
                             consumer.sender, consumer.turn);
      }
    }
    if constexpr (adds_in_cluster(kKernel)) {
      origin = consumer.add_parts_of_cluster(work, accumulators);
    }
    if constexpr (shares_sums(kKernel)) {
      consumer.share_sums(work, accumulators, origin);
      continue;
    }
    if constexpr (adds_in_workspace(kKernel)) {
      if (!consumer.add_parts_in_workspace(work, accumulators)) continue;
    }
    if constexpr (waits_for_ring<kKernel>) {
      __syncwarp();  // some lanes may still be releasing the last stage
      ptx::named_barrier_sync<kKernel.consumers * kWarpgroupThreads>(kRingReadBarrier);
    }
    consumer.store(accumulators, waiting, origin, probe...);
    if constexpr (C::kWaitsInSums) {
      if (consumer.is_last_tile) {
        waiting.store(accumulators, params, consumer.staging, 0, mma_blocks(kKernel),
                      consumer.lane);
        (probe.end_tile(work.tile), ...);
        return;  // if it went on, ptxas 13.0 would compute addresses in each thread's registers
      }
    }
    (probe.end_tile(work.tile), ...);
  }
}

}  // namespace hgemm
