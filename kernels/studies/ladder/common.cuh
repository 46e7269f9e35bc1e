// Shared by the Hopper steps: the product of one k block, the simplest store, the stopwatch.
//
// The article that the steps follow (see hopper_steps.h) has a column-major result. Here it is
// row-major, which is the same memory if the operands are exchanged: D^T = B A^T. So the LEFT
// operand, of which wgmma takes 64 rows at a time, is B (its rows are D's columns). The RIGHT
// operand, of which it takes up to 256 rows at a time, is A (its rows are D's rows).
#pragma once

#include "common/ptx.cuh"
#include "common/tma.cuh"
#include "common/types.h"
#include "common/wgmma.cuh"
#include "studies/ladder/steps.h"

namespace hgemm::ladder {

template <Element kElement>
inline constexpr DataType kDtype = kElement == Element::kFp16 ? DataType::kFp16 : DataType::kBf16;

/// Depth of a k block: 64 elements are one row of the 128-byte swizzle.
inline constexpr int kDepth = 64;
HGEMM_HOST_DEVICE constexpr u32 tile_bytes(int rows) { return static_cast<u32>(rows * kDepth * 2); }

/// Registers that setmaxnreg leaves to a producer and gives to two consumers: 40 + 2 * 232 = 3 *
/// 168, the registers with which 384 threads start.
inline constexpr int kProducerRegisters = 40;
inline constexpr int kConsumerRegisters = 232;

/// Left tiles (each of one CTA) that the good order visits together. With 8 right tiles they make
/// 128 tiles of 128 x 256, about as many as there are SMs.
inline constexpr int kTilesTogether = 16;

/// The thread of a warpgroup that counts cycles in a probed build. It must not be one that issues
/// copies.
inline constexpr int kWatchedThread = 63;

/// Index of this thread's warpgroup, broadcast so that the compiler knows it to be the same for the
/// whole warp.
__device__ __forceinline__ int warpgroup_index() {
  return __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0);
}

/// The swizzle needs its atoms at aligned addresses.
__device__ __forceinline__ u32 aligned_smem(const void* smem) {
  const u32 address = ptx::smem_address(smem);
  if (address % 1024 != 0) asm volatile("trap;");
  return address;
}

/// Shared-memory matrix descriptor of a K-major tile with 128-byte swizzle (PTX ISA, "Matrix
/// Descriptor Format"): address / 16, stride of 8 rows = 1024 bytes, layout type 1.
__device__ __forceinline__ u64 descriptor(u32 address) {
  return static_cast<u64>(address >> 4) | (1ull << 16) | (u64{1024 >> 4} << 32) | (1ull << 62);
}

/// Issues the wgmmas of one k block: kBlocks x 64 rows of `left` by 2 x kHalfCols rows of `right`.
/// Without `accumulate` the first ones overwrite d. Within the swizzle's atom, 16 elements along K
/// are 32 bytes, which is 2 in a descriptor's units of 16 bytes.
template <Element kElement, int kBlocks, int kHalfCols>
__device__ __forceinline__ void multiply(float (&d)[kBlocks][kHalfCols], u32 left, u32 right,
                                         int accumulate = 1) {
  const u64 left_descriptor = descriptor(left);
  const u64 right_descriptor = descriptor(right);
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int k = 0; k < kDepth; k += kMmaK) {
      const u32 k_units = static_cast<u32>(k * 2) / 16;
      Wgmma<2 * kHalfCols, kDtype<kElement>>::mma(
          d[block], left_descriptor + tile_bytes(block * kMmaM) / 16 + k_units,
          right_descriptor + k_units, k > 0 ? 1 : accumulate);
    }
  }
}

template <int kBlocks, int kHalfCols>
__device__ __forceinline__ void zero(float (&d)[kBlocks][kHalfCols]) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < kHalfCols; ++i) d[block][i] = 0;
  }
}

/// Makes d readable for the compiler after wgmma.wait_group; the compiler does not know what that
/// instruction does.
template <int kBlocks, int kHalfCols>
__device__ __forceinline__ void settle(float (&d)[kBlocks][kHalfCols]) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < kHalfCols; ++i) asm volatile("" : "+f"(d[block][i]));
  }
}

template <Element kElement>
__device__ __forceinline__ unsigned short rounded(float value) {
  unsigned short bits;
  if constexpr (kElement == Element::kBf16) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  } else {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  }
  return bits;
}

template <Element kElement>
__device__ __forceinline__ float widened(unsigned short bits) {
  if constexpr (kElement == Element::kBf16) {
    return __uint_as_float(static_cast<u32>(bits) << 16);
  } else {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
}

/// Writes a warpgroup's accumulators to D, two bytes per store. Lane l holds rows l / 4 and l / 4 +
/// 8 (of its warp's 16 in each block of 64), columns 8j + 2 (l % 4) + {0, 1}. The warpgroup's tile
/// starts at `left_row` and `right_row` in the operands.
template <Element kElement, int kBlocks, int kHalfCols>
__device__ __forceinline__ void store_tile(const float (&d)[kBlocks][kHalfCols],
                                           const LadderParams& params, int left_row,
                                           int right_row) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
  const u64 column_stride = static_cast<u64>(params.n);  // D^T's columns are D's rows
  unsigned short* const corner = static_cast<unsigned short*>(params.d) +
                                 static_cast<u64>(right_row + 2 * (lane % 4)) * column_stride +
                                 static_cast<u64>(left_row + warp * 16 + lane / 4);
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int j = 0; j < kHalfCols / 4; ++j) {
      unsigned short* const at = corner + static_cast<u64>(8 * j) * column_stride + block * kMmaM;
      at[0] = rounded<kElement>(d[block][4 * j]);
      at[column_stride] = rounded<kElement>(d[block][4 * j + 1]);
      at[8] = rounded<kElement>(d[block][4 * j + 2]);
      at[column_stride + 8] = rounded<kElement>(d[block][4 * j + 3]);
    }
  }
}

/// Cycle stamps of one thread. In a timed build the class is empty and reads no clock.
template <bool kEnabled>
class Stopwatch {
 public:
  __device__ __forceinline__ Stopwatch() {
    if constexpr (kEnabled) {
      last_ = clock();
      first_ = last_;
    }
  }
  /// Counts the cycles since the last stop for `phase`.
  __device__ __forceinline__ void stop(Phase phase) {
    if constexpr (kEnabled) {
      const u32 now = clock();
      cycles_[static_cast<int>(phase)] += now - last_;
      ++counts_[static_cast<int>(phase)];
      last_ = now;
    }
  }
  /// Watched threads call it at their end. `whole`: also records the time since the first stamp as
  /// the CTA's Phase::kKernel.
  __device__ __forceinline__ void write(const LadderParams& params, bool watched, bool whole) {
    if constexpr (kEnabled) {
      if (!watched) return;
      if (whole) {
        cycles_[static_cast<int>(Phase::kKernel)] = last_ - first_;
        counts_[static_cast<int>(Phase::kKernel)] = 1;
      }
      u64* const slots = params.stamps + static_cast<u64>(blockIdx.x) * (2 * kProbeSlots);
#pragma unroll
      for (int phase = 0; phase < kProbeSlots; ++phase) {
        if (counts_[phase] == 0) continue;
        slots[2 * phase] = cycles_[phase];
        slots[2 * phase + 1] = counts_[phase];
      }
    }
  }

 private:
  static __device__ __forceinline__ u32 clock() {
    u32 cycles;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
    return cycles;
  }

  u32 first_ = 0;
  u32 last_ = 0;
  u32 cycles_[kProbeSlots] = {};
  u32 counts_[kProbeSlots] = {};
};

}  // namespace hgemm::ladder
