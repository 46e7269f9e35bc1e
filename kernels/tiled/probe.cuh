// Cycle stamps: measure the cycles of the kernel in kernel.cuh by role and phase. Functions of the
// kernel take a pack of probes, which is empty in plain builds. These then have no additional
// instruction, and not even another order of instructions (an empty object of an empty class was
// enough to change that).
//
// A stamp costs one read of the clock and one addition, by all threads of a role; the role's first
// thread writes the records. Registers are scarce: a consumer has four sums (five if it promotes)
// and the last stamp in its main loop, and one sum in the epilogue.
#pragma once

#include "common/ptx.cuh"
#include "tiled/pipeline.cuh"
#include "tiled/probe_records.h"
#include "tiled/tile_scheduler.h"

namespace hgemm {
namespace ptx {

__device__ __forceinline__ u32 clock_low() {
  u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}
__device__ __forceinline__ u64 clock_full() {
  u64 cycles;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(cycles)::"memory");
  return cycles;
}
__device__ __forceinline__ u64 globaltimer_full_ns() {
  u64 ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns)::"memory");
  return ns;
}
__device__ __forceinline__ u32 sm_id() {
  u32 id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

}  // namespace ptx

/// Whether this thread writes the records of its role.
__device__ __forceinline__ bool speaks_for_role() { return threadIdx.x % kWarpgroupThreads == 0; }
__device__ __forceinline__ unsigned role_of_thread() { return threadIdx.x / kWarpgroupThreads; }

// ---- The tiles of one role ----

/// A stopwatch: lap() ends a phase and begins the next, so that the phases of a tile are complete
/// by construction.
template <TiledKernel kKernel>
struct TileProbe {
  const ProbeRecords& records;
  u32 last;  ///< stamp
  u32 staging = 0;
  u32 sums[consumer_phase::kEpilogue]{};

  __device__ __forceinline__ explicit TileProbe(const ProbeRecords& kernel_records)
      : records(kernel_records), last(ptx::clock_low()) {}

  __device__ __forceinline__ ProbeTile& record(int position) const {
    constexpr unsigned kCtas = cluster_size(kKernel);
    const u64 tile = static_cast<u64>(position) * kCtas + blockIdx.x % kCtas;
    return records.tiles[tile * probe_roles(kKernel) + role_of_thread()];
  }
  __device__ __forceinline__ void lap(int phase) {
    const u32 now = ptx::clock_low();
    sums[phase] += now - last;
    last = now;
  }
  /// Counts the visit without waiting for memory.
  __device__ __forceinline__ void identify(ProbeTile& tile, TileOrigin<kKernel> origin) const {
    asm volatile("red.relaxed.gpu.add.u32 [%0], 1;" ::"l"(&tile.visits) : "memory");
    tile.cta = static_cast<int>(blockIdx.x);
    tile.m = origin.m / kKernel.bm;
    tile.n = origin.n / kKernel.bn;
  }

  // The producer's elected thread, alone.
  __device__ __forceinline__ void begin_load(int position) {
    lap(producer_phase::kOrder);
    record(position).begin = last;
  }
  __device__ __forceinline__ void end_load(int position, TileOrigin<kKernel> origin) {
    ProbeTile& tile = record(position);
    identify(tile, origin);
    tile.end = last;
#pragma unroll
    for (int phase = 0; phase < producer_phase::kCount; ++phase) {
      tile.phases[phase] = sums[phase];
      sums[phase] = 0;
    }
  }

  // Every thread of a consumer.
  __device__ __forceinline__ void begin_tile(int position) {
    last = ptx::clock_low();
    if (speaks_for_role()) record(position).begin = last;
    __syncwarp();
#pragma unroll
    for (int phase = 0; phase < consumer_phase::kEpilogue; ++phase) sums[phase] = 0;
  }
  __device__ __forceinline__ void ready(int position, TileOrigin<kKernel> origin) const {
    if (!speaks_for_role()) return;
    ProbeTile& tile = record(position);
    identify(tile, origin);
    tile.ready = last;
  }
  __device__ __forceinline__ void end_main_loop(int position) {
    if (speaks_for_role()) {
      ProbeTile& tile = record(position);
      tile.loop_end = last;
#pragma unroll
      for (int phase = 0; phase < consumer_phase::kEpilogue; ++phase) {
        tile.phases[phase] = sums[phase];
      }
    }
    __syncwarp();
    const u32 store_begin = ptx::clock_low();
    if (speaks_for_role()) record(position).store_begin = store_begin;
  }
  __device__ __forceinline__ void begin_staging() { staging -= ptx::clock_low(); }
  __device__ __forceinline__ void end_staging() { staging += ptx::clock_low(); }
  __device__ __forceinline__ void end_tile(int position) {
    const u32 end = ptx::clock_low();
    if (speaks_for_role()) {
      ProbeTile& tile = record(position);
      tile.end = end;
      tile.phases[consumer_phase::kEpilogue] = staging;
    }
    staging = 0;
    __syncwarp();
  }
};

// ---- A CTA from its first to its last instruction ----

template <TiledKernel kKernel>
struct CtaProbe {
  const ProbeRecords& records;
  u64 entry_ns;
  u64 entry;

  __device__ __forceinline__ explicit CtaProbe(const ProbeRecords& kernel_records)
      : records(kernel_records), entry_ns(ptx::globaltimer_full_ns()), entry(ptx::clock_full()) {}

  __device__ __forceinline__ TileProbe<kKernel> watch() const {
    return TileProbe<kKernel>(records);
  }
  __device__ __forceinline__ ProbeRole& record() const {
    return records.roles[static_cast<u64>(blockIdx.x) * probe_roles(kKernel) + role_of_thread()];
  }
  /// Called as early as possible: values that stay live while a role prepares make the widest tiles
  /// spill.
  __device__ __forceinline__ void entered() const {
    if (speaks_for_role()) {
      ProbeRole& role = record();
      role.entry_ns = entry_ns;
      role.entry = entry;
      role.sm = ptx::sm_id();
    }
    __syncwarp();
  }
  __device__ __forceinline__ void synced() const {
    const u64 synced = ptx::clock_full();
    if (speaks_for_role()) record().synced = synced;
    __syncwarp();
  }
  __device__ __forceinline__ void begin_role() const {
    const u64 begin = ptx::clock_full();
    if (speaks_for_role()) record().begin = begin;
    __syncwarp();
  }
  __device__ __forceinline__ void end_role() const {
    const u64 end = ptx::clock_full();
    if (speaks_for_role()) record().end = end;
    __syncwarp();
  }
  __device__ __forceinline__ void finish() const {
    const u64 finish = ptx::clock_full();
    const u64 finish_ns = ptx::globaltimer_full_ns();
    if (speaks_for_role()) {
      ProbeRole& role = record();
      role.finish = finish;
      role.finish_ns = finish_ns;
    }
  }
};

}  // namespace hgemm
