// Scales of 8-bit operands (GemmKind::scaling): a consumer multiplies its sums by them, before
// anything is added to them. Each part of a K that is cut is scaled by itself.
//
// The consumer's threads fetch the scales of its part of a tile into shared memory when the tile
// begins, by cp.async, so that they arrive while it is multiplied. (Loads into registers would keep
// ptxas at the registers of kernel entry: analysis/kernel-notes.md, "Loads of an epilogue keep
// ptxas at the registers of entry".)
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"

namespace hgemm {

/// The row of B which is row `row` of a tile that begins with row `first`; with a gate a tile has
/// runs of gates and of ups (operand_tile.h, PairedBoxes). Behind the last row it is the last one.
template <auto kKernel>
__device__ __forceinline__ int row_of_b(const KernelParams& params, int first, int row) {
  const int rows = extent_n<kKernel>(params);
  if constexpr (!is_gated(kKernel.gemm)) {
    return min(first + row, rows - 1);
  } else {
    constexpr int kRun = gate_run(kKernel);
    const int of_pair = row % (2 * kRun);
    const int is_up = of_pair >= kRun ? 1 : 0;
    const int column =
        min(first / 2 + row / (2 * kRun) * kRun + of_pair - is_up * kRun, rows / 2 - 1);
    return kKernel.gemm.epilogue.gate == Gate::kInterleaved ? 2 * column + is_up
                                                            : column + is_up * (rows / 2);
  }
}

/// The scales of a consumer's part of a tile: kRows rows of wgmma's 64-row operand by kCols of the
/// other one. kSwapped: the rows are those of B.
template <auto kKernel, int kRows, int kCols, bool kSwapped>
struct Scales {
  static constexpr Scaling kScaling = kKernel.gemm.scaling;
  static constexpr int kBarrier = 8;  ///< named, + consumer

  u32 base;  ///< in shared memory: scale_bytes(kRows, kCols) of this consumer
  int consumer;

  /// For all threads of the consumer. The first row of the part is row `part_row` of the tile's
  /// rows as wgmma has them, its first column `part_col` of its columns. The tile begins with row
  /// `a_row` of A and `b_row` of B.
  __device__ __forceinline__ void fetch(const KernelParams& params, int a_row, int b_row,
                                        int part_row, int part_col) const {
    const auto& scaled = static_cast<const ScaledParams&>(params);
    const int thread = static_cast<int>(threadIdx.x) % kWarpgroupThreads;
    meet();  // all have read those of the tile before
    if constexpr (kScaling == Scaling::kTensor) {
      if (thread < 2) copy(thread, thread == 0 ? scaled.scale_a : scaled.scale_b);
    } else {
#pragma unroll
      for (int i = 0; i < kRows + kCols; i += kWarpgroupThreads) {
        const int index = i + thread;
        if (index >= kRows + kCols) break;
        const bool is_row = index < kRows;
        const int of_tile = is_row ? part_row + index : part_col + index - kRows;
        const int a = min(a_row + of_tile, extent_m<kKernel>(params) - 1);
        const int b = row_of_b<kKernel>(params, b_row, of_tile);
        copy(index, is_row != kSwapped ? scaled.scale_a + a : scaled.scale_b + b);
      }
    }
  }

  /// For all threads of the consumer: multiplies the sums of its fragments. `value(block, i)`: sum
  /// number i of a 64-row block.
  template <class Value>
  __device__ __forceinline__ void multiply(int warp, int lane, const Value& value) const {
    ptx::copy_async_wait_all();
    meet();
    constexpr int kBlocks = kRows / kMmaM;
    if constexpr (kScaling == Scaling::kTensor) {
      float pair[2];
      ptx::load_shared_v2(pair, base);
      const float factor = pair[0] * pair[1];
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int i = 0; i < kCols / 2; ++i) value(block, i) *= factor;
      }
    } else {
      float rows[kBlocks][2];
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const int row = block * kMmaM + warp * 16 + lane / 4;
        rows[block][0] = __uint_as_float(ptx::load_shared(address(row)));
        rows[block][1] = __uint_as_float(ptx::load_shared(address(row + 8)));
      }
#pragma unroll
      for (int group = 0; group < kCols / 8; ++group) {
        float cols[2];
        ptx::load_shared_v2(cols, address(kRows + group * 8 + 2 * (lane % 4)));
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            value(block, group * 4 + i) *= rows[block][i / 2] * cols[i % 2];
        }
        __syncwarp();  // otherwise ptxas 13.0 loads many groups at once
      }
    }
  }

 private:
  __device__ __forceinline__ u32 address(int index) const {
    return base + static_cast<u32>(index * 4);
  }
  __device__ __forceinline__ void copy(int index, const float* source) const {
    ptx::copy_async(address(index), source);
  }
  __device__ __forceinline__ void meet() const {
    ptx::named_barrier_sync<kWarpgroupThreads>(kBarrier + consumer);
  }
};

}  // namespace hgemm
