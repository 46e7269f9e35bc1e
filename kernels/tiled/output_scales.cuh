// Scales of an 8-bit D that the kernel finds (OutputScaling::kBlocks). A warp has all of a row's
// 128 columns, because consumers have whole blocks of columns (TiledRule::kOutputScales), so no
// warp waits for another one.
#pragma once

#include "common/output_8_bit.cuh"
#include "tiled/pipeline.cuh"

namespace hgemm {

/// Where a kernel finds the scales of D: divides kCols columns of D by theirs, which it writes.
/// They begin at (of_rows, of_cols) of the warp's part, which begins at `begin` in D.
template <TiledKernel kKernel, int kCols>
__device__ __forceinline__ void scale_columns(float* values, const KernelParams& params,
                                              TileOrigin<kKernel> begin, int of_rows, int of_cols,
                                              int lane) {
  if constexpr (finds_output_scales(kKernel.gemm)) {
#pragma unroll
    for (int column = 0; column < kCols; column += kScaleBlock) {
      scale_by_block<kKernel>(values + column / 2, params, begin.m + of_rows,
                              begin.n + of_cols + column, lane);
    }
  }
}

}  // namespace hgemm
