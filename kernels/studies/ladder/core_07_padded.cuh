// Step 07: no bank conflicts in the writes to shared memory.
//
// The remaining conflict is that a warp's vectors of one row go to the same banks: four vectors for
// fp32, two for the 16-bit types. A few words of padding between different vectors shift them apart
// (VectorTile), so that the 4-way or 2-way conflict disappears. Accesses of 16 bytes stay aligned,
// so nothing else changes. The gain must be small: for each 16 of K a thread writes 16 words and
// reads 256.
#pragma once

#include "studies/ladder/core_06_vectorised.cuh"

namespace hgemm::ladder {

template <Element kElement, bool kProbed>
__device__ __forceinline__ void core_padded(const LadderParams& params) {
  core_vectorised<kElement, kProbed, true>(params);
}

}  // namespace hgemm::ladder
