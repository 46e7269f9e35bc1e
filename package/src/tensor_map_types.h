// Tensor maps as the driver encodes them.
#pragma once

#include <cuda.h>

#include <cstring>

#include "families/launch_parts.h"

namespace hgemm_tuned_table {

inline CUtensorMapL2promotion promotion_of(int bytes) {
  switch (bytes) {
    case 64:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case 128:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case 256:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    default:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
  }
}

inline CUtensorMapSwizzle swizzle_of(int bytes) {
  if (bytes == 0) return CU_TENSOR_MAP_SWIZZLE_NONE;
  return bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_128B;
}

inline CUtensorMapDataType tensor_type_of(hgemm::DataType type) {
  switch (type) {
    case hgemm::DataType::kFp16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case hgemm::DataType::kFp32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case hgemm::DataType::kE4m3:
    case hgemm::DataType::kE5m2:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  }
}

/// `encode_tiled`: the driver's function, which is not linked. Sets `ok` to false if the driver
/// refuses the map.
inline hgemm::TensorMap encode(decltype(&cuTensorMapEncodeTiled) encode_tiled,
                               const hgemm::MatrixMap& map, bool* ok) {
  cuuint64_t extents[4] = {static_cast<cuuint64_t>(map.cols), static_cast<cuuint64_t>(map.rows)};
  cuuint64_t strides[3] = {static_cast<cuuint64_t>(map.stride_bytes)};
  cuuint32_t box[4] = {static_cast<cuuint32_t>(map.box_cols),
                       static_cast<cuuint32_t>(map.box_rows)};
  const cuuint32_t element_strides[] = {1, 1, 1, 1};
  cuuint32_t dimensions = 2;
  for (int i = 0; i < map.outer_dimensions; ++i, ++dimensions) {
    extents[dimensions] = static_cast<cuuint64_t>(map.outer[i].extent);
    strides[dimensions - 1] = static_cast<cuuint64_t>(map.outer[i].stride_bytes);
    box[dimensions] = static_cast<cuuint32_t>(map.outer[i].box);
  }
  CUtensorMap encoded{};
  *ok &= encode_tiled(&encoded, tensor_type_of(map.type), dimensions, map.data, extents, strides,
                      box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                      swizzle_of(map.swizzle_bytes), promotion_of(map.promotion_bytes),
                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
  hgemm::TensorMap result;
  static_assert(sizeof result == sizeof encoded);
  std::memcpy(&result, &encoded, sizeof result);
  return result;
}

}  // namespace hgemm_tuned_table
