#include "device/tensor_map.h"

#include <cuda.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "device/cuda.h"

namespace hgemm {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

/// Gets the function at run time: libcuda is not linked, so that the program starts without a
/// driver.
decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &entry, 12000, cudaEnableDefault,
                                         &result),
        "looking for cuTensorMapEncodeTiled in the driver");
  if (result != cudaDriverEntryPointSuccess) {
    throw Error("the driver has no cuTensorMapEncodeTiled: CUDA 12 or newer is needed");
  }
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(entry);
}

CUtensorMapDataType data_type(TensorElement element) {
  switch (element) {
    case TensorElement::kBf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case TensorElement::kF16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case TensorElement::kF32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case TensorElement::kByte:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
  throw Error("an element type outside its enumeration");
}

CUtensorMapSwizzle swizzle_of(TensorSwizzle swizzle) {
  switch (swizzle) {
    case TensorSwizzle::kNone:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
    case TensorSwizzle::k32B:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case TensorSwizzle::k64B:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case TensorSwizzle::k128B:
      return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  throw Error("a swizzle outside its enumeration");
}

CUtensorMapL2promotion promotion_of(TensorPromotion promotion) {
  switch (promotion) {
    case TensorPromotion::kNone:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
    case TensorPromotion::k64B:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case TensorPromotion::k128B:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case TensorPromotion::k256B:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  }
  throw Error("an L2 promotion outside its enumeration");
}

}  // namespace

TensorMap make_tensor_map(const TensorMapSpec& spec) {
  static const auto encode_tiled = tensor_map_encoder();
  const std::size_t rank = spec.extents.size();
  if (rank == 0 || spec.box.size() != rank || spec.strides_bytes.size() + 1 != rank) {
    throw Error(
        fmt::format("the tensor map of {} does not say as much of each dimension", spec.name));
  }
  const std::vector<cuuint64_t> extents(spec.extents.begin(), spec.extents.end());
  const std::vector<cuuint64_t> strides(spec.strides_bytes.begin(), spec.strides_bytes.end());
  const std::vector<cuuint32_t> box(spec.box.begin(), spec.box.end());
  const std::vector<cuuint32_t> element_strides(rank, 1);
  CUtensorMap map{};
  const CUresult code = encode_tiled(
      &map, data_type(spec.element), static_cast<cuuint32_t>(rank), spec.data, extents.data(),
      strides.data(), box.data(), element_strides.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
      swizzle_of(spec.swizzle), promotion_of(spec.promotion), CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code != CUDA_SUCCESS) {
    throw Error(fmt::format("the driver refused the tensor map of {} ({}, box {}): error {}",
                            spec.name, fmt::join(spec.extents, " x "), fmt::join(spec.box, " x "),
                            static_cast<int>(code)));
  }
  TensorMap result;
  std::memcpy(&result, &map, sizeof result);
  return result;
}

}  // namespace hgemm
