// How a CTA copies an operand's tile from global memory into a stage (common/operand_tile.h).
#pragma once

#include "common/operand_tile.h"
#include "common/ptx.cuh"

namespace hgemm {

/// What a CTA copies of A and of B.
template <auto kKernel>
using ABoxes = OperandBoxes<kKernel.gemm.a_major, kKernel.bm, kKernel.bk, a_slice(kKernel)>;
template <auto kKernel, bool kGated = is_gated(kKernel.gemm)>
struct BBoxesOf {
  using Type = OperandBoxes<kKernel.gemm.b_major, kKernel.bn, kKernel.bk, b_slice(kKernel)>;
};
template <auto kKernel>
struct BBoxesOf<kKernel, true> {
  using Type = PairedBoxes<kKernel.bn, kKernel.bk, b_slice(kKernel), gate_run(kKernel)>;
};
template <auto kKernel>
using BBoxes = typename BBoxesOf<kKernel>::Type;

/// Copies the slice `Boxes`, of the tile with first elements `k` and `mn`, into the stage at
/// address `stage`: for all CTAs in `mask`, if it is not the whole tile. The bytes arrive at the
/// barrier `full`. `plane`: of the operand, if it has those of many products (kBatched); gates and
/// ups are the planes of a box, which begins with the first one.
template <class Boxes, CacheHint kHint, bool kBatched = false>
__device__ __forceinline__ void load_boxes(const TensorMap& map, u32 stage, u32 full, int k, int mn,
                                           int begin = 0, unsigned short mask = 0, int plane = 0) {
  constexpr bool kHasPlanes = Boxes::kIsPaired || kBatched;
#pragma unroll
  for (int slab = 0; slab < Boxes::kSlabs; ++slab) {
#pragma unroll
    for (int part = 0; part < Boxes::kSliceExtent; part += Boxes::kBoxExtent) {
      const OperandBox box = Boxes::at(slab, part, k, mn, begin);
      const u32 destination = stage + static_cast<u32>(box.offset);
      if constexpr (kHasPlanes && Boxes::kIsWhole) {
        ptx::tma_load_3d<kHint>(destination, map, full, box.column, box.row, plane);
      } else if constexpr (kHasPlanes) {
        ptx::tma_load_multicast_3d<kHint>(destination, map, full, box.column, box.row, plane, mask);
      } else if constexpr (Boxes::kIsWhole) {
        ptx::tma_load<kHint>(destination, map, full, box.column, box.row);
      } else {
        ptx::tma_load_multicast<kHint>(destination, map, full, box.column, box.row, mask);
      }
    }
  }
}

/// Prefetches into L2 what load_boxes() will copy.
template <class Boxes, bool kBatched = false>
__device__ __forceinline__ void prefetch_boxes(const TensorMap& map, int k, int mn, int begin = 0,
                                               int plane = 0) {
#pragma unroll
  for (int slab = 0; slab < Boxes::kSlabs; ++slab) {
#pragma unroll
    for (int part = 0; part < Boxes::kSliceExtent; part += Boxes::kBoxExtent) {
      const OperandBox box = Boxes::at(slab, part, k, mn, begin);
      if constexpr (Boxes::kIsPaired || kBatched) {
        ptx::tma_prefetch_3d(map, box.column, box.row, plane);
      } else {
        ptx::tma_prefetch(map, box.column, box.row);
      }
    }
  }
}

}  // namespace hgemm
