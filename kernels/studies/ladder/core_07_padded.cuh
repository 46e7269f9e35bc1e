// Step 07: no bank conflicts on the way into shared memory.
//
// What is left of the conflicts is that a warp's vectors of one row go to the same banks, four of
// them for fp32 and two for the 16-bit types. A few words of padding between what different vectors
// write shift them apart (VectorTile): 4-way, or 2-way, becomes none. 16 bytes stay aligned, so
// nothing else changes. It cannot pay much: for each 16 of K a thread writes 16 words and reads
// 256.
#pragma once

#include "studies/ladder/core_06_vectorised.cuh"

namespace hgemm::ladder {

template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_padded(const LadderParams& params) {
  core_vectorised<kElement, kProbed, true>(params);
}

}  // namespace hgemm::ladder
