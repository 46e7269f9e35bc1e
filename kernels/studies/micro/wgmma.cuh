// wgmma alone: the cost of an instruction in a full pipe, and of a single instruction.
//
// Operands are those of a real main loop: tiles of rows of 128 bytes, K-major, 128-byte swizzle, in
// a ring of three or four stages. An instruction takes 32 bytes of each row (k16 of 16-bit
// elements, k32 of fp8), the next instruction takes the next 32, then the next stage follows. Each
// warpgroup has its own A tile; all share B. The values affect only the power draw, so the swizzled
// positions are filled with random bits of the element type in any order.
//
// Issue: a round is one commit group, once around the ring on one set of accumulators, like the k
// loop of a tile. wait_group 1 lets the next round begin while one is in flight, so that the tensor
// cores never run dry. The first wgmma of a round overwrites the accumulators, so that they stay
// finite however long the loop is. Latency: fence, one wgmma, commit, wait_group 0, repeated.
//
// The compiler cannot remove any instruction (every wgmma is volatile asm), and the checksum of the
// last round proves that operands were read. Two things could distort the result: ptxas may
// serialise the wgmmas (C7510 to C7520), which the compile step reports and rejects; and the issue
// loop may cost more than 18 cycles per instruction, which unrolling over the ring prevents.
//
// A source that includes this defines `Mma` for one instruction (src/studies/micro/points.cpp).
#pragma once

#include "studies/micro/operands.cuh"
#include "studies/micro/timing.cuh"

namespace hgemm::micro {

/// Shared-memory matrix descriptor, 128-byte swizzle, K-major: see common/operand_tile.h.
__device__ __forceinline__ u64 tile_descriptor(u32 address) {
  return static_cast<u64>(address >> 4) | (1ull << 16) | (static_cast<u64>(1024 / 16) << 32) |
         (1ull << 62);
}

/// One warpgroup's operands and accumulators. `Mma` has kN, kFp8, kAFromRegisters, kWarpgroups (the
/// most that the kernel is launched with), Accumulator, kAccumulators and
///   mma(Accumulator (&d)[kAccumulators], a, u64 b, int accumulate)
/// with a: a descriptor, or four registers.
template <class Mma, int kStages>
struct WgmmaActor {
  static constexpr int kATiles = Mma::kAFromRegisters ? 0 : kStages;
  static constexpr int kBBytes = Mma::kN * kRowBytes;

  typename Mma::Accumulator d[Mma::kAccumulators];
  u32 a_fragments[kStepsPerStage][4];
  u64 a, b;

  /// B tiles come first, then the A tiles of each warpgroup.
  __device__ __forceinline__ WgmmaActor(u32 smem, const void* operands, int warpgroup) {
    b = tile_descriptor(smem);
    a = tile_descriptor(smem +
                        static_cast<u32>(kStages * kBBytes + warpgroup * kATiles * kATileBytes));
#pragma unroll
    for (int i = 0; i < Mma::kAccumulators; ++i) d[i] = 0;
    if constexpr (Mma::kAFromRegisters) {
#pragma unroll
      for (int k = 0; k < kStepsPerStage; ++k) {
        const uint4 unit = operand_unit<Mma::kFp8>(
            operands, k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x));
        a_fragments[k][0] = unit.x;
        a_fragments[k][1] = unit.y;
        a_fragments[k][2] = unit.z;
        a_fragments[k][3] = unit.w;
      }
    }
  }

  __device__ __forceinline__ void step(int stage, int k, int accumulate) {
    const u64 b_k = b + static_cast<u64>(stage * (kBBytes / 16) + k * 2);
    if constexpr (Mma::kAFromRegisters) {
      Mma::mma(d, a_fragments[k], b_k, accumulate);
    } else {
      Mma::mma(d, a + static_cast<u64>(stage * (kATileBytes / 16) + k * 2), b_k, accumulate);
    }
  }

  __device__ __forceinline__ void issue(int rounds) {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
      ptx::wgmma_fence();
#pragma unroll
      for (int stage = 0; stage < kStages; ++stage) {
#pragma unroll
        for (int k = 0; k < kStepsPerStage; ++k) step(stage, k, stage + k > 0 ? 1 : 0);
      }
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<1>();
    }
    ptx::wgmma_wait_group<0>();
  }

  __device__ __forceinline__ void issue_one_by_one(int rounds) {
#pragma unroll 1
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int k = 0; k < kStepsPerStage; ++k) {
        ptx::wgmma_fence();
        step(0, k, k > 0 ? 1 : 0);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
      }
    }
  }

  /// Makes the accumulators readable; call it after the last wait_group.
  __device__ __forceinline__ float checksum() {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Mma::kAccumulators; ++i) {
      // The compiler does not know that wait_group makes the accumulators readable.
      Mma::touch(d[i]);
      sum += as_float(d[i]);
    }
    return sum;
  }
};

template <class Mma>
using ActorOf = WgmmaActor<Mma, wgmma_stages(Mma::kN, Mma::kAFromRegisters, Mma::kWarpgroups)>;

/// Launched with up to Mma::kWarpgroups x 128 threads and wgmma_smem_bytes() of shared memory. An
/// actor is a warpgroup. `work(actor, rounds)` is timed; `sum_of(actor)` keeps what it computes
/// from being removed.
template <class Mma, class Work, class SumOf>
__device__ __forceinline__ void time_actor(const ComputeParams& params, const Work& work,
                                           const SumOf& sum_of) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const u32 smem_base = ptx::smem_address(smem);
  if (smem_base % 1024 != 0) asm volatile("trap;");  // swizzle atoms would be split
  fill_operands<Mma::kFp8>(smem, wgmma_smem_bytes(Mma::kN, Mma::kAFromRegisters, Mma::kWarpgroups),
                           params.operands);
  __syncthreads();

  // Broadcast from lane 0, so that descriptors are computed once per warp, in uniform registers.
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128, 0);
  const int warpgroups = static_cast<int>(blockDim.x) / 128;
  ActorOf<Mma> actor(smem_base, params.operands, warpgroup);
  SectionTime* times =
      threadIdx.x % 128 == 0
          ? params.times + (static_cast<int>(blockIdx.x) * warpgroups + warpgroup) * kSections
          : nullptr;
  timed_sections(
      params.lengths, times, [] { __syncthreads(); },
      [&](int, int rounds) { work(actor, rounds); });
  const float sum = sum_of(actor);
  if (threadIdx.x == 0) params.checksums[blockIdx.x] = sum;
}

template <class Mma, bool kOneByOne>
__device__ __forceinline__ void time_wgmma(const ComputeParams& params) {
  time_actor<Mma>(
      params,
      [](ActorOf<Mma>& actor, int rounds) {
        if constexpr (kOneByOne) {
          actor.issue_one_by_one(rounds);
        } else {
          actor.issue(rounds);
        }
      },
      [](ActorOf<Mma>& actor) { return actor.checksum(); });
}

}  // namespace hgemm::micro
