// CUDA's names for the properties of a tensor map.
#pragma once

#include <cuda.h>

#include "families/kernel.h"

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

}  // namespace hgemm_tuned_table
