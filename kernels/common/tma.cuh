// Wrappers of PTX instructions for the copy engine: bulk tensor copies, TMA (PTX ISA,
// "cp.async.bulk.tensor"). Its terms are explained in common/ptx.cuh.
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"

namespace hgemm {

// ---- Which matrix of a map a box is of ----

/// A map of two dimensions has one matrix.
struct OnlyMatrix {};
/// Number `number` of the third dimension.
struct Plane {
  int number;
};
/// The matrix at an address, in a map of those at any address (params.h).
struct MatrixAt {
  int low, high;

  static __device__ __forceinline__ MatrixAt address(u64 bytes) {
    const u64 units = bytes / kUnitBytes;
    return {static_cast<int>(units % kUnitsBelow), static_cast<int>(units / kUnitsBelow)};
  }
};

namespace ptx {

__device__ __forceinline__ void prefetch_tensormap(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
/// A cache policy for all lines of a copy ("createpolicy").
template <CacheHint kHint>
__device__ __forceinline__ u64 cache_policy() {
  u64 policy;
  if constexpr (kHint == CacheHint::kEvictFirst) {
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    static_assert(kHint == CacheHint::kEvictLast);
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}
/// Prefetches the box at (column, row) into L2 ("cp.async.bulk.prefetch.tensor").
__device__ __forceinline__ void tma_prefetch(const TensorMap& map, int column, int row,
                                             OnlyMatrix = {}) {
  asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&map),
               "r"(column), "r"(row)
               : "memory");
}
__device__ __forceinline__ void tma_prefetch(const TensorMap& map, int column, int row,
                                             Plane plane) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile [%0, {%1, %2, %3}];" ::"l"(&map),
               "r"(column), "r"(row), "r"(plane.number)
               : "memory");
}
__device__ __forceinline__ void tma_prefetch(const TensorMap& map, int column, int row,
                                             MatrixAt at) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(&map),
      "r"(column), "r"(row), "r"(at.low), "r"(at.high)
      : "memory");
}
/// Copies the box at (column, row) to shared memory; its bytes complete on `barrier`.
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_load(u32 destination, const TensorMap& map, u32 barrier,
                                         int column, int row, OnlyMatrix = {}) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4}], [%2];" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "l"(cache_policy<kHint>())
        : "memory");
  }
}
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_load(u32 destination, const TensorMap& map, u32 barrier,
                                         int column, int row, Plane plane) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(plane.number)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(plane.number),
        "l"(cache_policy<kHint>())
        : "memory");
  }
}
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_load(u32 destination, const TensorMap& map, u32 barrier,
                                         int column, int row, MatrixAt at) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(at.low), "r"(at.high)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(at.low), "r"(at.high),
        "l"(cache_policy<kHint>())
        : "memory");
  }
}
/// Copies the box to the same offset in every CTA of `mask`; it completes on each CTA's own
/// barrier.
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_load_multicast(u32 destination, const TensorMap& map,
                                                   u32 barrier, int column, int row,
                                                   unsigned short mask, OnlyMatrix = {}) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "h"(mask)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "h"(mask), "l"(cache_policy<kHint>())
        : "memory");
  }
}
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_load_multicast(u32 destination, const TensorMap& map,
                                                   u32 barrier, int column, int row,
                                                   unsigned short mask, Plane plane) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(plane.number), "h"(mask)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5}], [%2], %6, %7;" ::"r"(
            destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(plane.number), "h"(mask),
        "l"(cache_policy<kHint>())
        : "memory");
  }
}
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_load_multicast(u32 destination, const TensorMap& map,
                                                   u32 barrier, int column, int row,
                                                   unsigned short mask, MatrixAt at) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(at.low), "r"(at.high), "h"(mask)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        ".multicast::cluster.L2::cache_hint [%0], [%1, {%3, %4, %5, %6}], [%2], %7, %8;" ::"r"(
            destination),
        "l"(&map), "r"(barrier), "r"(column), "r"(row), "r"(at.low), "r"(at.high), "h"(mask),
        "l"(cache_policy<kHint>())
        : "memory");
  }
}
/// Copies the box at `source` in shared memory to (column, row), clipped at the edges of the
/// matrix.
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_store(const TensorMap& map, u32 source, int column, int row,
                                          OnlyMatrix = {}) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
            &map),
        "r"(source), "r"(column), "r"(row)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint "
        "[%0, {%2, %3}], [%1], %4;" ::"l"(&map),
        "r"(source), "r"(column), "r"(row), "l"(cache_policy<kHint>())
        : "memory");
  }
}
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_store(const TensorMap& map, u32 source, int column, int row,
                                          Plane plane) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::
            "l"(&map),
        "r"(source), "r"(column), "r"(row), "r"(plane.number)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group.L2::cache_hint "
        "[%0, {%2, %3, %4}], [%1], %5;" ::"l"(&map),
        "r"(source), "r"(column), "r"(row), "r"(plane.number), "l"(cache_policy<kHint>())
        : "memory");
  }
}
template <CacheHint kHint = CacheHint::kNone>
__device__ __forceinline__ void tma_store(const TensorMap& map, u32 source, int column, int row,
                                          MatrixAt at) {
  if constexpr (kHint == CacheHint::kNone) {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], "
        "[%1];" ::"l"(&map),
        "r"(source), "r"(column), "r"(row), "r"(at.low), "r"(at.high)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group.L2::cache_hint "
        "[%0, {%2, %3, %4, %5}], [%1], %6;" ::"l"(&map),
        "r"(source), "r"(column), "r"(row), "r"(at.low), "r"(at.high), "l"(cache_policy<kHint>())
        : "memory");
  }
}
__device__ __forceinline__ void bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until at most kPending of this thread's bulk groups still read their shared memory.
template <int kPending>
__device__ __forceinline__ void bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}
/// Orders this thread's ordinary shared-memory writes before later reads by the copy engine.
__device__ __forceinline__ void fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace ptx
}  // namespace hgemm
