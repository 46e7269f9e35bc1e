// Step 1: one thread computes one element of D directly from memory, with two loads for every
// product. The only reuse is in the caches.
#pragma once

#include "studies/ladder/common.cuh"

namespace hgemm::ladder {

/// 256 threads, 16 x 16 elements of D.
template <Element kElement, bool kProbe>
__device__ __forceinline__ void naive(const LadderParams& params) {
  constexpr int kTile = 16;
  const int column_tiles = params.n / kTile;
  const int row =
      static_cast<int>(blockIdx.x) / column_tiles * kTile + static_cast<int>(threadIdx.x) / kTile;
  const int column =
      static_cast<int>(blockIdx.x) % column_tiles * kTile + static_cast<int>(threadIdx.x) % kTile;
  const auto* const a = static_cast<const unsigned short*>(params.a) +
                        static_cast<u64>(row) * static_cast<u64>(params.k);
  const auto* const b = static_cast<const unsigned short*>(params.b) +
                        static_cast<u64>(column) * static_cast<u64>(params.k);
  float sum = 0;
  for (int k = 0; k < params.k; ++k) sum += widened<kElement>(a[k]) * widened<kElement>(b[k]);
  static_cast<unsigned short*>(
      params.d)[static_cast<u64>(row) * static_cast<u64>(params.n) + static_cast<u64>(column)] =
      rounded<kElement>(sum);
}

}  // namespace hgemm::ladder
