// The numbers that round to an 8-bit value. Device code includes it too.
#pragma once

#include "kernels/common/types.h"

namespace hgemm {

/// Magnitudes of an 8-bit type are the bits without the sign. Those above this one are NaN, or in
/// e5m2 infinity, which no rounding to the largest value gives.
HGEMM_HOST_DEVICE constexpr unsigned largest_magnitude(DataType type) {
  return type == DataType::kE4m3 ? 0x7e : 0x7b;
}
HGEMM_HOST_DEVICE constexpr float value_of_magnitude(DataType type, unsigned magnitude) {
  const unsigned fraction_bits = type == DataType::kE4m3 ? 3 : 2;
  const int bias = type == DataType::kE4m3 ? 7 : 15;
  const unsigned exponent = magnitude >> fraction_bits;
  const unsigned fraction = magnitude & ((1u << fraction_bits) - 1);
  float value = static_cast<float>(exponent == 0 ? fraction : fraction + (1u << fraction_bits));
  int power =
      (exponent == 0 ? 1 : static_cast<int>(exponent)) - bias - static_cast<int>(fraction_bits);
  for (; power > 0; --power) value *= 2;
  for (; power < 0; ++power) value /= 2;
  return value;
}

/// How far the nearest number that rounds to an 8-bit value (to nearest, and beyond the largest
/// value to that) is from `expected`: 0 where the value is the right one. NaN for NaN and infinity.
HGEMM_HOST_DEVICE constexpr float distance_to_rounded_from(DataType type, unsigned bits,
                                                           float expected) {
  const unsigned magnitude = bits & 0x7f;
  const unsigned largest = largest_magnitude(type);
  const float zero = expected - expected;
  if (magnitude > largest) return zero / zero;
  const float aimed_at = (bits & 0x80) != 0 ? -expected : expected;
  const float value = value_of_magnitude(type, magnitude);
  const float below =
      magnitude == 0 ? -value_of_magnitude(type, 1) : value_of_magnitude(type, magnitude - 1);
  const float low = (below + value) / 2;
  if (aimed_at < low) return low - aimed_at;
  if (magnitude == largest) return zero;  // NaN if that is expected
  const float high = (value + value_of_magnitude(type, magnitude + 1)) / 2;
  return aimed_at > high ? aimed_at - high : zero;
}

}  // namespace hgemm
