// mma.sync m16n8k16 alone: the instruction of GPUs before Hopper, with all operands in registers.
//
// Issue: each warp has eight independent accumulators. These are more than the latency of one
// instruction divided by the time between two, so that the tensor core is the limit. Latency: one
// accumulator; each instruction waits for the previous one. Every second instruction multiplies by
// -A, which brings the accumulators back to zero, so that they stay finite however long the loop
// is. The checksum is that of one more product, outside of the timed loop.
//
// A source that includes this defines `Mma` for one instruction (src/studies/micro/points.cpp).
#pragma once

#include "studies/micro/operands.cuh"
#include "studies/micro/timing.cuh"

namespace hgemm::micro {

/// Launched with 1 to 16 warps, each an actor.
template <class Mma, int kChains>
__device__ __forceinline__ void time_mma(const ComputeParams& params) {
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const uint4 a_unit = operand_unit<false>(params.operands, static_cast<int>(threadIdx.x));
  const uint4 b_unit =
      operand_unit<false>(params.operands, static_cast<int>(blockDim.x + threadIdx.x));
  constexpr u32 kSigns = 0x80008000u;  // of two 16-bit floats
  const u32 plus[4] = {a_unit.x, a_unit.y, a_unit.z, a_unit.w};
  const u32 minus[4] = {a_unit.x ^ kSigns, a_unit.y ^ kSigns, a_unit.z ^ kSigns, a_unit.w ^ kSigns};
  const u32 b[2] = {b_unit.x, b_unit.y};

  typename Mma::Accumulator d[kChains][Mma::kAccumulators];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
#pragma unroll
    for (int i = 0; i < Mma::kAccumulators; ++i) d[chain][i] = 0;
  }
  SectionTime* times =
      threadIdx.x % 32 == 0
          ? params.times + (blockIdx.x * (blockDim.x / 32) + static_cast<u32>(warp)) * kSections
          : nullptr;
  timed_sections(
      params.lengths, times, [] { __syncthreads(); },
      [&](int, int rounds) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round) {
#pragma unroll
          for (int chain = 0; chain < kChains; ++chain) Mma::mma(d[chain], plus, b);
#pragma unroll
          for (int chain = 0; chain < kChains; ++chain) Mma::mma(d[chain], minus, b);
        }
      });
  float sum = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    Mma::mma(d[chain], plus, b);
#pragma unroll
    for (int i = 0; i < Mma::kAccumulators; ++i) sum += as_float(d[chain][i]);
  }
  if (threadIdx.x == 0) params.checksums[blockIdx.x] = sum;
}

}  // namespace hgemm::micro
