// Quantises activations: a matrix of bf16 or fp16 becomes the A of a problem with 8-bit operands,
// with the scales that the problem has (GemmKind::scaling), in one pass over memory.
//
// A scale is the factor by which the GEMM multiplies. The scale of a tensor is given. That of a
// row, or of 128 elements of a row, is the largest magnitude among them over the largest value of
// the 8-bit type, so that they fill its range. A value is multiplied by the rounded reciprocal of
// its scale and rounded to the nearest, or beyond the largest value to that. NaN stays NaN. An
// infinity among activations makes its scale infinite and itself NaN, so it is not lost in the
// GEMM.
//
// A thread has units of 16 elements: 32 bytes that it reads, and 16 that it writes.
#pragma once

#include "kernels/common/ptx.cuh"
#include "kernels/common/quantise_factor.cuh"
#include "kernels/common/types.h"

namespace hgemm {

struct QuantiseParams {
  const void* source;     ///< rows at multiples of 16 bytes
  unsigned char* target;  ///< likewise
  float* scales;          ///< kTensor: one, which is read. Others are written
  /// Elements from one row to the next, multiples of 8 and of 16; and with scales of blocks numbers
  /// from one block of columns to the next (scale_leading()).
  long long source_leading, target_leading, block_leading;
  long long rows;
  int cols;  ///< a multiple of kQuantiseUnit
};

inline constexpr int kQuantiseUnit = 16;
inline constexpr int kQuantiseThreads = 256;
/// Units of a row that a thread keeps while the largest magnitude is found (of rows): 16384
/// elements for a CTA. It reads the others again, which caches hold.
inline constexpr int kQuantiseKept = 4;
/// Threads that share a scale of a block.
inline constexpr int kThreadsOfBlock = kScaleBlock / kQuantiseUnit;

/// 16 neighbouring elements.
template <DataType kSource, DataType kTarget>
struct QuantiseUnit {
  uint4 words[2] = {};

  __device__ __forceinline__ void load(const QuantiseParams& params, long long row, int unit) {
    const auto* const elements = static_cast<const unsigned short*>(params.source);
    const auto* const at = reinterpret_cast<const uint4*>(elements + row * params.source_leading +
                                                          unit * kQuantiseUnit);
    words[0] = at[0];
    words[1] = at[1];
  }
  __device__ __forceinline__ u32 word(int i) const {
    const uint4& four = words[i / 4];
    return i % 4 == 0 ? four.x : i % 4 == 1 ? four.y : i % 4 == 2 ? four.z : four.w;
  }
  /// NaN is none.
  __device__ __forceinline__ float largest() const {
    float most = 0;
#pragma unroll
    for (int i = 0; i < kQuantiseUnit / 2; ++i) {
      float low;
      float high;
      ptx::unpack<kSource>(word(i), low, high);
      most = fmaxf(most, fmaxf(fabsf(low), fabsf(high)));
    }
    return most;
  }
  __device__ __forceinline__ void store(const QuantiseParams& params, long long row, int unit,
                                        float factor) const {
    u32 packed[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float values[4];
      ptx::unpack<kSource>(word(2 * i), values[0], values[1]);
      ptx::unpack<kSource>(word(2 * i + 1), values[2], values[3]);
      packed[i] = ptx::pack<kTarget>(factor * values[0], factor * values[1]) |
                  ptx::pack<kTarget>(factor * values[2], factor * values[3]) << 16;
    }
    auto* const at = reinterpret_cast<uint4*>(params.target + row * params.target_leading +
                                              unit * kQuantiseUnit);
    *at = {packed[0], packed[1], packed[2], packed[3]};
  }
};

/// Without scales, and with those of a tensor and of blocks: a thread has a unit, and with scales
/// of blocks kThreadsOfBlock neighbours have a block, of which a row may have an incomplete last
/// one. Any number of CTAs of kQuantiseThreads threads.
template <DataType kSource, DataType kTarget, Scaling kScaling>
__device__ __forceinline__ void quantise_units(const QuantiseParams& params) {
  constexpr bool kOfBlocks = is_of_blocks(kScaling);
  const int units = params.cols / kQuantiseUnit;
  const int per_row =
      kOfBlocks ? static_cast<int>(scale_blocks(params.cols)) * kThreadsOfBlock : units;
  const long long all = params.rows * per_row;
  const long long step = static_cast<long long>(gridDim.x) * kQuantiseThreads;
  float factor = 1;
  if constexpr (kScaling == Scaling::kTensor) factor = __frcp_rn(*params.scales);
  // Whole blocks leave the loop together: `all` and `step` are multiples of kThreadsOfBlock.
  for (long long i = static_cast<long long>(blockIdx.x) * kQuantiseThreads + threadIdx.x; i < all;
       i += step) {
    // (A division of 64-bit numbers takes a hundred instructions.)
    const long long row =
        all <= 0xffffffff ? static_cast<u32>(i) / static_cast<u32>(per_row) : i / per_row;
    const int unit = static_cast<int>(i - row * per_row);
    const bool is_inside = unit < units;
    QuantiseUnit<kSource, kTarget> values;
    if (is_inside) values.load(params, row, unit);
    if constexpr (kOfBlocks) {
      float largest = values.largest();
      const u32 mates = 0xffu << (threadIdx.x % 32 / kThreadsOfBlock * kThreadsOfBlock);
#pragma unroll
      for (int mask = 1; mask < kThreadsOfBlock; mask *= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(mates, largest, mask));
      }
      const QuantiseFactor both = factor_for<kTarget>(largest);
      factor = both.factor;
      if (unit % kThreadsOfBlock == 0) {
        params.scales[unit / kThreadsOfBlock * params.block_leading + row] = both.scale;
      }
    }
    if (is_inside) values.store(params, row, unit, factor);
  }
}

/// With a scale of each row: a CTA has a row. `params.rows` CTAs or fewer, of whole warps.
template <DataType kSource, DataType kTarget>
__device__ __forceinline__ void quantise_rows(const QuantiseParams& params) {
  __shared__ float of_warps[kQuantiseThreads / 32];
  using Unit = QuantiseUnit<kSource, kTarget>;
  const int units = params.cols / kQuantiseUnit;
  const int threads = static_cast<int>(blockDim.x);
  const int thread = static_cast<int>(threadIdx.x);
  for (long long row = blockIdx.x; row < params.rows; row += gridDim.x) {
    Unit kept[kQuantiseKept];
    float largest = 0;
#pragma unroll
    for (int i = 0; i < kQuantiseKept; ++i) {
      const int unit = thread + i * threads;
      if (unit < units) kept[i].load(params, row, unit);
    }
#pragma unroll
    for (int i = 0; i < kQuantiseKept; ++i) largest = fmaxf(largest, kept[i].largest());
    for (int unit = thread + kQuantiseKept * threads; unit < units; unit += threads) {
      Unit other;
      other.load(params, row, unit);
      largest = fmaxf(largest, other.largest());
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, mask));
    }
    __syncthreads();  // all have read those of the row before
    if (thread % 32 == 0) of_warps[thread / 32] = largest;
    __syncthreads();
    for (int warp = 0; warp < threads / 32; ++warp) largest = fmaxf(largest, of_warps[warp]);
    const QuantiseFactor both = factor_for<kTarget>(largest);
    if (thread == 0) params.scales[row] = both.scale;
#pragma unroll
    for (int i = 0; i < kQuantiseKept; ++i) {
      const int unit = thread + i * threads;
      if (unit < units) kept[i].store(params, row, unit, both.factor);
    }
    for (int unit = thread + kQuantiseKept * threads; unit < units; unit += threads) {
      Unit other;
      other.load(params, row, unit);
      other.store(params, row, unit, both.factor);
    }
  }
}

}  // namespace hgemm
