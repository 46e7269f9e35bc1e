// Tiles whose K a cluster has cut: its CTAs add up their parts through distributed shared memory.
//
// Each box of a tile (config.h, store_boxes) has one owner, to whom the others send theirs by
// st.async, and who adds them to its own in the order of their ranks, not in that of arrival. The
// same thread of every CTA has the same elements of the tile, in the same registers.
#pragma once

#include "pipeline.cuh"
#include "ptx.cuh"

namespace hgemm {

/// One lane, before pipeline.init(), whose fence is for these barriers too: each awaits all that
/// peers will send for one consumer.
template <KernelConfig kConfig>
__device__ __forceinline__ void init_sums(const Pipeline<kConfig>& pipeline, int rank) {
  const int values = box_value(kConfig, first_box(kConfig, rank + 1)) -
                     box_value(kConfig, first_box(kConfig, rank));
#pragma unroll
  for (int consumer = 0; consumer < kConfig.consumers; ++consumer) {
    ptx::mbarrier_init(pipeline.sums(consumer), 1);
    if (values > 0) {
      ptx::mbarrier_arrive_expect_tx(
          pipeline.sums(consumer),
          static_cast<u32>((kConfig.splits - 1) * values * kValueSumBytes));
    }
  }
}

/// A thread's value number `index`, in the order of box_value().
template <int kBlocks, int kValues>
__device__ __forceinline__ float* value_at(float (&blocks)[kBlocks][kValues], int index) {
  return &blocks[index / kValues][index % kValues];
}
template <int kValues>
__device__ __forceinline__ float* value_at(float (&values)[kValues], int index) {
  return &values[index];
}

/// A consumer of every CTA of the cluster, past its main loop: makes the sums complete in the boxes
/// that this rank owns; the others are of no use then.
template <KernelConfig kConfig, class Sums>
__device__ __forceinline__ void add_in_cluster(Sums& sums, const Pipeline<kConfig>& pipeline,
                                               int rank, int consumer) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
  // Where a peer's values arrive: those of `receiver` in slot after slot, four of each thread side
  // by side.
  const auto received = [&](int slot, int receiver, int value) {
    const int begin = box_value(kConfig, first_box(kConfig, receiver));
    return pipeline.smem_base +
           static_cast<u32>((slot * kConfig.consumers + consumer) * sent_bytes(kConfig) +
                            (value - begin) * kValueSumBytes + thread * 16);
  };
  // Released and acquired: what peers send overwrites stages that this CTA has read, and counts on
  // barriers that it must have initialised.
  ptx::cluster_sync();
#pragma unroll
  for (int box = 0; box < store_boxes(kConfig); ++box) {
    const int owner = box_owner(kConfig, box);
    if (owner == rank) continue;
    const u32 barrier = ptx::map_to_rank(pipeline.sums(consumer), static_cast<u32>(owner));
    const int slot = rank < owner ? rank : rank - 1;
#pragma unroll
    for (int i = 0; i < box_values(kConfig); i += 4) {  // a fixed length, or it is not unrolled
      const int value = box_value(kConfig, box) + i;
      if (value >= box_value(kConfig, box + 1)) continue;
      ptx::store_async_v4(ptx::map_to_rank(received(slot, owner, value), static_cast<u32>(owner)),
                          value_at(sums, value), barrier);
    }
  }
  if (first_box(kConfig, rank) == first_box(kConfig, rank + 1)) return;
  ptx::mbarrier_wait(pipeline.sums(consumer), 0);
#pragma unroll
  for (int box = 0; box < store_boxes(kConfig); ++box) {
    if (box_owner(kConfig, box) != rank) continue;
#pragma unroll
    for (int i = 0; i < box_values(kConfig); i += 4) {  // a fixed length, or it is not unrolled
      const int value = box_value(kConfig, box) + i;
      if (value >= box_value(kConfig, box + 1)) continue;
#pragma unroll
      for (int slot = 0; slot < kConfig.splits - 1; ++slot) {
        float part[4];
        ptx::load_shared_v4(part, received(slot, rank, value));
#pragma unroll
        for (int j = 0; j < 4; ++j) value_at(sums, value)[j] += part[j];
      }
    }
  }
}

}  // namespace hgemm
