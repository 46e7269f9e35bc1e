// Tensor maps: how the copy engine (TMA) finds a box of a tensor in memory and lays it out in
// shared memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/params.h"

namespace hgemm {

enum class TensorElement : std::uint8_t { kBf16, kF16, kF32, kByte };
/// The swizzle of shared memory: 16-byte units are permuted within spans of that many bytes.
enum class TensorSwizzle : std::uint8_t { kNone, k32B, k64B, k128B };
/// How much the L2 fetches around what is asked for.
enum class TensorPromotion : std::uint8_t { kNone, k64B, k128B, k256B };

/// Dimensions are listed from the innermost, which is contiguous. Rules of the driver (cuda.h,
/// above cuTensorMapEncodeTiled): at most 5 dimensions; address and strides multiples of 16 bytes;
/// a box of at most 256 in each dimension, whose innermost extent is a multiple of 16 bytes and at
/// most the swizzle's span.
struct TensorMapSpec {
  std::string name;  ///< for the error message: "A"
  void* data = nullptr;
  TensorElement element = TensorElement::kBf16;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides_bytes;  ///< of the dimensions after the first
  std::vector<int> box;
  TensorSwizzle swizzle = TensorSwizzle::k128B;
  TensorPromotion promotion = TensorPromotion::kNone;
};

/// Throws Error naming the map that the driver refuses. Elements outside the tensor read as zeros.
TensorMap make_tensor_map(const TensorMapSpec& spec);

}  // namespace hgemm
