// The cost terms of swap-AB kernels.
#include "families/cost_constants.h"
#include "families/swap_ab/family.h"
#include "families/tile_cost.h"

namespace hgemm {

using namespace cost_constants;

Cost Family<SwapAbConfig>::predict_cost(const CostFigures& figures, const SwapAbKernel& k,
                                        const GemmProblem& problem) {
  const double elements = static_cast<double>(k.bm) * k.bn;
  const double output_bytes = elements * element_bytes(k.gemm.output);
  const TileLaunch launch{.bm = k.bm,
                          .bn = k.bn,
                          .bk = k.bk,
                          .stages = k.stages,
                          .mma_depth = k.mma_depth,
                          .mma_n = k.bm,
                          .cluster_size = cluster_size(k),
                          .parts = k.splits,
                          .smem_bytes = smem_layout(k).total_bytes,
                          .threads = threads_per_cta(k),
                          .ctas_per_sm = k.ctas_per_sm,
                          .cta_per_tile = true,
                          .lone_consumer = consumer_count(k) == 1,
                          .store_clk = kStoreClk + output_bytes / kStagedBytesPerClk,
                          .sums_clk = adds_in_cluster(k)
                                          ? kClusterSumsClk + 4 * elements * (1 - 1.0 / k.splits) /
                                                                  kClusterSumsBytesPerClk
                                          : 0,
                          .start_gain_us = k.pdl ? kSwapAbPdlStartGainUs : kSwapAbStartGainUs,
                          .pdl = k.pdl,
                          .packs = k.pack,
                          .fixed = k.fixed,
                          .promotion = k.promotion,
                          .input_bytes = element_bytes(k.gemm.input)};
  return predict_tile_cost(figures, launch, problem);
}

}  // namespace hgemm
