// How a CTA copies an operand's tile from global memory into a stage (common/operand_tile.h).
#pragma once

#include "common/operand_tile.h"
#include "common/tma.cuh"

namespace hgemm {

/// What a CTA copies of A and of B.
template <auto kKernel>
using ABoxes = OperandBoxes<kKernel.gemm.a_major, kKernel.bm, kKernel.bk, a_slice(kKernel),
                            element_bytes(kKernel.gemm.input)>;
template <auto kKernel, bool kGated = is_gated(kKernel.gemm)>
struct BBoxesOf {
  using Type = OperandBoxes<kKernel.gemm.b_major, kKernel.bn, kKernel.bk, b_slice(kKernel),
                            element_bytes(kKernel.gemm.input)>;
};
template <auto kKernel>
struct BBoxesOf<kKernel, true> {
  using Type = PairedBoxes<kKernel.bn, kKernel.bk, b_slice(kKernel), gate_run(kKernel),
                           element_bytes(kKernel.gemm.input)>;
};
template <auto kKernel>
using BBoxes = typename BBoxesOf<kKernel>::Type;

/// Gates and ups are the planes of a box, which begins with the first one.
template <class Boxes, class Matrix>
__device__ __forceinline__ auto chosen_of(Matrix matrix) {
  if constexpr (Boxes::kIsPaired) {
    return Plane{0};
  } else {
    return matrix;
  }
}

/// A matrix at any address, whose boxes completely outside come through another map
/// (PointersParams).
struct SourceAnywhere {
  MatrixAt at;
  const TensorMap& outside;
  int columns, rows;

  __device__ __forceinline__ bool has(const OperandBox& box) const {
    return box.column < columns && box.row < rows;
  }
};
template <Major kMajor>
__device__ __forceinline__ SourceAnywhere source_anywhere(MatrixAt at, const TensorMap& outside,
                                                          int mn, int k) {
  constexpr bool kIsMn = kMajor == Major::kMn;
  return {at, outside, kIsMn ? mn : k, kIsMn ? k : mn};
}

/// Copies one box of the slice `Boxes` to the address `target`, as load_boxes() does.
template <class Boxes, CacheHint kHint, class Matrix>
__device__ __forceinline__ void load_box(const TensorMap& map, u32 target, u32 full,
                                         const OperandBox& box, unsigned short mask,
                                         Matrix matrix) {
  if constexpr (Boxes::kIsWhole) {
    ptx::tma_load<kHint>(target, map, full, box.column, box.row, matrix);
  } else {
    ptx::tma_load_multicast<kHint>(target, map, full, box.column, box.row, mask, matrix);
  }
}
template <class Boxes, CacheHint kHint>
__device__ __forceinline__ void load_box(const TensorMap& map, u32 target, u32 full,
                                         const OperandBox& box, unsigned short mask,
                                         const SourceAnywhere& source) {
  if (source.has(box)) {
    load_box<Boxes, kHint>(map, target, full, box, mask, source.at);
  } else {
    load_box<Boxes, kHint>(source.outside, target, full, box, mask, OnlyMatrix{});
  }
}

/// Copies the slice `Boxes`, of the tile with first elements `k` and `mn`, into the stage at
/// address `stage`: for all CTAs in `mask`, if it is not the whole tile. The bytes arrive at the
/// barrier `full`. `matrix`: of the map.
template <class Boxes, CacheHint kHint, class Matrix = OnlyMatrix>
__device__ __forceinline__ void load_boxes(const TensorMap& map, u32 stage, u32 full, int k, int mn,
                                           int begin = 0, unsigned short mask = 0,
                                           Matrix matrix = {}) {
#pragma unroll
  for (int slab = 0; slab < Boxes::kSlabs; ++slab) {
#pragma unroll
    for (int part = 0; part < Boxes::kSliceExtent; part += Boxes::kBoxExtent) {
      const OperandBox box = Boxes::at(slab, part, k, mn, begin);
      load_box<Boxes, kHint>(map, stage + static_cast<u32>(box.offset), full, box, mask,
                             chosen_of<Boxes>(matrix));
    }
  }
}

/// Prefetches into L2 what load_boxes() will copy.
template <class Boxes, class Matrix = OnlyMatrix>
__device__ __forceinline__ void prefetch_boxes(const TensorMap& map, int k, int mn, int begin = 0,
                                               Matrix matrix = {}) {
#pragma unroll
  for (int slab = 0; slab < Boxes::kSlabs; ++slab) {
#pragma unroll
    for (int part = 0; part < Boxes::kSliceExtent; part += Boxes::kBoxExtent) {
      const OperandBox box = Boxes::at(slab, part, k, mn, begin);
      ptx::tma_prefetch(map, box.column, box.row, chosen_of<Boxes>(matrix));
    }
  }
}

}  // namespace hgemm
