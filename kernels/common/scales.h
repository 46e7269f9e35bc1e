// Shared memory for scales (common/scales.cuh).
#pragma once

#include "common/types.h"

namespace hgemm {

/// Bytes for the scales of one consumer's part of a tile, of so many rows and columns as wgmma
/// computes it; a multiple of 16.
HGEMM_HOST_DEVICE constexpr int scale_bytes(Scaling scaling, int rows, int cols) {
  const int numbers = scaling == Scaling::kRows ? rows + cols : 2;
  return scaling == Scaling::kNone ? 0 : (numbers * 4 + 15) / 16 * 16;
}

}  // namespace hgemm
