// Reads the clocks around a piece of work, three times: warm-up, short, long. The reason is in
// micro_params.h.
#pragma once

#include "common/ptx.cuh"
#include "studies/micro/micro_params.h"

namespace hgemm::micro {

/// Cycles of this SM. It is volatile and a compiler barrier, so it keeps its place among the other
/// volatile statements. All measured instructions are volatile.
__device__ __forceinline__ u64 clock_cycles() {
  u64 cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}
__device__ __forceinline__ u64 timer_ns() {
  u64 ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}

/// Calls `work(section, count)` for each section, after `synchronise()`. Writes the three records
/// to `times` unless it is null. The loop must stay a loop, so that all sections run the same
/// instructions.
template <class Synchronise, class Work>
__device__ __forceinline__ void timed_sections(const Lengths& lengths, SectionTime* times,
                                               const Synchronise& synchronise, const Work& work) {
#pragma unroll 1
  for (int section = 0; section < kSections; ++section) {
    __syncwarp();  // cluster barriers are for whole warps
    synchronise();
    const u64 start_ns = timer_ns();
    const u64 start_clk = clock_cycles();
    work(section, lengths.count[section]);
    const u64 stop_clk = clock_cycles();
    const u64 stop_ns = timer_ns();
    if (times != nullptr) times[section] = {start_clk, stop_clk, start_ns, stop_ns};
  }
}

// ---- Barriers across a cluster; those of ptx.cuh have the scope of a CTA ----

/// Address of the same offset in CTA `rank` of the cluster.
__device__ __forceinline__ u32 peer_address(u32 address, u32 rank) {
  u32 peer;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(peer) : "r"(address), "r"(rank));
  return peer;
}
__device__ __forceinline__ void arrive_at_peer(u32 peer_barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(peer_barrier)
               : "memory");
}
/// Polls once. test_wait returns at once; try_wait may suspend the thread for a while. kCluster:
/// what a peer did before it arrived is visible afterwards.
template <bool kCluster, bool kTry>
__device__ __forceinline__ bool poll(u32 barrier, u32 parity) {
  u32 done;
#define HGEMM_POLL(instruction)   \
  asm volatile(                   \
      "{\n"                       \
      ".reg .pred p;\n"           \
      "mbarrier." instruction     \
      " p, [%1], %2;\n"           \
      "selp.u32 %0, 1, 0, p;\n"   \
      "}"                         \
      : "=r"(done)                \
      : "r"(barrier), "r"(parity) \
      : "memory")
  if constexpr (kCluster && kTry) {
    HGEMM_POLL("try_wait.parity.acquire.cluster.shared::cta.b64");
  } else if constexpr (kCluster) {
    HGEMM_POLL("test_wait.parity.acquire.cluster.shared::cta.b64");
  } else if constexpr (kTry) {
    HGEMM_POLL("try_wait.parity.shared::cta.b64");
  } else {
    HGEMM_POLL("test_wait.parity.shared::cta.b64");
  }
#undef HGEMM_POLL
  return done != 0;
}
/// In cycles, because a read of the timer between polls would add to the measured time.
inline constexpr u64 kPollLimitClk = 4'000'000'000;
template <bool kCluster, bool kTry>
__device__ __forceinline__ void wait_polling(u32 barrier, u32 parity) {
  if (poll<kCluster, kTry>(barrier, parity)) return;
  const u64 start = clock_cycles();
  while (!poll<kCluster, kTry>(barrier, parity)) {
    if (clock_cycles() - start > kPollLimitClk) asm volatile("trap;");
  }
}
__device__ __forceinline__ void poll_wait(u32 barrier, u32 parity) {
  wait_polling<false, false>(barrier, parity);
}
__device__ __forceinline__ void poll_wait_cluster(u32 barrier, u32 parity) {
  wait_polling<true, false>(barrier, parity);
}

}  // namespace hgemm::micro
