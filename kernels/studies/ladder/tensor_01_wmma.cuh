// Tensor-core step 01: a warp multiplies 16 x 16 x 16 blocks with the WMMA instructions.
//
// One instruction of the warp does what the last CUDA-core step does with the warp's FMAs.
// Fragments of A and B are loaded from shared memory in a layout that only the hardware knows, and
// one wmma.mma computes 4096 multiply-adds with them, twice as many as a warp's 32 threads did for
// one k. Elements stay 16 bits wide in shared memory; sums are fp32. A CTA has eight warps. Each
// has 64 x 32 elements of D as 4 x 2 fragments: 6 loads for 8 multiplications.
//
// These are the instructions behind nvcuda::wmma (<mma.h>), written as PTX, because NVRTC has no
// CUDA headers.
//
// PTX requires that every row of an fp16 fragment is aligned to the 32 bytes that a thread holds of
// it (PTX ISA, "Matrix Fragments for WMMA", alignment), so rows are padded by 32 bytes, to 96. The
// eight rows of 16 bytes that are read at a time then share banks in pairs (without padding: in
// fours). 16 bytes of padding would put all of them in different banks, but the alignment rule
// forbids it. Step 02 leaves WMMA for this reason too.
#pragma once

#include "studies/ladder/core.cuh"

namespace hgemm::ladder {

/// Fragments of one 16 x 16 x 16 multiplication. Both operands lie along K: A by rows, B by
/// columns.
template <Element kElement>
struct Wmma;

template <>
struct Wmma<Element::kFp16> {
  struct Fragment {
    u32 r[8];
  };
  static __device__ __forceinline__ void load_a(Fragment& f, u32 address, u32 row_elements) {
    asm volatile(
        "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
        : "=r"(f.r[0]), "=r"(f.r[1]), "=r"(f.r[2]), "=r"(f.r[3]), "=r"(f.r[4]), "=r"(f.r[5]),
          "=r"(f.r[6]), "=r"(f.r[7])
        : "r"(address), "r"(row_elements)
        : "memory");
  }
  static __device__ __forceinline__ void load_b(Fragment& f, u32 address, u32 row_elements) {
    asm volatile(
        "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
        : "=r"(f.r[0]), "=r"(f.r[1]), "=r"(f.r[2]), "=r"(f.r[3]), "=r"(f.r[4]), "=r"(f.r[5]),
          "=r"(f.r[6]), "=r"(f.r[7])
        : "r"(address), "r"(row_elements)
        : "memory");
  }
  static __device__ __forceinline__ void multiply(float (&d)[8], const Fragment& a,
                                                  const Fragment& b) {
    asm volatile(
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11, %12, %13, %14, %15}, "
        "{%16, %17, %18, %19, %20, %21, %22, %23}, {%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(a.r[4]), "r"(a.r[5]), "r"(a.r[6]),
          "r"(a.r[7]), "r"(b.r[0]), "r"(b.r[1]), "r"(b.r[2]), "r"(b.r[3]), "r"(b.r[4]), "r"(b.r[5]),
          "r"(b.r[6]), "r"(b.r[7]));
  }
};

template <>
struct Wmma<Element::kBf16> {
  struct Fragment {
    u32 r[4];
  };
  static __device__ __forceinline__ void load_a(Fragment& f, u32 address, u32 row_elements) {
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(f.r[0]), "=r"(f.r[1]), "=r"(f.r[2]), "=r"(f.r[3])
                 : "r"(address), "r"(row_elements)
                 : "memory");
  }
  static __device__ __forceinline__ void load_b(Fragment& f, u32 address, u32 row_elements) {
    asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(f.r[0]), "=r"(f.r[1]), "=r"(f.r[2]), "=r"(f.r[3])
                 : "r"(address), "r"(row_elements)
                 : "memory");
  }
  static __device__ __forceinline__ void multiply(float (&d)[8], const Fragment& a,
                                                  const Fragment& b) {
    asm volatile(
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, %15}, "
        "{%0, %1, %2, %3, %4, %5, %6, %7};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7])
        : "r"(a.r[0]), "r"(a.r[1]), "r"(a.r[2]), "r"(a.r[3]), "r"(b.r[0]), "r"(b.r[1]), "r"(b.r[2]),
          "r"(b.r[3]));
  }
};

/// Writes 16 x 16 sums to shared memory by rows. Only the hardware knows the layout of their
/// fragment.
__device__ __forceinline__ void wmma_store(u32 address, const float (&d)[8], u32 row_floats) {
  asm volatile(
      "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 "
      "[%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"r"(address),
      "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]), "f"(d[4]), "f"(d[5]), "f"(d[6]), "f"(d[7]),
      "r"(row_floats)
      : "memory");
}

inline constexpr int kTile = 128;
inline constexpr int kThreads = 256;
inline constexpr int kBlock = 32;  ///< elements along K
inline constexpr int kRow = 48;    ///< elements from row to row of a tile: 32 and the padding
inline constexpr int kSums = 24;   ///< floats from row to row of a warp's 16 x 16 sums
inline constexpr int kRowFragments = 4;
inline constexpr int kColFragments = 2;

using Tile = unsigned short[kTile * kRow];
using Sums = float[kRowFragments][kColFragments][8];

/// Writes a warp's sums to D through `staged`, 16 x 16 at a time. From there a lane reads half a
/// row, eight elements, which are 16 bytes of D.
template <Element kElement>
__device__ __forceinline__ void store_sums(const Sums& sums,
                                           const Work<kElement, kTile, kTile>& work, float* staged,
                                           u32 warp_row, u32 warp_col) {
  const u32 lane = threadIdx.x % 32;
  const u32 staged_row = lane / 2;
  const u32 staged_col = lane % 2 * 8;
#pragma unroll
  for (u32 i = 0; i < kRowFragments; ++i) {
#pragma unroll
    for (u32 j = 0; j < kColFragments; ++j) {
      wmma_store(ptx::smem_address(staged), sums[i][j], kSums);
      __syncwarp();
      const float* const from = &staged[staged_row * kSums + staged_col];
      uint4 packed;
      packed.x = ptx::pack<kDtype<kElement>>(from[0], from[1]);
      packed.y = ptx::pack<kDtype<kElement>>(from[2], from[3]);
      packed.z = ptx::pack<kDtype<kElement>>(from[4], from[5]);
      packed.w = ptx::pack<kDtype<kElement>>(from[6], from[7]);
      *reinterpret_cast<uint4*>(
          work.d(warp_row + i * 16 + staged_row, warp_col + j * 16 + staged_col)) = packed;
      __syncwarp();
    }
  }
}

/// 128 x 128 elements of D, 256 threads, 32 of K at a time.
template <Element kElement, bool kProbed>
__device__ __forceinline__ void tensor_wmma(const LadderParams& params) {
  __shared__ alignas(128) Tile a_tile;
  __shared__ alignas(128) Tile b_tile;
  __shared__ alignas(128) float sums_of_warps[kThreads / 32][16 * kSums];
  const Work<kElement, kTile, kTile> work(params);
  const u32 warp = threadIdx.x / 32;
  const u32 warp_row = warp / 4 * (16 * kRowFragments);
  const u32 warp_col = warp % 4 * (16 * kColFragments);

  Stopwatch<kProbed> watch;
  Sums sums = {};
  for (u32 k = 0; k < work.k(); k += kBlock) {
    // Four threads copy the 64 bytes of a row.
    const u32 depth = threadIdx.x % 4 * 8;
    uint4 a[2];
    uint4 b[2];
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const u32 row = threadIdx.x / 4 + i * 64;
      a[i] = *reinterpret_cast<const uint4*>(work.a(row, k + depth));
      b[i] = *reinterpret_cast<const uint4*>(work.b(row, k + depth));
    }
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
      const u32 row = threadIdx.x / 4 + i * 64;
      *reinterpret_cast<uint4*>(&a_tile[row * kRow + depth]) = a[i];
      *reinterpret_cast<uint4*>(&b_tile[row * kRow + depth]) = b[i];
    }
    __syncthreads();
    watch.stop(Phase::kLoad);
#pragma unroll
    for (u32 step = 0; step < kBlock; step += 16) {
      typename Wmma<kElement>::Fragment a_fragments[kRowFragments];
      typename Wmma<kElement>::Fragment b_fragments[kColFragments];
#pragma unroll
      for (u32 i = 0; i < kRowFragments; ++i) {
        Wmma<kElement>::load_a(a_fragments[i],
                               ptx::smem_address(&a_tile[(warp_row + i * 16) * kRow + step]), kRow);
      }
#pragma unroll
      for (u32 j = 0; j < kColFragments; ++j) {
        Wmma<kElement>::load_b(b_fragments[j],
                               ptx::smem_address(&b_tile[(warp_col + j * 16) * kRow + step]), kRow);
      }
#pragma unroll
      for (u32 i = 0; i < kRowFragments; ++i) {
#pragma unroll
        for (u32 j = 0; j < kColFragments; ++j) {
          Wmma<kElement>::multiply(sums[i][j], a_fragments[i], b_fragments[j]);
        }
      }
    }
    __syncthreads();
    watch.stop(Phase::kMma);
  }
  store_sums(sums, work, sums_of_warps[warp], warp_row, warp_col);
  watch.stop(Phase::kStore);
  watch.write(params, threadIdx.x == 0, true);
}

}  // namespace hgemm::ladder
