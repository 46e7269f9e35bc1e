// The wgmma of a pair of operand types.
#pragma once

#include "common/tiles.h"
#include "common/wgmma.cuh"

namespace hgemm {

/// 8-bit operands (common/wgmma_fp8.cuh, which only kernels with such operands include).
template <int kN, DataType kA, DataType kB>
struct WgmmaFp8;

template <bool kIs8Bit, int kN, DataType kA, DataType kB, Major kMajorA, Major kMajorB>
struct MmaOf {
  using Type = Wgmma<kN, kA, kMajorA, kMajorB>;
};
template <int kN, DataType kA, DataType kB, Major kMajorA, Major kMajorB>
struct MmaOf<true, kN, kA, kB, kMajorA, kMajorB> {
  using Type = WgmmaFp8<kN, kA, kB>;
};
/// wgmma's m64nN with operands of these types: A has the 64 rows, B the N. 16-bit ones have the
/// same type.
template <int kN, DataType kA, DataType kB, Major kMajorA, Major kMajorB>
using Mma = typename MmaOf<is_8_bit(kA), kN, kA, kB, kMajorA, kMajorB>::Type;

}  // namespace hgemm
