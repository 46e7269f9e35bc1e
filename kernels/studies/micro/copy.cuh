// Copies from global to shared memory: TMA boxes and bulk copies, their latency, and their
// throughput with a given number of bytes in flight.
//
// Throughput: a CTA keeps `in_flight` copies in flight in a ring of slots, and issues each copy
// again as soon as it lands. No thread reads the data. In a CTA without a cluster, one thread both
// waits and issues, so that a slot is idle only for a wait and an issue. In a cluster each CTA's
// copy lands in all CTAs, so a slot may be written again only when every CTA has seen it full.
// There one thread waits and tells all CTAs, and another thread issues, like the consumers and
// producers of a real kernel.
//
// Latency: one copy at a time, from its issue until the waiting thread sees it; every latency is
// recorded. In a cluster all CTAs issue at once, and each waits for all copies that arrive in it.
//
// Waits poll with test_wait. A try_wait that fails takes about 207 cycles, so latencies would
// come in steps of that size (H200, 2026-11-20).
//
// The compiler does not see the side effects of copies (volatile asm). Two things could distort the
// result: an issuing thread that computes for longer than the copy takes (the loop has no
// division), and a source in the wrong level of memory (the host chooses its size and where each
// launch begins).
#pragma once

#include "common/tma.cuh"
#include "studies/micro/timing.cuh"

namespace hgemm::micro {

/// cp.async.bulk: `bytes` from anywhere in global memory, 16-byte aligned.
__device__ __forceinline__ void bulk_load(u32 destination, const void* source, int bytes,
                                          u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

/// Position of a CTA in its walk over the source.
struct ItemPosition {
  unsigned row, column;

  __device__ __forceinline__ explicit ItemPosition(const ItemWalk& walk) {
    const u64 items = static_cast<u64>(walk.rows) * walk.columns;
    const auto item =
        static_cast<unsigned>((static_cast<u64>(blockIdx.x) * walk.chunk + walk.first) % items);
    row = item / walk.columns;
    column = item % walk.columns;
  }
  __device__ __forceinline__ void advance(const ItemWalk& walk) {
    column += walk.step_columns;
    row += walk.step_rows;
    if (column >= walk.columns) {
      column -= walk.columns;
      ++row;
    }
    if (row >= walk.rows) row -= walk.rows;
  }
};

struct TmaCopy {
  static __device__ __forceinline__ void issue(const TensorMap& map, const CopyParams& params,
                                               u32 slot, u32 full, const ItemPosition& at) {
    const int column = static_cast<int>(at.column) * params.box_columns;
    const int row = static_cast<int>(at.row) * params.box_rows;
    if (params.cluster == 1) {
      ptx::tma_load(slot, map, full, column, row);
    } else {
      // Each CTA of the cluster writes its part of the slot, in all CTAs.
      const u32 part = slot + ptx::cluster_rank() * static_cast<u32>(params.item_bytes);
      ptx::tma_load_multicast(part, map, full, column, row,
                              static_cast<unsigned short>((1 << params.cluster) - 1));
    }
  }
};
struct BulkCopy {
  static __device__ __forceinline__ void issue(const TensorMap&, const CopyParams& params, u32 slot,
                                               u32 full, const ItemPosition& at) {
    const u64 item = static_cast<u64>(at.row) * params.walk.columns + at.column;
    bulk_load(slot,
              static_cast<const unsigned char*>(params.source) +
                  item * static_cast<u64>(params.item_bytes),
              params.item_bytes, full);
  }
};

/// Slots and their barriers. A slot is full when the copies of all CTAs of the cluster have landed,
/// and empty (in a cluster) when all CTAs have re-armed their full barriers.
struct CopyRing {
  u32 base;
  u32 slot_bytes;
  int slots;

  __device__ __forceinline__ CopyRing(unsigned char* smem, const CopyParams& params)
      : base(ptx::smem_address(smem)),
        slot_bytes(static_cast<u32>(params.item_bytes * params.cluster)),
        slots(params.in_flight) {}
  __device__ __forceinline__ u32 full(int slot) const { return base + static_cast<u32>(slot) * 8; }
  __device__ __forceinline__ u32 empty(int slot) const {
    return base + static_cast<u32>(kMaxInFlight + slot) * 8;
  }
  __device__ __forceinline__ u32 data(int slot) const {
    return base + kCopyBarrierBytes + static_cast<u32>(slot) * slot_bytes;
  }
  __device__ __forceinline__ void init(int cluster) const {
    if (base % 1024 != 0) asm volatile("trap;");  // swizzle atoms would be split
    for (int slot = 0; slot < slots; ++slot) {
      ptx::mbarrier_init(full(slot), 1);
      ptx::mbarrier_init(empty(slot), static_cast<u32>(cluster));
    }
    ptx::fence_mbarrier_init();
  }
  __device__ __forceinline__ void arm(int slot) const {
    ptx::mbarrier_arrive_expect_tx(full(slot), slot_bytes);
  }
};

/// Issues and waits in one thread. `count` is a multiple of the slots, so every slot ends on the
/// same parity.
template <class Copy>
__device__ __forceinline__ void copy_alone(const TensorMap& map, const CopyParams& params,
                                           const CopyRing& ring, ItemPosition& at, u32& parity,
                                           int count) {
#pragma unroll 1
  for (int slot = 0; slot < ring.slots; ++slot) {
    ring.arm(slot);
    Copy::issue(map, params, ring.data(slot), ring.full(slot), at);
    at.advance(params.walk);
  }
  int slot = 0;
#pragma unroll 1
  for (int i = ring.slots; i < count; ++i) {
    poll_wait(ring.full(slot), parity);
    ring.arm(slot);
    Copy::issue(map, params, ring.data(slot), ring.full(slot), at);
    at.advance(params.walk);
    if (++slot == ring.slots) {
      slot = 0;
      parity ^= 1;
    }
  }
#pragma unroll 1
  for (slot = 0; slot < ring.slots; ++slot) poll_wait(ring.full(slot), parity);
  parity ^= 1;
}

/// Runs in one thread of each CTA of a cluster: waits for slots to fill, and offers them to all
/// CTAs again.
__device__ __forceinline__ void offer_slots(const CopyParams& params, const CopyRing& ring,
                                            u32& parity, int count) {
  int slot = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    if (i >= ring.slots) poll_wait(ring.full(slot), parity);
    ring.arm(slot);
    for (int rank = 0; rank < params.cluster; ++rank) {
      arrive_at_peer(peer_address(ring.empty(slot), static_cast<u32>(rank)));
    }
    if (++slot == ring.slots) {
      slot = 0;
      if (i >= ring.slots) parity ^= 1;
    }
  }
#pragma unroll 1
  for (slot = 0; slot < ring.slots; ++slot) poll_wait(ring.full(slot), parity);
  parity ^= 1;
}

/// Runs in one thread of each CTA of a cluster: copies to all CTAs as they offer their slots.
template <class Copy>
__device__ __forceinline__ void copy_to_cluster(const TensorMap& map, const CopyParams& params,
                                                const CopyRing& ring, ItemPosition& at, u32& parity,
                                                int count) {
  int slot = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    poll_wait_cluster(ring.empty(slot), parity);
    Copy::issue(map, params, ring.data(slot), ring.full(slot), at);
    at.advance(params.walk);
    if (++slot == ring.slots) {
      slot = 0;
      parity ^= 1;
    }
  }
}

/// Launched with 64 threads and copy_smem_bytes() of shared memory.
template <class Copy>
__device__ __forceinline__ void time_copies(const TensorMap& map, const CopyParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const CopyRing ring(smem, params);
  if (threadIdx.x == 0) ring.init(params.cluster);
  __syncthreads();

  ItemPosition at(params.walk);
  u32 parity = 0;
  timed_sections(
      params.lengths, threadIdx.x == 0 ? params.times + blockIdx.x * kSections : nullptr,
      [] { ptx::cluster_sync(); },  // a CTA alone is a cluster of one
      [&](int, int count) {
        if (params.cluster == 1) {
          if (threadIdx.x == 0) copy_alone<Copy>(map, params, ring, at, parity, count);
        } else if (threadIdx.x == 0) {
          offer_slots(params, ring, parity, count);
        } else if (threadIdx.x == 32) {
          copy_to_cluster<Copy>(map, params, ring, at, parity, count);
        }
        __syncwarp();
      });
  ptx::cluster_sync();  // a peer may still copy into this CTA, or arrive at its barriers
}

/// Launched as one cluster, with 64 threads and copy_smem_bytes() for one slot.
template <class Copy>
__device__ __forceinline__ void time_copy_latency(const TensorMap& map, const CopyParams& params) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const CopyRing ring(smem, params);
  if (threadIdx.x == 0) ring.init(params.cluster);
  __syncthreads();

  ItemPosition at(params.walk);
  u32 parity = 0;
  timed_sections(
      params.lengths, threadIdx.x == 0 ? params.times + blockIdx.x * kSections : nullptr,
      [] { ptx::cluster_sync(); },
      [&](int section, int count) {
#pragma unroll 1
        for (int i = 0; i < count; ++i) {
          if (threadIdx.x == 0) ring.arm(0);
          __syncwarp();
          ptx::cluster_sync();  // all are armed before anything lands
          if (threadIdx.x == 0) {
            const u64 start = clock_cycles();
            Copy::issue(map, params, ring.data(0), ring.full(0), at);
            poll_wait(ring.full(0), parity);
            const u64 stop = clock_cycles();
            if (section == kLong && blockIdx.x == 0) {
              params.latencies_clk[i] = static_cast<u32>(stop - start);
            }
            at.advance(params.walk);
            parity ^= 1;
          }
          __syncwarp();
        }
      });
  ptx::cluster_sync();
}

}  // namespace hgemm::micro
