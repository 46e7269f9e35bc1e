// A barrier with the interface of cuda::barrier<thread_scope_block>: every participating thread
// arrives, gets a token for the phase in which it arrived, and waits for that phase by polling.
//
// NVRTC has no libcu++ here, so this class imitates its cost, which was read from the PTX that nvcc
// 13.0 makes of cuda::barrier. arrive() is one mbarrier.arrive that returns the state. wait() reads
// %globaltimer even if the phase is already complete, polls try_wait 16 times, then reads the timer
// between polls. Once it has waited for more than 40 us, it sleeps a quarter of that time (a
// millisecond at most). One thing is added: it traps after kWaitLimitNs.
#pragma once

#include "common/ptx.cuh"

namespace hgemm::ladder {

struct BlockBarrier {
  u32 address;  ///< in shared memory

  __device__ __forceinline__ void init(u32 arrivals) const {
    ptx::mbarrier_init(address, arrivals);
  }
  __device__ __forceinline__ u64 arrive() const {
    u64 token;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 1;"
                 : "=l"(token)
                 : "r"(address)
                 : "memory");
    return token;
  }
  /// The phase does not complete before `bytes` more have been copied.
  __device__ __forceinline__ u64 arrive_expect(u32 bytes) const {
    u64 token;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"
                 : "=l"(token)
                 : "r"(address), "r"(bytes)
                 : "memory");
    return token;
  }
  __device__ __forceinline__ void wait(u64 token) const {
    constexpr int kPolls = 16;
    constexpr u64 kPatienceNs = 40'000;
    constexpr u64 kLongestNapNs = 1'000'000;
    const u64 start_ns = globaltimer_ns();
    for (int polls = 0; !completed(token);) {
      if (polls < kPolls) {
        ++polls;
        continue;
      }
      const u64 waited_ns = globaltimer_ns() - start_ns;
      if (kWaitLimitNs != 0 && waited_ns > kWaitLimitNs) asm volatile("trap;");
      if (waited_ns >= kPatienceNs) {
        const u64 nap_ns = waited_ns / 4 < kLongestNapNs ? waited_ns / 4 : kLongestNapNs;
        asm volatile("nanosleep.u32 %0;" ::"r"(static_cast<u32>(nap_ns)));
      }
    }
  }

 private:
  __device__ __forceinline__ bool completed(u64 token) const {
    u32 done;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}"
        : "=r"(done)
        : "r"(address), "l"(token)
        : "memory");
    return done != 0;
  }
  static __device__ __forceinline__ u64 globaltimer_ns() {
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
  }
};

}  // namespace hgemm::ladder
