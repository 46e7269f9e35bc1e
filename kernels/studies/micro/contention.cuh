// wgmma beside TMA: do the copy engine's writes to shared memory delay wgmma's reads?
//
// One or two warpgroups issue wgmmas on two stages that never change, as in wgmma.cuh. Another
// warp, the filler, has TMA copy boxes of 32 KB from the L2 into other stages, one box every
// `interval_clk` cycles. Only the filler waits for these boxes, so a slower wgmma is due to the
// shared resource: the port of shared memory, 128 bytes per cycle. The rate of the copies is
// measured, not assumed: the kernel counts the boxes that land between the filler's first and last
// clock. With only one active SM, the L2 can deliver more than when all SMs read at once.
//
// While the filler waits for its next box it polls a flag in shared memory, one access in about ten
// cycles.
#pragma once

#include "studies/micro/copy.cuh"
#include "studies/micro/wgmma.cuh"

namespace hgemm::micro {

/// Longer than any point takes. In cycles of the SM, because the filler reads that clock anyway.
inline constexpr u64 kFillLimitClk = 4'000'000'000;

/// Issues boxes until `done` counts all warpgroups, then waits for the boxes in flight. For one
/// thread.
__device__ __forceinline__ void fill_until_done(const TensorMap& map,
                                                const ContentionParams& params, u32 slots,
                                                u32 barriers, const volatile int* done) {
  SectionTime time{};
  u32 boxes = 0;
  const auto wait = [&](u32 box) {
    poll_wait(barriers + box % kFillSlots * 8, box / kFillSlots & 1);
  };
  time.start_ns = timer_ns();
  time.start_clk = clock_cycles();
  ItemPosition at(params.walk);
  u64 next = time.start_clk;
#pragma unroll 1
  while (*done < params.warpgroups) {
    const u64 now = clock_cycles();
    if (now - time.start_clk > kFillLimitClk) asm volatile("trap;");
    if (now < next) continue;
    next += params.interval_clk;
    if (boxes >= kFillSlots) wait(boxes - kFillSlots);
    const u32 barrier = barriers + boxes % kFillSlots * 8;
    ptx::mbarrier_arrive_expect_tx(barrier, kFillBoxBytes);
    ptx::tma_load(slots + boxes % kFillSlots * kFillBoxBytes, map, barrier,
                  static_cast<int>(at.column) * 64, static_cast<int>(at.row) * kFillBoxRows);
    at.advance(params.walk);
    ++boxes;
  }
#pragma unroll 1
  for (u32 box = boxes > kFillSlots ? boxes - kFillSlots : 0; box < boxes; ++box) wait(box);
  time.stop_clk = clock_cycles();
  time.stop_ns = timer_ns();
  params.times[(blockIdx.x * static_cast<u32>(params.warpgroups + 1) +
                static_cast<u32>(params.warpgroups)) *
               kSections] = time;
  params.boxes[blockIdx.x] = boxes;
}

/// Launched with 128 threads per warpgroup, at most Mma::kWarpgroups, and 32 more;
/// contention_smem_bytes() of shared memory.
template <class Mma>
__device__ __forceinline__ void time_contention(const TensorMap& map,
                                                const ContentionParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  __shared__ int done;
  const int ring_bytes = contention_ring_bytes(Mma::kN, params.warpgroups);
  const u32 smem_base = ptx::smem_address(smem);
  const u32 slots = smem_base + static_cast<u32>(ring_bytes);
  const u32 barriers = slots + kFillSlots * kFillBoxBytes;
  if (smem_base % 1024 != 0) asm volatile("trap;");  // swizzle atoms would be split
  fill_operands<Mma::kFp8>(smem, ring_bytes, params.operands);
  if (threadIdx.x == 0) {
    done = 0;
    for (u32 slot = 0; slot < kFillSlots; ++slot) ptx::mbarrier_init(barriers + slot * 8, 1);
    ptx::fence_mbarrier_init();
  }
  __syncthreads();

  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0);
  if (warpgroup == params.warpgroups) {
    if (threadIdx.x % 32 == 0 && params.fills != 0) {
      fill_until_done(map, params, slots, barriers, &done);
    }
    return;
  }
  WgmmaActor<Mma, kContentionStages> actor(smem_base, params.operands, warpgroup);
  const bool records = threadIdx.x % 128 == 0;
  timed_sections(
      params.lengths,
      records ? params.times +
                    (static_cast<int>(blockIdx.x) * (params.warpgroups + 1) + warpgroup) * kSections
              : nullptr,
      // Synchronises the warpgroups only: the filler runs on through all sections.
      [&] { asm volatile("bar.sync 1, %0;" ::"r"(params.warpgroups * 128)
                         : "memory"); },
      [&](int, int rounds) { actor.issue(rounds); });
  if (records) atomicAdd(&done, 1);
  const float sum = actor.checksum();
  if (threadIdx.x == 0) params.checksums[blockIdx.x] = sum;
}

}  // namespace hgemm::micro
