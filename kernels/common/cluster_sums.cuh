// Adds up a tile whose K a cluster has cut: its CTAs add their parts through distributed shared
// memory.
//
// Each box of a tile (cluster_split.h) has one owner. The other CTAs send their values of it by
// st.async. The owner adds them to its own in the order of ranks, not of arrival. The same thread
// of every CTA has the same elements of the tile in the same registers.
#pragma once

#include "common/cluster_split.h"
#include "common/pipeline.cuh"
#include "common/ptx.cuh"

namespace hgemm {

/// For one lane, before pipeline.init(), whose fence also covers these barriers: each barrier
/// awaits all data that peers send to one consumer.
template <auto kKernel>
__device__ __forceinline__ void init_sums(const Pipeline<kKernel>& pipeline, int rank) {
  const int values = box_value(kKernel, first_box(kKernel, rank + 1)) -
                     box_value(kKernel, first_box(kKernel, rank));
#pragma unroll
  for (int consumer = 0; consumer < consumer_count(kKernel); ++consumer) {
    ptx::mbarrier_init(pipeline.sums(consumer), 1);
    if (values > 0) {
      ptx::mbarrier_arrive_expect_tx(
          pipeline.sums(consumer),
          static_cast<u32>((kKernel.splits - 1) * values * sums_of_value(kKernel) * kSumBytes));
    }
  }
}

/// A thread's sum number `index`.
template <int kBlocks, int kValues>
__device__ __forceinline__ float* value_at(float (&blocks)[kBlocks][kValues], int index) {
  return &blocks[index / kValues][index % kValues];
}
template <int kValues>
__device__ __forceinline__ float* value_at(float (&values)[kValues], int index) {
  return &values[index];
}
/// The sums of a thread's values from `value` on, in the order of box_value(): four of the `which`
/// that make up each value (sums_of_value()).
template <auto kKernel, class Sums>
__device__ __forceinline__ float* sums_at(Sums& sums, int value, int which) {
  // A constant, as in gate_columns() (tiled/store.cuh).
  constexpr int kRun = sum_run(kKernel);
  return value_at(sums, sum_index(kKernel, kRun, value, which));
}

/// For a consumer of every CTA of the cluster, after its main loop: completes the sums in the boxes
/// that this rank owns. The other boxes are undefined afterwards. `rank` is among the CTAs that
/// share a tile; their ranks in the cluster are `first`, `first` + multicast_size() and so on.
template <auto kKernel, class Sums>
__device__ __forceinline__ void add_in_cluster(Sums& sums, const Pipeline<kKernel>& pipeline,
                                               int rank, int consumer, u32 first = 0) {
  const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
  constexpr int kSums = sums_of_value(kKernel);
  // Addresses of received sums: slot after slot for `receiver`, with four of each thread side by
  // side.
  const auto received = [&](int slot, int receiver, int value, int which) {
    const int begin = box_value(kKernel, first_box(kKernel, receiver));
    return pipeline.smem_base +
           static_cast<u32>((slot * consumer_count(kKernel) + consumer) * sent_bytes(kKernel) +
                            ((value - begin) * kSums + which * 4) * kSumBytes + thread * 16);
  };
  // Release and acquire are needed: data from peers overwrites stages that this CTA has read, and
  // arrives on barriers that it must have initialised.
  ptx::cluster_sync();
#pragma unroll
  for (int box = 0; box < store_boxes(kKernel); ++box) {
    const int owner = box_owner(kKernel, box);
    if (owner == rank) continue;
    const u32 target = first + static_cast<u32>(owner * multicast_size(kKernel));
    const u32 barrier = ptx::map_to_rank(pipeline.sums(consumer), target);
    const int slot = rank < owner ? rank : rank - 1;
#pragma unroll
    // Fixed length, because the loop is not unrolled otherwise.
    for (int i = 0; i < box_values(kKernel); i += 4) {
      const int value = box_value(kKernel, box) + i;
      if (value >= box_value(kKernel, box + 1)) continue;
#pragma unroll
      for (int which = 0; which < kSums; ++which) {
        ptx::store_async_v4(ptx::map_to_rank(received(slot, owner, value, which), target),
                            sums_at<kKernel>(sums, value, which), barrier);
      }
    }
  }
  if (first_box(kKernel, rank) == first_box(kKernel, rank + 1)) return;
  ptx::mbarrier_wait(pipeline.sums(consumer), 0);
#pragma unroll
  for (int box = 0; box < store_boxes(kKernel); ++box) {
    if (box_owner(kKernel, box) != rank) continue;
#pragma unroll
    // Fixed length, because the loop is not unrolled otherwise.
    for (int i = 0; i < box_values(kKernel); i += 4) {
      const int value = box_value(kKernel, box) + i;
      if (value >= box_value(kKernel, box + 1)) continue;
#pragma unroll
      for (int which = 0; which < kSums; ++which) {
        float* const own = sums_at<kKernel>(sums, value, which);
#pragma unroll
        for (int slot = 0; slot < kKernel.splits - 1; ++slot) {
          float part[4];
          ptx::load_shared_v4(part, received(slot, rank, value, which));
#pragma unroll
          for (int j = 0; j < 4; ++j) own[j] += part[j];
        }
      }
    }
  }
}

}  // namespace hgemm
