// The epilogue: computes D from the sums, activation(alpha sum + beta C + bias) in fp32
// (GemmKind::epilogue; alpha and beta are 1 unless it is scaled).
//
// It works on the fragments that wgmma leaves in registers, wherever a kernel holds complete sums.
// In most tiled kernels C and the bias are in the sums by then (tiled/addends.cuh). In the others
// each thread loads what it needs of them: a bias stays in L1, and C is read once.
#pragma once

#include "common/params.h"
#include "common/ptx.cuh"

namespace hgemm {

/// (As a comparison and a selection it made ptxas 13.0 spill up to 1.4 KB behind a bias.)
__device__ __forceinline__ float relu(float x) { return ptx::max_nan(x, 0.0f); }

/// x times the sigmoid of y, by ex2 and a fast division: errors of 2 + 1.16 |y| and of 2 units in
/// the last place (CUDA C++ Programming Guide, intrinsic functions). (tanh.approx would be one
/// operation of the special-function unit in place of two, but its error of 2^-11 is larger than
/// what remains of GELU and SiLU at -3.)
__device__ __forceinline__ float times_sigmoid(float x, float y) {
  return __fdividef(x, 1.0f + __expf(-y));
}

/// x Phi(x), where Phi(x) = (1 + erf(x / sqrt(2))) / 2 is the normal distribution. Phi(-|x|) is
/// exp(-x^2 / 2) / 2 times a polynomial in t = 1 / (1 + 0.3275911 |x| / sqrt(2)), within 0.75e-7
/// (Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26). CUDA's erff takes twice the
/// instructions.
__device__ __forceinline__ float times_normal(float x) {
  const float size = fminf(fabsf(x), 1e18f);  // infinity times 0 would be NaN
  const float t = __fdividef(1.0f, 1.0f + 0.3275911f * kHalfSqrt2 * size);
  const float polynomial =
      0.127414796f +
      t * (-0.142248368f + t * (0.7107068705f + t * (-0.7265760135f + t * 0.5307027145f)));
  return relu(x) - size * t * (polynomial * __expf(-0.5f * size * size));
}

/// NaN stays NaN.
template <Activation kActivation>
__device__ __forceinline__ float activate(float x) {
  if constexpr (kActivation == Activation::kRelu) return relu(x);
  if constexpr (kActivation == Activation::kSilu) return times_sigmoid(x, x);
  if constexpr (kActivation == Activation::kGelu) {
    // 1 + tanh(u) is twice the sigmoid of 2 u.
    return times_sigmoid(x, 2 * kGeluScale * (x + kGeluCube * x * x * x));
  }
  if constexpr (kActivation == Activation::kGeluErf) return times_normal(x);
  return x;
}

template <DataType kType>
__device__ __forceinline__ float load_one(const void* data, u64 index) {
  if constexpr (kType == DataType::kFp32) {
    return static_cast<const float*>(data)[index];
  } else {
    float value;
    float none;
    ptx::unpack<kType>(static_cast<const unsigned short*>(data)[index], value, none);
    return value;
  }
}

/// A sum, or an element of C, times its factor.
template <auto kKernel>
__device__ __forceinline__ float scaled_sum(float sum, const KernelParams& params) {
  if constexpr (!kKernel.gemm.epilogue.scaled) return sum;
  return static_cast<const EpilogueParams&>(params).alpha * sum;
}
template <auto kKernel>
__device__ __forceinline__ float scaled_c(float c, const KernelParams& params) {
  if constexpr (!kKernel.gemm.epilogue.scaled) return c;
  return static_cast<const EpilogueParams&>(params).beta * c;
}

/// What is stored first of one sum, at a place inside D: D, or the second output.
template <auto kKernel>
__device__ __forceinline__ float finished(float sum, const KernelParams& params, int row,
                                          int column) {
  constexpr GemmKind kKind = kKernel.gemm;
  const auto& operands = static_cast<const EpilogueParams&>(params);
  sum = scaled_sum<kKernel>(sum, params);
  if constexpr (kKind.adds_c) {
    const u64 leading = static_cast<u64>(leading_d<kKernel>(params));
    sum += scaled_c<kKernel>(
        load_one<addend_type(kKind.output)>(
            operands.c, static_cast<u64>(row) * leading + static_cast<u64>(column)),
        params);
  }
  if constexpr (kKind.epilogue.bias != Bias::kNone) {
    const int index = kKind.epilogue.bias == Bias::kAlongN ? column : row;
    sum += load_one<addend_type(kKind.output)>(operands.bias, static_cast<u64>(index));
  }
  return activate<first_activation(kKind)>(sum);
}

/// Before a thread first reads C or the bias, which a kernel before this one may have written.
template <auto kKernel>
__device__ __forceinline__ void await_epilogue_operands() {
  if constexpr (kKernel.pdl && reads_operands(kKernel.gemm)) ptx::griddepcontrol_wait();
}

/// Groups whose operands are loaded before the first one is computed. `registers`: of a thread,
/// those that hold no sums. (Tiled kernels take as many for the activation alone.)
template <auto kKernel>
HGEMM_HOST_DEVICE constexpr int groups_at_once(int registers) {
  constexpr int kForAddresses = 48;  // and the like, while a tile is stored
  const int groups = (registers - kForAddresses) / (kKernel.gemm.adds_c ? 12 : 4);
  return groups < 1 ? 1 : groups > 8 ? 8 : groups;
}

/// C and the bias of kGroups groups of a warp. A group is wgmma's fragment of 16 rows by 8 columns
/// (PTX ISA, "D fragment": lane l has columns 2 (l % 4) + {0, 1} of rows l / 4 and l / 4 + 8); the
/// next one has the next 8 columns. kSwapped: wgmma's rows are columns of D.
template <auto kKernel, bool kSwapped, int kGroups>
struct GroupOperands {
  static constexpr GemmKind kKind = kKernel.gemm;
  static constexpr Bias kBias = kKind.epilogue.bias;
  static constexpr bool kBiasOfRow = kBias == (kSwapped ? Bias::kAlongN : Bias::kAlongM);
  static constexpr bool kBiasOfColumn = kBias != Bias::kNone && !kBiasOfRow;

  float c[kKind.adds_c ? kGroups : 1][4];
  float bias_of_row[2];
  float bias[kBiasOfColumn ? kGroups : 1][2];

  /// (row, column): where the first group begins in D. Outside D an element next to its edge is
  /// loaded, and the result is not stored: branches would keep the loads apart.
  __device__ __forceinline__ void load(const KernelParams& params, int row, int column, int lane) {
    const auto& operands = static_cast<const EpilogueParams&>(params);
    // `i` is an element of a group.
    const auto row_of = [&](int group, int i) {
      return min(row + (kSwapped ? group * 8 + 2 * (lane % 4) + i % 2 : i / 2 * 8 + lane / 4),
                 extent_m<kKernel>(params) - 1);
    };
    const auto column_of = [&](int group, int i) {
      return min(column + (kSwapped ? i / 2 * 8 + lane / 4 : group * 8 + 2 * (lane % 4) + i % 2),
                 columns_of_d<kKernel>(params) - 1);
    };
    const auto bias_at = [&](int group, int i) {
      const int at = kBias == Bias::kAlongN ? column_of(group, i) : row_of(group, i);
      return load_one<addend_type(kKind.output)>(operands.bias, static_cast<u64>(at));
    };
    if constexpr (kKind.adds_c) {
      const u64 leading = static_cast<u64>(leading_d<kKernel>(params));
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const u64 at =
              static_cast<u64>(row_of(group, i)) * leading + static_cast<u64>(column_of(group, i));
          c[group][i] = load_one<addend_type(kKind.output)>(operands.c, at);
        }
      }
    }
    if constexpr (kBiasOfRow) {
      bias_of_row[0] = bias_at(0, 0);
      bias_of_row[1] = bias_at(0, 2);
    }
    if constexpr (kBiasOfColumn) {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        bias[group][0] = bias_at(group, 0);
        bias[group][1] = bias_at(group, 1);
      }
    }
  }

  /// A sum with what is added to it.
  __device__ __forceinline__ float added_to(float sum, const KernelParams& params, int group,
                                            int i) const {
    sum = scaled_sum<kKernel>(sum, params);
    if constexpr (kKind.adds_c) sum += scaled_c<kKernel>(c[group][i], params);
    if constexpr (kBiasOfRow) sum += bias_of_row[i / 2];
    if constexpr (kBiasOfColumn) sum += bias[group][i % 2];
    return sum;
  }
};

/// The activation of kGroups groups of a warp, in place. kScales: and alpha before it.
template <auto kKernel, int kGroups, Activation kActivation, bool kScales>
__device__ __forceinline__ void activate_groups(float* sums, const KernelParams& params) {
  if constexpr (kActivation != Activation::kNone || kScales) {
#pragma unroll
    for (int i = 0; i < kGroups * 4; ++i) {
      const float sum = kScales ? scaled_sum<kKernel>(sums[i], params) : sums[i];
      sums[i] = activate<kActivation>(sum);
    }
    __syncwarp();  // otherwise ptxas 13.0 works on many groups at once, and spills
  }
}

/// What is stored first of kGroups groups of a warp, in place. The first begins at (row, column) of
/// D.
template <auto kKernel, bool kSwapped, int kGroups>
__device__ __forceinline__ void finish_groups(float* sums, const KernelParams& params, int row,
                                              int column, int lane) {
  GroupOperands<kKernel, kSwapped, kGroups> operands;
  operands.load(params, row, column, lane);
#pragma unroll
  for (int group = 0; group < kGroups; ++group) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& sum = sums[group * 4 + i];
      sum = activate<first_activation(kKernel.gemm)>(operands.added_to(sum, params, group, i));
    }
  }
  __syncwarp();  // likewise
}

}  // namespace hgemm
