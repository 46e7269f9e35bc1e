// Shared by the CUDA-core steps and the first tensor-core step: the elements, the position of a
// CTA's work and, from the register tiles on, the copy of a tile to shared memory.
//
// The operands are K-major: rows of A and rows of B both lie along K. A warp reads whole sectors
// only if its lanes are neighbours along K, but the products need neighbours along M and N. Most of
// the work of these steps is to convert one order to the other.
//
// The degree of a bank conflict is the number of a warp's 32 lanes that access different words in
// one of the 32 four-byte banks. A conflict of degree n takes n turns instead of one.
#pragma once

#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

template <Element kElement>
struct StoredAs {
  using Type = unsigned short;  ///< the bits of a bf16 or fp16
};
template <>
struct StoredAs<Element::kFp32> {
  using Type = float;
};
template <Element kElement>
using Stored = typename StoredAs<kElement>::Type;

/// Elements in 16 bytes, the most that one thread loads at once.
template <Element kElement>
inline constexpr int kPerVector = 16 / static_cast<int>(sizeof(Stored<kElement>));

template <Element kElement>
__device__ __forceinline__ float to_float(Stored<kElement> value) {
  if constexpr (kElement == Element::kFp32) {
    return value;
  } else {
    return widened<kElement>(value);
  }
}
template <Element kElement>
__device__ __forceinline__ Stored<kElement> from_float(float value) {
  if constexpr (kElement == Element::kFp32) {
    return value;
  } else {
    return rounded<kElement>(value);
  }
}

/// The 16 bytes of a vector as fp32, in order.
template <Element kElement>
__device__ __forceinline__ void widen(const uint4& vector, float (&wide)[kPerVector<kElement>]) {
  const u32 words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kElement == Element::kFp32) {
      wide[i] = __uint_as_float(words[i]);
    } else {
      wide[2 * i] = to_float<kElement>(static_cast<unsigned short>(words[i]));
      wide[2 * i + 1] = to_float<kElement>(static_cast<unsigned short>(words[i] >> 16));
    }
  }
}

/// Writes four neighbouring columns of D in one store: 16 bytes for fp32, 8 for the other types. It
/// is PTX because the compiler may split the store of a float4 into four.
template <Element kElement>
__device__ __forceinline__ void store_four(Stored<kElement>* at, const float* values) {
  const u64 address = __cvta_generic_to_global(at);
  if constexpr (kElement == Element::kFp32) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(address), "f"(values[0]),
                 "f"(values[1]), "f"(values[2]), "f"(values[3])
                 : "memory");
  } else {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address),
                 "r"(ptx::pack<kDtype<kElement>>(values[0], values[1])),
                 "r"(ptx::pack<kDtype<kElement>>(values[2], values[3]))
                 : "memory");
  }
}

/// The work of this CTA: one CTA for each tile of D, in row-major order of tiles.
template <Element kElement, u32 kTileM, u32 kTileN>
struct Work {
  const LadderParams& params;
  u32 row, col;  ///< where the tile begins in D

  __device__ __forceinline__ explicit Work(const LadderParams& of)
      : params(of),
        row(blockIdx.x / (static_cast<u32>(of.n) / kTileN) * kTileM),
        col(blockIdx.x % (static_cast<u32>(of.n) / kTileN) * kTileN) {}

  __device__ __forceinline__ u32 k() const { return static_cast<u32>(params.k); }
  /// Elements of A, B and D, counted from where the tile begins.
  __device__ __forceinline__ const Stored<kElement>* a(u32 tile_row, u32 depth) const {
    return static_cast<const Stored<kElement>*>(params.a) + u64{row + tile_row} * k() + depth;
  }
  __device__ __forceinline__ const Stored<kElement>* b(u32 tile_col, u32 depth) const {
    return static_cast<const Stored<kElement>*>(params.b) + u64{col + tile_col} * k() + depth;
  }
  __device__ __forceinline__ Stored<kElement>* d(u32 tile_row, u32 tile_col) const {
    return static_cast<Stored<kElement>*>(params.d) +
           u64{row + tile_row} * static_cast<u32>(params.n) + col + tile_col;
  }
};

/// Depth in K of the shared-memory tiles of the register-tile steps. A row of 16 elements is one
/// 32-byte sector in the 16-bit types and two sectors in fp32.
inline constexpr int kCoreDepth = 16;

/// Copies kRows x kCoreDepth elements to a transposed tile, [k][row], in which the kRows of one k
/// are neighbours. It converts them to fp32, so that each element is converted once and not at
/// every use. Each thread moves one element at a time. The lanes of a warp write 16 k of two rows.
/// The k are kRows words (a multiple of 32) apart: a 16-way conflict.
template <Element kElement, int kRows, int kThreads>
__device__ __forceinline__ void fill_by_elements(float (&tile)[kCoreDepth * kRows],
                                                 const Stored<kElement>* source, u32 row_length) {
  static_assert(kRows * kCoreDepth % kThreads == 0 && kThreads % kCoreDepth == 0);
  const u32 depth = threadIdx.x % kCoreDepth;
  const u32 first_row = threadIdx.x / kCoreDepth;
#pragma unroll
  for (u32 row = 0; row < kRows; row += kThreads / kCoreDepth) {
    tile[depth * kRows + first_row + row] =
        to_float<kElement>(source[u64{first_row + row} * row_length + depth]);
  }
}

/// The layout in which fill_by_vectors() writes elements. A thread has one vector, which is
/// kPerVector elements of one row, and writes them one k after the other. The 32 lanes of a warp
/// have all kVectors vectors of 32 / kVectors rows. The rows are neighbours and thus in different
/// banks. The vectors are a multiple of 32 words apart and thus in the same bank: a conflict of
/// degree kVectors, 4 for fp32 and 2 for the other types. With 32 / kVectors words of padding
/// before each further vector, every lane has its own bank.
///
/// (The usual padding, the same for every k, cannot do this for fp32. 16-byte reads need a multiple
/// of 4 words. Vectors of 4 k with 4 words each are then 16 banks apart, so that every second
/// vector is in the same banks.)
template <Element kElement, int kRows, bool kPadded>
struct VectorTile {
  static constexpr int kVectors = kCoreDepth / kPerVector<kElement>;  ///< vectors of a row
  static constexpr int kPadding = kPadded ? 32 / kVectors : 0;
  static constexpr int kFloats = kCoreDepth * kRows + (kVectors - 1) * kPadding;

  alignas(16) float at[kFloats];

  static __device__ __forceinline__ u32 index(u32 depth, u32 row) {
    return depth * kRows + depth / kPerVector<kElement> * kPadding + row;
  }
  __device__ __forceinline__ float4 four(u32 depth, u32 row) const {
    return *reinterpret_cast<const float4*>(&at[index(depth, row)]);
  }
};

/// The same with 16-byte loads. A thread issues all its loads before it uses the first one.
template <Element kElement, int kRows, int kThreads, bool kPadded>
__device__ __forceinline__ void fill_by_vectors(VectorTile<kElement, kRows, kPadded>& tile,
                                                const Stored<kElement>* source, u32 row_length) {
  using Tile = VectorTile<kElement, kRows, kPadded>;
  constexpr int kLoads = kRows * Tile::kVectors / kThreads;
  static_assert(kLoads * kThreads == kRows * Tile::kVectors && kThreads % Tile::kVectors == 0);
  const u32 depth = threadIdx.x % Tile::kVectors * kPerVector<kElement>;
  const u32 first_row = threadIdx.x / Tile::kVectors;
  uint4 vectors[kLoads];
#pragma unroll
  for (u32 i = 0; i < kLoads; ++i) {
    const u32 row = first_row + i * (kThreads / Tile::kVectors);
    vectors[i] = *reinterpret_cast<const uint4*>(&source[u64{row} * row_length + depth]);
  }
#pragma unroll
  for (u32 i = 0; i < kLoads; ++i) {
    const u32 row = first_row + i * (kThreads / Tile::kVectors);
    float wide[kPerVector<kElement>];
    widen<kElement>(vectors[i], wide);
#pragma unroll
    for (u32 j = 0; j < kPerVector<kElement>; ++j) tile.at[Tile::index(depth + j, row)] = wide[j];
  }
}

}  // namespace hgemm::ladder
