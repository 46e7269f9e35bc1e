// The tiled family: each CTA computes output tiles by wgmma, fed by TMA (kernels/tiled).
#pragma once

#include "families/family.h"

namespace hgemm {

template <>
struct Family<TiledConfig> {
  using KernelType = TiledKernel;
  static constexpr std::string_view kName = "tiled";
  static constexpr std::string_view kHeader = "tiled/kernel.cuh";
  static constexpr std::string_view kFunction = "tiled_gemm";
  static constexpr std::string_view kConfigType = "TiledConfig";
  static constexpr std::string_view kKernelType = "TiledKernel";

  static std::span<const Axis<TiledConfig>> axes();
  /// True if its tiles do not leave whole 64-row blocks empty.
  static bool suits(const TiledKernel& kernel, const GemmProblem& problem);
  /// The simplest config that does the same at the problem: an order whose bands are as wide as the
  /// output, or longer, is one without bands.
  static TiledConfig simplest(const TiledConfig& config, const GemmProblem& problem);
  static Cost predict_cost(const CostFigures& figures, const TiledKernel& kernel,
                           const GemmProblem& problem);
};

}  // namespace hgemm
