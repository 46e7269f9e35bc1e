// The GEMV family: a few rows of A or of B, computed by CUDA cores (kernels/gemv).
#pragma once

#include "families/family.h"

namespace hgemm {

template <>
struct Family<GemvConfig> {
  using KernelType = GemvKernel;
  static constexpr std::string_view kName = "gemv";
  static constexpr std::string_view kHeader = "gemv/kernel.cuh";
  static constexpr std::string_view kFunction = "gemv";
  static constexpr std::string_view kConfigType = "GemvConfig";
  static constexpr std::string_view kKernelType = "GemvKernel";

  static std::span<const Axis<GemvConfig>> axes();
  /// True if half as many vectors would not be enough.
  static bool suits(const GemvKernel& kernel, const GemmProblem& problem);
  static Cost predict_cost(const CostFigures& figures, const GemvKernel& kernel,
                           const GemmProblem& problem);
};

}  // namespace hgemm
