// Reads rows of 2-byte elements that begin at any address, in the 16-byte units that hold them.
#pragma once

#include "common/ptx.cuh"

namespace hgemm {

inline constexpr int kElementsPerUnit = kUnitBytes / kInputBytes;

/// The two 16-byte units that hold eight elements beginning at any address.
struct UnitWindow {
  u64 address;  ///< of the first unit
  int shift;    ///< index in that unit of the first of the eight elements

  __device__ __forceinline__ explicit UnitWindow(const unsigned short* source)
      : address(reinterpret_cast<u64>(source)), shift(static_cast<int>(address % 16)) {
    address -= static_cast<u64>(shift);
    shift /= kInputBytes;
  }
  __device__ __forceinline__ const uint4* low() const {
    return reinterpret_cast<const uint4*>(address);
  }
};

/// The memory of a matrix, from its first element to the end of its last one.
struct MatrixBounds {
  u64 begin, end;

  __device__ __forceinline__ MatrixBounds(const void* data, int rows, int cols, long long leading)
      : begin(reinterpret_cast<u64>(data)),
        end(begin + static_cast<u64>((rows - 1) * leading + cols) * kInputBytes) {}
  __device__ __forceinline__ bool holds(const UnitWindow& window) const {
    return window.address >= begin && window.address + (window.shift != 0 ? 32 : 16) <= end;
  }
};

/// Eight elements, or `count` of them and zeros, read one by one, for units that reach outside the
/// matrix. All loads are in flight at once.
__device__ __forceinline__ uint4 load_elements(const unsigned short* source, int count) {
  unsigned short elements[kElementsPerUnit];
#pragma unroll
  for (int i = 0; i < kElementsPerUnit; ++i) elements[i] = i < count ? source[i] : 0;
  u32 words[kElementsPerUnit / 2];
#pragma unroll
  for (int i = 0; i < kElementsPerUnit / 2; ++i) {
    words[i] = elements[2 * i] | static_cast<u32>(elements[2 * i + 1]) << 16;
  }
  return {words[0], words[1], words[2], words[3]};
}

/// The eight elements that begin at element `shift` of two units.
__device__ __forceinline__ uint4 shifted_unit(const uint4& low, const uint4& high, int shift) {
  u32 w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  if (shift & 4) {
#pragma unroll
    for (int i = 0; i < 6; ++i) w[i] = w[i + 2];
  }
  if (shift & 2) {
#pragma unroll
    for (int i = 0; i < 5; ++i) w[i] = w[i + 1];
  }
  if (shift & 1) {
#pragma unroll
    for (int i = 0; i < 4; ++i) w[i] = __byte_perm(w[i], w[i + 1], 0x5432);
  }
  return {w[0], w[1], w[2], w[3]};
}

}  // namespace hgemm
