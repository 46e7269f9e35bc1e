// The scale of a row, or of a part of it, that is found from its largest magnitude: how values
// become 8 bits with scales that fill the range of the type.
#pragma once

#include "common/types.h"

namespace hgemm {

/// The largest value of an 8-bit type.
HGEMM_HOST_DEVICE constexpr float largest_value(DataType type) {
  return type == DataType::kE4m3 ? 448.0f : 57344.0f;
}
/// Magnitudes below this count as this, so that zeros have a scale, and no factor that is found is
/// infinite.
inline constexpr float kLeastMagnitude = 0x1p-96f;

/// What values are multiplied by, and the scale that undoes it.
struct QuantiseFactor {
  float factor, scale;
};
template <DataType kTarget>
__device__ __forceinline__ QuantiseFactor factor_for(float largest) {
  constexpr float kLargest = largest_value(kTarget);
  largest = fmaxf(largest, kLeastMagnitude);
  return {__fdiv_rn(kLargest, largest), __fdiv_rn(largest, kLargest)};
}

}  // namespace hgemm
