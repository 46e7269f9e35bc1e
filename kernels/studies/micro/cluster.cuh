// Communication between threads: mbarrier round trips, and reads of a peer's shared memory (DSMEM).
//
// Round trip: two threads take turns to arrive at each other's barrier and to wait at their own.
// Both are dependent chains of volatile asm: nothing overlaps and nothing can be removed. The two
// threads are in two warps of one CTA, or in the two CTAs of a cluster (release and acquire at
// cluster scope).
//
// Load latency: a chain of pointers through shared memory, in which each load's address is the
// result of the previous load. Throughput: every thread reads 16 bytes at a time with four loads in
// flight. Consecutive lanes read consecutive addresses, so that there are no bank conflicts. Both
// CTAs of every cluster read at once. The same loads of the CTA's own shared memory are measured
// too.
#pragma once

#include "studies/micro/timing.cuh"

namespace hgemm::micro {

/// Launched with 64 threads, in clusters of two.
template <bool kTry>
__device__ __forceinline__ void time_round_trip(const ClusterParams& params) {
  __shared__ __align__(8) u64 barriers[2];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const u32 rank = ptx::cluster_rank();
  const u32 barrier_0 = ptx::smem_address(&barriers[0]);
  const u32 barrier_1 = ptx::smem_address(&barriers[1]);
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(barrier_0, 1);
    ptx::mbarrier_init(barrier_1, 1);
    ptx::fence_mbarrier_init();
  }
  // Within a CTA, warp 0 waits at barrier 0 and warp 1 at barrier 1. Across CTAs, warp 0 of each
  // CTA waits at its barrier 0.
  const bool across = params.across != 0;
  const bool first = across ? rank == 0 : warp == 0;
  const bool plays = threadIdx.x % 32 == 0 && (across ? warp == 0 : rank == 0);
  const u32 other = across ? peer_address(barrier_0, rank ^ 1) : (first ? barrier_1 : barrier_0);
  const u32 own = across || first ? barrier_0 : barrier_1;

  u32 parity = 0;
  timed_sections(
      params.lengths, plays && first ? params.times : nullptr, [] { ptx::cluster_sync(); },
      [&](int, int rounds) {
        if (plays) {
#pragma unroll 1
          for (int round = 0; round < rounds; ++round) {
            if (across) {
              if (first) arrive_at_peer(other);
              wait_polling<true, kTry>(own, parity);
              if (!first) arrive_at_peer(other);
            } else {
              if (first) ptx::mbarrier_arrive(other);
              wait_polling<false, kTry>(own, parity);
              if (!first) ptx::mbarrier_arrive(other);
            }
            parity ^= 1;
          }
        }
        __syncwarp();
      });
  ptx::cluster_sync();
}

/// `kAcross` says whether the address is in the window of the cluster or of the CTA.
template <bool kAcross>
__device__ __forceinline__ u32 load_shared(u32 address) {
  u32 value;
  if constexpr (kAcross) {
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  } else {
    asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  }
  return value;
}
template <bool kAcross>
__device__ __forceinline__ uint4 load_shared_16(u32 address) {
  uint4 value;
  if constexpr (kAcross) {
    asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(address)
                 : "memory");
  } else {
    asm volatile("ld.shared::cta.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(address)
                 : "memory");
  }
  return value;
}

/// Launched with 32 threads, in clusters of two, with kDsmemBytes of shared memory.
template <bool kAcross>
__device__ __forceinline__ void time_shared_latency(const ClusterParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  constexpr u32 kWords = kDsmemBytes / 4;
  constexpr u32 kStride = 33;  // odd: visits every word, and every bank
  const u32 base = kAcross ? peer_address(ptx::smem_address(smem), ptx::cluster_rank())
                           : ptx::smem_address(smem);
  for (u32 word = threadIdx.x; word < kWords; word += blockDim.x) {
    reinterpret_cast<u32*>(smem)[word] = base + (word + kStride) % kWords * 4;
  }
  u32 address = kAcross ? peer_address(ptx::smem_address(smem), ptx::cluster_rank() ^ 1) : base;
  timed_sections(
      params.lengths, threadIdx.x == 0 ? params.times + blockIdx.x * kSections : nullptr,
      [] { ptx::cluster_sync(); },
      [&](int, int rounds) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
#pragma unroll
          for (int i = 0; i < kChasesPerRound; ++i) address = load_shared<kAcross>(address);
        }
      });
  params.sink[blockIdx.x * blockDim.x + threadIdx.x] = address;
  ptx::cluster_sync();
}

/// Launched with any number of warps, in clusters of two, with kDsmemBytes of shared memory.
template <bool kAcross>
__device__ __forceinline__ void time_shared_reads(const ClusterParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  for (u32 word = threadIdx.x; word < kDsmemBytes / 4; word += blockDim.x) {
    reinterpret_cast<u32*>(smem)[word] = word;
  }
  const u32 base = kAcross ? peer_address(ptx::smem_address(smem), ptx::cluster_rank() ^ 1)
                           : ptx::smem_address(smem);
  const u32 row_bytes = blockDim.x * 16;
  u32 offset = threadIdx.x * 16;
  u32 seen = 0;
  timed_sections(
      params.lengths, threadIdx.x == 0 ? params.times + blockIdx.x * kSections : nullptr,
      [] { ptx::cluster_sync(); },
      [&](int, int rounds) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
          uint4 values[kDsmemLoadsPerRound];
#pragma unroll
          for (int i = 0; i < kDsmemLoadsPerRound; ++i) {
            values[i] = load_shared_16<kAcross>(base + offset);
            offset = (offset + row_bytes) % kDsmemBytes;
          }
#pragma unroll
          for (int i = 0; i < kDsmemLoadsPerRound; ++i) {
            seen ^= values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
          }
        }
        __syncthreads();  // the first thread's clock is that of the whole CTA
      });
  params.sink[blockIdx.x * blockDim.x + threadIdx.x] = seen;
  ptx::cluster_sync();  // a peer may still read this CTA's shared memory
}

}  // namespace hgemm::micro
