// The cost terms of swap-AB kernels.
#include <algorithm>

#include "families/cost_constants.h"
#include "families/swap_ab/family.h"
#include "families/tile_cost.h"

namespace hgemm {

using namespace cost_constants;

namespace {

double start_gain_us(const SwapAbKernel& k) {
  const double hold_us = k.hold ? kHoldGainUs : 0;
  if (reads_b_early(k)) return kSwapAbEarlyStartGainUs;
  return k.pdl ? hold_us : kSwapAbStartGainUs;
}

}  // namespace

Cost Family<SwapAbConfig>::predict_cost(const CostFigures& figures, const SwapAbKernel& k,
                                        const GemmProblem& problem) {
  const double elements = static_cast<double>(k.bm) * k.bn;
  const double columns = static_cast<double>(k.bn) / (is_gated(k.gemm) ? 2 : 1);  // of D
  const double outputs = k.bm * columns;
  const TileLaunch launch{
      .bm = k.bm,
      .bn = k.bn,
      .bk = k.bk,
      .stages = k.stages,
      .mma_n = k.bm,
      .cluster_size = cluster_size(k),
      .parts = k.splits,
      .smem_bytes = smem_layout(k).total_bytes,
      .threads = threads_per_cta(k),
      .registers = std::min(entry_registers(k),
                            accumulators_per_thread(k) + promoted_registers(k) + kOtherRegisters),
      .ctas_per_sm = k.ctas_per_sm,
      .cta_per_tile = true,
      .readers = consumer_count(k),
      .lone_consumer = consumer_count(k) == 1,
      .drains = k.mma_depth == 0,
      .promoted = promoted_sums(k.gemm.scaling, true, k.promote, k.bk, k.mma_depth,
                                accumulators_per_thread(k), k.bn, k.bm),
      .read_hints = read_hints(k.a_hint, k.b_hint),
      .store = {.transfer = output_count(k.gemm) * outputs * element_bytes(k.gemm.output) /
                            kCopiedBytesPerClk},
      .epilogue = epilogue_of(k.gemm, outputs / k.splits),
      .sums = adds_in_cluster(k)
                  ? cluster_sums(k.splits, 4 * elements, kSwapAbPartClk, kSwapAbSumsBytesPerClk)
                  : TailClk{},
      .start_gain_us = start_gain_us(k),
      .pdl = k.pdl,
      .packs = k.pack,
      .fixed = k.fixed,
      .holds_next = k.hold,
      .output_row_bytes = static_cast<int>(columns) * element_bytes(k.gemm.output),
      .promotion = k.promotion,
      .input_bytes = element_bytes(k.gemm.input),
      .a_major = k.gemm.a_major,
      .b_major = k.gemm.b_major};
  return predict_tile_cost(figures, launch, problem);
}

}  // namespace hgemm
