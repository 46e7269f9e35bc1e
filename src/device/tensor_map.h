// Tensor maps: they describe to the copy engine (TMA) how a box of a tensor lies in memory and how
// it is laid out in shared memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/params.h"

namespace hgemm {

enum class TensorElement : std::uint8_t { kBf16, kF16, kF32, kByte };
/// Swizzle of shared memory: 16-byte units are permuted within spans of that many bytes.
enum class TensorSwizzle : std::uint8_t { kNone, k32B, k64B, k128B };
/// Granularity in which L2 fetches around the requested bytes.
enum class TensorPromotion : std::uint8_t { kNone, k64B, k128B, k256B };

/// Describes a tensor map. Dimensions are listed from the innermost, which is contiguous. Rules of
/// the driver (cuda.h, above cuTensorMapEncodeTiled): at most 5 dimensions; address and strides are
/// multiples of 16 bytes; the box has at most 256 elements in each dimension; its innermost extent
/// is a multiple of 16 bytes and at most the swizzle's span.
struct TensorMapSpec {
  std::string name;  ///< for the error message: "A"
  void* data = nullptr;
  TensorElement element = TensorElement::kBf16;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides_bytes;  ///< for the dimensions after the first
  std::vector<int> box;
  TensorSwizzle swizzle = TensorSwizzle::k128B;
  TensorPromotion promotion = TensorPromotion::kNone;
};

/// Throws Error that names the map if the driver refuses it. Elements outside the tensor read as
/// zero.
TensorMap make_tensor_map(const TensorMapSpec& spec);

}  // namespace hgemm
