// The swap-AB kernel, for few rows of A (decode): D[m x n] = A[m x k] * B[n x k]^T. B, the weight,
// is read once, as fast as memory delivers it.
//
// The operands are swapped: 64 rows of B are wgmma's M, and 8 to 256 rows of A its N. So a few rows
// of A take little shared memory, and most data in flight is B. A CTA has one tile or a part of K
// of one, and a cluster adds up the parts of its tile through shared memory: 4096 columns are only
// 64 tiles for 132 SMs, but 128 halves of tiles.
//
// A launch may last only 10 us, so the time before the first copy and after the last one matters.
// There is no setmaxnreg, and the CTAs of a cluster wait for one another only once.
//
// Read top to bottom: producer, consumer, store, kernel. common/cluster_sums.cuh adds up.
#pragma once

#include "common/cluster_sums.cuh"
#include "common/epilogue.cuh"
#include "common/mma.cuh"
#include "common/operand_copy.cuh"
#include "common/output_8_bit.cuh"
#include "common/params.h"
#include "common/pipeline.cuh"
#include "common/promotion.cuh"
#include "common/ptx.cuh"
#include "common/scales.cuh"
#include "common/store.cuh"
#include "common/tma.cuh"
#include "swap_ab/rules.h"

namespace hgemm {

/// The work of a CTA: k blocks [first, end) of the tile that begins with these rows of A and B.
struct SwapAbPart {
  int a_row, b_row;
  int first, end;
};

template <SwapAbKernel kKernel>
__device__ __forceinline__ SwapAbPart swap_ab_part(const KernelParams& params, int rank) {
  const TileGrid grid = tile_grid(extent_m<kKernel>(params), extent_n<kKernel>(params), kKernel);
  const TileCoord tile = linear_tile(static_cast<int>(blockIdx.x) / kKernel.splits, grid);
  const KRange k = part_of_k(ceil_div(extent_k<kKernel>(params), kKernel.bk), rank, kKernel.splits);
  return {tile.m * kKernel.bm, tile.n * kKernel.bn, k.first, k.end};
}

// ---- Producer ----

/// For one lane: sets the number of bytes that the stage waits for, including those of load_a(),
/// which must follow, and copies B.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void load_b(const KernelParams& params,
                                       const Pipeline<kKernel>& pipeline, int stage, int k_block,
                                       int row) {
  ptx::mbarrier_arrive_expect_tx(
      pipeline.full(stage),
      a_stage_bytes(kKernel) + b_stage_bytes(kKernel) + arriving_scales<kKernel>());
  load_boxes<BBoxes<kKernel>, kKernel.b_hint>(params.b, pipeline.b_stage(stage),
                                              pipeline.full(stage), k_block * kKernel.bk, row);
}
/// Likewise: copies A, and scales of blocks, which the kernel before may write, too.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void load_a(const KernelParams& params,
                                       const Pipeline<kKernel>& pipeline, int stage, int k_block,
                                       const SwapAbPart& part) {
  const int k = k_block * kKernel.bk;
  load_boxes<ABoxes<kKernel>, kKernel.a_hint>(params.a, pipeline.a_stage(stage),
                                              pipeline.full(stage), k, part.a_row);
  load_block_scales<kKernel>(params, pipeline, stage, k, part.a_row, part.b_row);
}

/// Prefetches the first ring of B into L2, before the kernels before this one have completed: their
/// writes arrive in L2, too, so nothing there becomes stale. Only the first row of tiles does so,
/// because the others read the same B.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void prefetch_b(const KernelParams& params, const SwapAbPart& part,
                                           int filled) {
  if (part.a_row != 0) return;
  for (int i = 0; i < filled; ++i) {
    prefetch_boxes<BBoxes<kKernel>>(params.b, (part.first + i) * kKernel.bk, part.b_row);
  }
}

/// The first ring of copies, by one warp before the CTA's first barrier. By lane 0: with
/// elect_one() launches took 0.7 % longer (analysis/kernel-notes.md, "One thread that ptxas knows
/// to be alone"). Unless B is read late, no kernel that may still run writes B (SwapAbConfig::pdl),
/// so its copies need not wait for the kernels before this one.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void fill_ring(const KernelParams& params,
                                          const Pipeline<kKernel>& pipeline, const SwapAbPart& part,
                                          int lane) {
  const int filled = min(part.end - part.first, kKernel.stages);
  const auto load_ring = [&] {
    for (int i = 0; i < filled; ++i) {
      load_b(params, pipeline, i, part.first + i, part.b_row);
      if constexpr (!reads_b_early(kKernel)) {
        load_a(params, pipeline, i, part.first + i, part);
      }
    }
  };
  if (lane == 0) {
    if constexpr (kKernel.late) {
      prefetch_b<kKernel>(params, part, filled);
    } else {
      load_ring();
    }
  }
  __syncwarp();
  if constexpr (kKernel.pdl) {
    if constexpr (!kKernel.hold) ptx::griddepcontrol_launch_dependents();
    ptx::griddepcontrol_wait();
    if (lane == 0) {
      if constexpr (kKernel.late) {
        load_ring();
      } else {
        for (int i = 0; i < filled; ++i) {
          load_a(params, pipeline, i, part.first + i, part);
        }
      }
    }
    __syncwarp();
  }
}

/// All later copies.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void refill_ring(const KernelParams& params,
                                            const Pipeline<kKernel>& pipeline,
                                            const SwapAbPart& part) {
  typename Pipeline<kKernel>::State state{0, 1};
  for (int k_block = part.first + kKernel.stages; k_block < part.end; ++k_block) {
    ptx::mbarrier_wait(pipeline.empty(state.stage), state.parity() ^ 1);
    load_b(params, pipeline, state.stage, k_block, part.b_row);
    load_a(params, pipeline, state.stage, k_block, part);
    state.advance();
  }
}

// ---- Consumers ----

template <SwapAbKernel kKernel>
using SwappedAccumulators = float[accumulators_per_thread(kKernel)];

inline constexpr int kConsumerBarrier = 1;  ///< named, + consumer
inline constexpr int kAllConsumersBarrier = kConsumerBarrier + 3;

template <SwapAbKernel kKernel>
using SwapAbATile =
    OperandTile<kKernel.gemm.a_major, kKernel.bm, kKernel.bk, element_bytes(kKernel.gemm.input)>;
template <SwapAbKernel kKernel>
using SwapAbBTile =
    OperandTile<kKernel.gemm.b_major, kKernel.bn, kKernel.bk, element_bytes(kKernel.gemm.input)>;
template <SwapAbKernel kKernel>
using SwapAbMma = Mma<kKernel.bm, input_b(kKernel.gemm), input_a(kKernel.gemm),
                      kKernel.gemm.b_major, kKernel.gemm.a_major>;

template <SwapAbKernel kKernel>
using SwapAbStageScales = PromotionScales<kKernel, 1, kKernel.bm, true>;

/// Adds the tensor cores' sums, whose wgmmas are complete, to the consumer's own.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void promote(SwappedAccumulators<kKernel>& accumulators,
                                        SwappedAccumulators<kKernel>& sums,
                                        SwapAbStageScales<kKernel>& scales) {
  settle_sums<accumulators_per_thread(kKernel)>(sums);
  add_promoted<kKernel.bm / 8>(accumulators, sums, scales, 0, 0);
}

/// As multiply_part(), with sums of 8-bit products that are promoted (tiled/promotion.cuh says what
/// that is) after each stage.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void multiply_promoted_stages(SwappedAccumulators<kKernel>& accumulators,
                                                         const KernelParams& params,
                                                         const Pipeline<kKernel>& pipeline,
                                                         const SwapAbPart& part, int consumer,
                                                         int lane) {
  using A = SwapAbATile<kKernel>;
  using B = SwapAbBTile<kKernel>;
  using Scales = SwapAbStageScales<kKernel>;
  constexpr bool kHasBlockScales = is_of_blocks(kKernel.gemm.scaling);
  typename Pipeline<kKernel>::State state;
  PromotedStage<SwappedAccumulators<kKernel>, Scales> stages[kKernel.mma_depth + 1];
  bool is_full = false;  // the next stage, seen ahead of time
  const auto issue = [&](int k_block, int i) {
    auto& [sums, scales, stage] = stages[i];
    stage = state.stage;
    if (!is_full) ptx::mbarrier_wait(pipeline.full(stage), state.parity());
    is_full = false;
    const u64 b =
        B::descriptor(pipeline.b_stage(stage)) + static_cast<u32>(B::mn_units(consumer * kMmaM));
    const u64 a = A::descriptor(pipeline.a_stage(stage));
    if constexpr (kHasBlockScales) {
      scales.load_cols(params, pipeline, stage, k_block, part.b_row, consumer * kMmaM, 0,
                       static_cast<int>(threadIdx.x) / 32 % 4, lane);
      scales.load_rows(0);
    }
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < kKernel.bk; k += mma_k(kKernel.gemm.input)) {
      SwapAbMma<kKernel>::mma(sums, b + static_cast<u32>(B::k_units(k)),
                              a + static_cast<u32>(A::k_units(k)), k > 0 ? 1 : 0);
    }
    ptx::wgmma_commit_group();
    state.advance();
  };
  const auto add = [&](int i, bool has_next) {
    auto& [sums, scales, stage] = stages[i];
    if constexpr (!kHasBlockScales) pipeline.release(stage, lane, 0);
    is_full = has_next && ptx::mbarrier_try_wait(pipeline.full(state.stage), state.parity());
    promote<kKernel>(accumulators, sums, scales);
    if constexpr (kHasBlockScales) pipeline.release_read(stage, lane, 0, scales.read);
  };
#pragma unroll
  for (int i = 0; i < accumulators_per_thread(kKernel); ++i) accumulators[i] = 0;
  // (Stages in straight code would make the widest kernels without depth spill.)
  constexpr int kGroup = kKernel.mma_depth == 0 ? 1 : kPromotedGroup;
  promote_each_stage<kKernel.mma_depth, kGroup>(part.first, part.end, issue, add);
}

/// As multiply_part(), with sums that are promoted after several stages.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void multiply_promoted(SwappedAccumulators<kKernel>& accumulators,
                                                  const Pipeline<kKernel>& pipeline,
                                                  const SwapAbPart& part, int consumer, int lane) {
  using A = SwapAbATile<kKernel>;
  using B = SwapAbBTile<kKernel>;
  constexpr int kInterval = kKernel.promote / kKernel.bk;  // in stages
  typename Pipeline<kKernel>::State state;
  SwappedAccumulators<kKernel> sums;
  SwapAbStageScales<kKernel> no_scales;
#pragma unroll
  for (int i = 0; i < accumulators_per_thread(kKernel); ++i) accumulators[i] = 0;
#pragma unroll 1
  for (int first = part.first; first < part.end; first += kInterval) {
    const int end = min(first + kInterval, part.end);
    int previous_stage = 0;
#pragma unroll 1
    for (int k_block = first; k_block < end; ++k_block) {
      const int stage = state.stage;
      ptx::mbarrier_wait(pipeline.full(stage), state.parity());
      const u64 b =
          B::descriptor(pipeline.b_stage(stage)) + static_cast<u32>(B::mn_units(consumer * kMmaM));
      const u64 a = A::descriptor(pipeline.a_stage(stage));
      ptx::wgmma_fence();
#pragma unroll
      for (int k = 0; k < kKernel.bk; k += mma_k(kKernel.gemm.input)) {
        SwapAbMma<kKernel>::mma(sums, b + static_cast<u32>(B::k_units(k)),
                                a + static_cast<u32>(A::k_units(k)),
                                k > 0 || k_block > first ? 1 : 0);
      }
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<kKernel.mma_depth>();
      if constexpr (kKernel.mma_depth == 0) {
        pipeline.release(stage, lane, 0);
      } else {
        if (k_block > first) pipeline.release(previous_stage, lane, 0);
        previous_stage = stage;
      }
      state.advance();
    }
    if constexpr (kKernel.mma_depth > 0) {
      ptx::wgmma_wait_group<0>();
      pipeline.release(previous_stage, lane, 0);
    }
    promote<kKernel>(accumulators, sums, no_scales);
  }
}

/// Multiplies all k blocks of the part.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void multiply_part(SwappedAccumulators<kKernel>& accumulators,
                                              const Pipeline<kKernel>& pipeline,
                                              const SwapAbPart& part, int consumer, int lane) {
  using A = SwapAbATile<kKernel>;
  using B = SwapAbBTile<kKernel>;
  using Mma = SwapAbMma<kKernel>;
  typename Pipeline<kKernel>::State state;
  int previous_stage = 0;
#pragma unroll 1
  for (int k_block = part.first; k_block < part.end; ++k_block) {
    const int stage = state.stage;
    ptx::mbarrier_wait(pipeline.full(stage), state.parity());
    const u64 b =
        B::descriptor(pipeline.b_stage(stage)) + static_cast<u32>(B::mn_units(consumer * kMmaM));
    const u64 a = A::descriptor(pipeline.a_stage(stage));
    ptx::wgmma_fence();
#pragma unroll
    for (int k = 0; k < kKernel.bk; k += mma_k(kKernel.gemm.input)) {
      Mma::mma(accumulators, b + static_cast<u32>(B::k_units(k)),
               a + static_cast<u32>(A::k_units(k)), k > 0 || k_block > part.first ? 1 : 0);
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<kKernel.mma_depth>();
    if constexpr (kKernel.mma_depth == 0) {
      pipeline.release(stage, lane, 0);
    } else {
      if (k_block > part.first) pipeline.release(previous_stage, lane, 0);
      previous_stage = stage;
    }
    state.advance();
  }
  ptx::wgmma_wait_group<0>();  // no producer waits for the last stage's release
  // The compiler does not know that only wait_group makes the accumulators readable.
#pragma unroll
  for (int i = 0; i < accumulators_per_thread(kKernel); ++i) {
    asm volatile("" : "+f"(accumulators[i]));
  }
  if (part.first == part.end) {  // K has fewer blocks than parts
#pragma unroll
    for (int i = 0; i < accumulators_per_thread(kKernel); ++i) accumulators[i] = 0;
  }
}

/// Writes a warp's part of a group, 8 rows of A by 16 rows of B, transposed into the consumer's
/// box.
///
/// The fragment has B's rows along wgmma's M and A's rows along its N. stmatrix transposes 16-bit
/// elements: lanes 0..7 address the rows of A of the warp's first 8 columns, lanes 8..15 those of
/// its next 8. fp32 elements are written one by one. 8-bit ones are transposed among the lanes, and
/// each lane writes two neighbours of a row at once.
///
/// With a gate the warp has 8 columns of D, and the first two values are outputs: 16-bit ones are
/// transposed among the lanes, too.
template <SwapAbKernel kKernel>
struct GroupWriter {
  static constexpr bool kPairs = element_bytes(kKernel.gemm.output) == 2;
  int warp, lane;
  u32 lane_offset;  ///< offset for the address of stmatrix

  __device__ __forceinline__ GroupWriter(int this_warp, int this_lane)
      : warp(this_warp), lane(this_lane) {
    const int row = lane % 8;
    const int chunk = warp * 2 + lane / 8 % 2;
    lane_offset = static_cast<u32>(row * kSwizzleBytes + swizzled_chunk(chunk, row) * 16);
  }
  __device__ __forceinline__ void write(const float* value, u32 box) const {
    if constexpr (kStores8Bit<kKernel>) {
      const u32 bytes = transposed_group(packed_group<kKernel>(value, output_scale<kKernel>()));
      constexpr int kWarpCols = is_gated(kKernel.gemm) ? 8 : 16;
      const u32 pair = box + static_cast<u32>(lane / 4 * atom_row_bytes(kKernel) +
                                              warp * kWarpCols + 2 * (lane % 4));
      ptx::store_shared_u16(pair, bytes);
      if constexpr (!is_gated(kKernel.gemm)) ptx::store_shared_u16(pair + 8, bytes >> 16);
    } else if constexpr (is_gated(kKernel.gemm) && kPairs) {
      const u32 pair = ptx::transposed(ptx::pack<kKernel.gemm.output>(value[0], value[1]));
      const int column = warp * 8 + 2 * (lane % 4);
      ptx::store_shared(box + static_cast<u32>(lane / 4 * atom_row_bytes(kKernel) + column * 2),
                        __uint_as_float(pair));
    } else if constexpr (is_gated(kKernel.gemm)) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int row = 2 * (lane % 4) + i;
        const int column = warp * 8 + lane / 4;
        ptx::store_shared(
            box + static_cast<u32>(row * kSwizzleBytes + swizzled_chunk(column / 4, row) * 16 +
                                   column % 4 * 4),
            value[i]);
      }
    } else if constexpr (kPairs) {
      ptx::stmatrix_x2_transposed(box + lane_offset,
                                  ptx::pack<kKernel.gemm.output>(value[0], value[1]),
                                  ptx::pack<kKernel.gemm.output>(value[2], value[3]));
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = 2 * (lane % 4) + i % 2;
        const int column = warp * 16 + i / 2 * 8 + lane / 4;
        const int atom = column / store_cols(kKernel);
        const int chunk = column % store_cols(kKernel) / 4;
        ptx::store_shared(box + static_cast<u32>(atom * atom_bytes(kKernel) + row * kSwizzleBytes +
                                                 swizzled_chunk(chunk, row) * 16 + column % 4 * 4),
                          value[i]);
      }
    }
  }
};

/// The column of D with which a tile begins.
template <SwapAbKernel kKernel>
__device__ __forceinline__ int column_of_d(const SwapAbPart& part) {
  return is_gated(kKernel.gemm) ? part.b_row / 2 : part.b_row;
}

/// Stores this rank's groups to an output: each group, 8 rows of A by this consumer's 64 rows of B,
/// is transposed into shared memory and stored from there, clipped at the edges of D.
template <SwapAbKernel kKernel, Output kOutput = Output::kD>
__device__ __forceinline__ void store_groups(const SwappedAccumulators<kKernel>& accumulators,
                                             const KernelParams& params,
                                             const Pipeline<kKernel>& pipeline,
                                             const SwapAbPart& part, int rank, int consumer,
                                             int lane) {
  constexpr int kBoxBytes = box_bytes(kKernel);
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const int first = first_box(kKernel, rank);
  const int end = first_box(kKernel, rank + 1);
  const u32 staging =
      pipeline.smem_base +
      static_cast<u32>(output_offset(kKernel) + consumer * most_boxes(kKernel) * kBoxBytes);
  const GroupWriter<kKernel> writer(warp, lane);
#pragma unroll
  for (int group = 0; group < store_boxes(kKernel); ++group) {
    if (box_owner(kKernel, group) != rank) continue;
    writer.write(&accumulators[box_value(kKernel, group)],
                 staging + static_cast<u32>((group - first) * kBoxBytes));
  }
  if constexpr (stores_by_tma(kKernel)) ptx::fence_proxy_async();
  ptx::named_barrier_sync<kWarpgroupThreads>(kConsumerBarrier + consumer);
  const int column = column_of_d<kKernel>(part) + consumer * box_cols_of_d(kKernel);
  if constexpr (!stores_by_tma(kKernel)) {
    for (int group = first + warp; group < end; group += kWarpgroupThreads / 32) {
#pragma unroll
      for (int atom = 0; atom < atoms_per_box(kKernel); ++atom) {
        store_rows_of_box<kKernel, kGroupRows, store_cols(kKernel)>(
            params, [&] { return pointer_of<kOutput>(params); },
            staging + static_cast<u32>((group - first) * kBoxBytes + atom * atom_bytes(kKernel)),
            part.a_row + group * kGroupRows, column + atom * store_cols(kKernel), lane);
      }
    }
  } else if (warp == 0 && lane == 0) {
    for (int group = first; group < end; ++group) {
#pragma unroll
      for (int atom = 0; atom < atoms_per_box(kKernel); ++atom) {
        ptx::tma_store<kKernel.d_hint>(
            map_of<kOutput>(params),
            staging + static_cast<u32>((group - first) * kBoxBytes + atom * atom_bytes(kKernel)),
            column + atom * store_cols(kKernel), part.a_row + group * kGroupRows);
      }
    }
    ptx::bulk_commit_group();
    ptx::bulk_wait_group_read<0>();  // shared memory must outlive the copies that read it
  }
}

/// Activates the gates of this rank's groups and multiplies them by their ups, in place: outputs
/// are the first two values of a group.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void gate_tile(SwappedAccumulators<kKernel>& accumulators, int rank) {
#pragma unroll
  for (int group = 0; group < store_boxes(kKernel); ++group) {
    if (adds_in_cluster(kKernel) && box_owner(kKernel, group) != rank) continue;
    float* const values = &accumulators[box_value(kKernel, group)];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      values[i] = activate<kKernel.gemm.epilogue.activation>(values[i]) * values[i + 2];
    }
  }
}

/// D of this rank's groups, which have been stored as the second output, in place.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void activate_tile(SwappedAccumulators<kKernel>& accumulators,
                                              const KernelParams& params, int rank) {
#pragma unroll
  for (int group = 0; group < store_boxes(kKernel); ++group) {
    if (adds_in_cluster(kKernel) && box_owner(kKernel, group) != rank) continue;
    activate_groups<kKernel, 1, kKernel.gemm.epilogue.activation, false>(
        &accumulators[box_value(kKernel, group)], params);
  }
}

/// The epilogue on this rank's groups, in place.
template <SwapAbKernel kKernel, int kGroup = 0>
__device__ __forceinline__ void finish_tile(SwappedAccumulators<kKernel>& accumulators,
                                            const KernelParams& params, const SwapAbPart& part,
                                            int rank, int consumer, int lane) {
  constexpr int kSpare = entry_registers(kKernel) - accumulators_per_thread(kKernel);
  constexpr int kMost = adds_in_cluster(kKernel) ? 1 : groups_at_once<kKernel>(kSpare);
  constexpr int kLeft = store_boxes(kKernel) - kGroup;
  constexpr int kNow = kLeft < kMost ? kLeft : kMost;
  if constexpr (kLeft > 0) {
    if (!adds_in_cluster(kKernel) || box_owner(kKernel, kGroup) == rank) {
      const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
      finish_groups<kKernel, true, kNow>(&accumulators[box_value(kKernel, kGroup)], params,
                                         part.a_row + kGroup * kGroupRows,
                                         part.b_row + consumer * kMmaM + warp * 16, lane);
    }
    finish_tile<kKernel, kGroup + kNow>(accumulators, params, part, rank, consumer, lane);
  }
}

// ---- Scales ----

template <SwapAbKernel kKernel>
using SwapAbScales = Scales<kKernel, kMmaM, kKernel.bm, true>;

template <SwapAbKernel kKernel>
__device__ __forceinline__ SwapAbScales<kKernel> scales_of(const Pipeline<kKernel>& pipeline,
                                                           int consumer) {
  return {pipeline.smem_base +
              static_cast<u32>(smem_layout(kKernel).scales +
                               consumer * scale_bytes(kKernel.gemm.scaling, kMmaM, kKernel.bm)),
          consumer};
}
/// Before the main loop, and after the kernels before this one, which may write the scales.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void fetch_scales(const SwapAbScales<kKernel>& scales,
                                             const KernelParams& params, const SwapAbPart& part) {
  if constexpr (kKernel.pdl) ptx::griddepcontrol_wait();
  scales.fetch(params, part.a_row, part.b_row, scales.consumer * kMmaM, 0);
}

// ---- Kernel ----

/// Body of the kernel. Launch it with threads_per_cta(kKernel) threads,
/// smem_layout(kKernel).total_bytes of dynamic shared memory, and one cluster of
/// cluster_size(kKernel) CTAs for each tile.
template <SwapAbKernel kKernel>
__device__ __forceinline__ void swap_ab_gemm(const KernelParams& params) {
  static_assert(why_invalid(kKernel) == SwapAbRule::kValid, "rules.h rejects this config");
  static_assert(kKernel.fixed == (kKernel.gemm.m != 0), "extents are constants if `fixed` says so");
  constexpr bool kHasScales = scales_tiles(kKernel.gemm.scaling);
  extern __shared__ __align__(1024) unsigned char smem[];
  const Pipeline<kKernel> pipeline(smem);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // Broadcast from lane 0, so that the compiler knows that the role is uniform in the warp.
  const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0);
  const int rank = adds_in_cluster(kKernel) ? static_cast<int>(ptx::cluster_rank()) : 0;
  const SwapAbPart part = swap_ab_part<kKernel>(params, rank);

  if (warp == consumer_count(kKernel) * 4) {
    ptx::check_swizzle_alignment(pipeline.smem_base);
    if (lane == 0) {  // with one lane for each, racecheck warns that only __syncwarp orders them
      if constexpr (adds_in_cluster(kKernel)) init_sums(pipeline, rank);
      pipeline.init_stages();
      ptx::fence_mbarrier_init();
    }
    fill_ring(params, pipeline, part, lane);
    ptx::cta_sync();
    if (ptx::elect_one()) refill_ring(params, pipeline, part);
    if constexpr (kKernel.hold) {
      __syncwarp();
      ptx::griddepcontrol_launch_dependents();
    }
    return;  // a cluster barrier does not wait for threads that have ended
  }
  const int consumer = warp / 4;
  // (Consumers copy nothing, and D follows data whose copies have waited: the wait stands because
  // the kernel was measured with it.)
  if constexpr (kKernel.late) ptx::griddepcontrol_wait();
  ptx::cta_sync();
  SwappedAccumulators<kKernel> accumulators;
  fetch_output_scale<kKernel>(params, lane);
  if constexpr (kHasScales) fetch_scales<kKernel>(scales_of(pipeline, consumer), params, part);
  if constexpr (kKernel.promote == kKernel.bk) {
    multiply_promoted_stages<kKernel>(accumulators, params, pipeline, part, consumer, lane);
  } else if constexpr (kKernel.promote != 0) {
    multiply_promoted<kKernel>(accumulators, pipeline, part, consumer, lane);
  } else {
    multiply_part<kKernel>(accumulators, pipeline, part, consumer, lane);
  }
  await_output_scale<kKernel>();
  if constexpr (kHasScales) {
    scales_of(pipeline, consumer).multiply(warp % 4, lane, [&](int, int i) -> float& {
      return accumulators[i];
    });
  }
  if constexpr (adds_in_cluster(kKernel)) {
    add_in_cluster<kKernel>(accumulators, pipeline, rank, consumer);
    if (first_box(kKernel, rank) == first_box(kKernel, rank + 1)) return;
  } else {
    // The output is staged in memory whose stages other consumers may still read.
    ptx::named_barrier_sync<consumer_count(kKernel) * kWarpgroupThreads>(kAllConsumersBarrier);
  }
  if constexpr (is_gated(kKernel.gemm)) {
    gate_tile<kKernel>(accumulators, rank);
  } else if constexpr (has_epilogue(kKernel.gemm)) {
    await_epilogue_operands<kKernel>();
    finish_tile<kKernel>(accumulators, params, part, rank, consumer, lane);
  }
  if constexpr (kKernel.gemm.epilogue.aux) {
    store_groups<kKernel, Output::kAux>(accumulators, params, pipeline, part, rank, consumer, lane);
    activate_tile<kKernel>(accumulators, params, rank);
    // The staging may be written again when all of it has been read.
    __syncwarp();
    ptx::named_barrier_sync<kWarpgroupThreads>(kConsumerBarrier + consumer);
  }
  store_groups<kKernel>(accumulators, params, pipeline, part, rank, consumer, lane);
}

}  // namespace hgemm
