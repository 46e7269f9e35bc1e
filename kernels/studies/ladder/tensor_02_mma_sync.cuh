// Tensor-core step 02: mma.sync, ldmatrix and a cp.async pipeline, the best design of the A100's
// generation.
//
// Three things change:
// - mma.sync.m16n8k16 specifies which element of its fragments each thread holds, so that rows in
//   shared memory may be permuted. The 16-byte units of a 128-byte row are permuted by the number
//   of the row (unit ^ row % 8). Both the writes (eight threads write one row) and ldmatrix (reads
//   one unit of eight rows) then touch all 32 banks once: no conflicts, no padding.
// - cp.async copies from global to shared memory without registers and without waiting. Two k
//   blocks are in flight while a third is multiplied; step 01 waited for each block.
// - A warp has 64 x 64 elements of D. For 16 of K it reads 4 KB for 65536 multiply-adds. With 128
//   bytes per clock from shared memory and 2048 multiply-adds per clock in the tensor cores, both
//   take 32 clocks. So even the largest warp tile that registers permit only just feeds the tensor
//   cores. wgmma solves this: it reads its operands from shared memory for four warps at once.
//
// Fragments of the next 16 of K are loaded while the current ones are multiplied.
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// Copies 16 bytes to shared memory and does not keep them in the L1.
__device__ __forceinline__ void copy_async(u32 destination, const void* source) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(destination), "l"(source)
               : "memory");
}
__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until at most kPending of this thread's newest groups are in flight.
template <int kPending>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}
/// Loads four 8 x 8 matrices. Lane i gives the address of row i % 8 of matrix i / 8. It receives
/// elements 2 (i % 4) and 2 (i % 4) + 1 of row i / 4 of each matrix.
__device__ __forceinline__ void ldmatrix_x4(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
template <Element kElement>
__device__ __forceinline__ void mma_m16n8k16(float (&d)[4], const u32 (&a)[4], u32 b_low,
                                             u32 b_high) {
  if constexpr (kElement == Element::kBf16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
  }
}

inline constexpr u32 kTile = 128;
inline constexpr u32 kThreads = 128;
inline constexpr u32 kBlock = 64;             ///< elements along K
inline constexpr u32 kRowBytes = kBlock * 2;  ///< one row covers all 32 banks
inline constexpr u32 kTileBytes = kTile * kRowBytes;
inline constexpr u32 kStages = 3;
inline constexpr u32 kSteps = kBlock / 16;

/// A thread's share of the copies of a k block: one unit of every 16th row.
template <Element kElement>
struct Copies {
  const Stored<kElement>* a;
  const Stored<kElement>* b;
  u32 row_length;
  u32 to;  ///< offset in a stage

  __device__ __forceinline__ explicit Copies(const Work<kElement, kTile, kTile>& work)
      : row_length(work.k()) {
    const u32 unit = threadIdx.x % 8;
    const u32 row = threadIdx.x / 8;
    to = row * kRowBytes + (unit ^ row % 8) * 16;
    a = work.a(row, unit * 8);
    b = work.b(row, unit * 8);
  }
  __device__ __forceinline__ void start(u32 stage, u32 block) const {
#pragma unroll
    for (u32 row = 0; row < kTile; row += kThreads / 8) {
      copy_async(stage + to + row * kRowBytes, a + u64{row} * row_length + block * kBlock);
      copy_async(stage + to + kTileBytes + row * kRowBytes,
                 b + u64{row} * row_length + block * kBlock);
    }
  }
};

/// A warp's product of 16 of K, added to its sums.
template <Element kElement>
__device__ __forceinline__ void multiply_fragments(float (&sums)[4][8][4], const u32 (&a)[4][4],
                                                   const u32 (&b)[4][4]) {
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
#pragma unroll
    for (u32 j = 0; j < 8; ++j) {
      mma_m16n8k16<kElement>(sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
}

/// Lane l holds rows l / 4 and l / 4 + 8 of each 16 x 8 sums, columns 2 (l % 4) and 2 (l % 4) + 1.
template <Element kElement>
__device__ __forceinline__ void store_sums(const float (&sums)[4][8][4],
                                           const Work<kElement, kTile, kTile>& work, u32 warp_row,
                                           u32 warp_col) {
  const u32 lane = threadIdx.x % 32;
  const u32 row = warp_row + lane / 4;
  const u32 col = warp_col + lane % 4 * 2;
#pragma unroll
  for (u32 i = 0; i < 4; ++i) {
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      Stored<kElement>* const d = work.d(row + i * 16 + half * 8, col);
#pragma unroll
      for (u32 j = 0; j < 8; ++j) {
        *reinterpret_cast<u32*>(d + j * 8) =
            ptx::pack<kDtype<kElement>>(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
      }
    }
  }
}

/// 128 x 128 elements of D, four warps, 64 of K at a time, three k blocks in shared memory.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void tensor_mma_sync(const LadderParams& params) {
  extern __shared__ uint4 stages[];  // for each stage: A's tile, then B's
  const Work<kElement, kTile, kTile> work(params);
  const u32 lane = threadIdx.x % 32;
  const u32 warp_row = threadIdx.x / 64 * 64;
  const u32 warp_col = threadIdx.x / 32 % 2 * 64;
  const u32 smem = ptx::smem_address(stages);
  const auto stage_of = [&](u32 block) { return smem + block % kStages * (2 * kTileBytes); };
  const u32 blocks = work.k() / kBlock;
  const Copies<kElement> copies(work);

  // Addresses for ldmatrix of this lane. For A: row l % 16 of 16 and unit l / 16 of 2, so that the
  // matrices are in the order of mma's fragment. For B: rows 0 to 7 of 16 (columns of D) with both
  // units, then rows 8 to 15, which gives two fragments. Every row is congruent to l % 8 modulo 8.
  const u32 a_from = (warp_row + lane % 16) * kRowBytes;
  const u32 b_from = kTileBytes + (warp_col + lane / 16 * 8 + lane % 8) * kRowBytes;
  const u32 a_unit = lane / 16;
  const u32 b_unit = lane / 8 % 2;
  u32 a_fragments[2][4][4];
  u32 b_fragments[2][4][4];
  const auto load = [&](u32 stage, u32 step) {
    const u32 a_at = stage + a_from + ((step * 2 + a_unit) ^ lane % 8) * 16;
    const u32 b_at = stage + b_from + ((step * 2 + b_unit) ^ lane % 8) * 16;
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      ldmatrix_x4(a_fragments[step % 2][i], a_at + i * (16 * kRowBytes));
      ldmatrix_x4(b_fragments[step % 2][i], b_at + i * (16 * kRowBytes));
    }
  };

  Stopwatch<kProbed> watch;
  float sums[4][8][4] = {};
#pragma unroll
  for (u32 block = 0; block < kStages - 1; ++block) {
    if (block < blocks) copies.start(stage_of(block), block);
    copy_async_commit();
  }
  for (u32 block = 0; block < blocks; ++block) {
    // There is one group for each block up to the next one. All but the last are complete, so this
    // thread's share of the current block is complete. After the barrier all shares are complete,
    // and no thread reads the stage of the previous block any more. The next copy fills that stage.
    copy_async_wait<kStages - 2>();
    __syncthreads();
    watch.stop(Phase::kLoad);
    const u32 next = block + kStages - 1;
    if (next < blocks) copies.start(stage_of(next), next);
    copy_async_commit();  // an empty group too, so that the count above holds
    const u32 stage = stage_of(block);
    load(stage, 0);
#pragma unroll
    for (u32 step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) load(stage, step + 1);
      multiply_fragments<kElement>(sums, a_fragments[step % 2], b_fragments[step % 2]);
    }
    watch.stop(Phase::kMma);
  }
  store_sums(sums, work, warp_row, warp_col);
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
