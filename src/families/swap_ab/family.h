// The swap-AB family: few rows of A; B is wgmma's 64-row operand (kernels/swap_ab).
#pragma once

#include "families/family.h"

namespace hgemm {

template <>
struct Family<SwapAbConfig> {
  using KernelType = SwapAbKernel;
  static constexpr std::string_view kName = "swap_ab";
  static constexpr std::string_view kHeader = "swap_ab/kernel.cuh";
  static constexpr std::string_view kFunction = "swap_ab_gemm";
  static constexpr std::string_view kConfigType = "SwapAbConfig";
  static constexpr std::string_view kKernelType = "SwapAbKernel";

  static std::span<const Axis<SwapAbConfig>> axes();
  /// True for few rows of tiles of which less than a third, or less than 8 rows each, is empty.
  static bool suits(const SwapAbKernel& kernel, const GemmProblem& problem);
  static Cost predict_cost(const CostFigures& figures, const SwapAbKernel& kernel,
                           const GemmProblem& problem);
};

}  // namespace hgemm
