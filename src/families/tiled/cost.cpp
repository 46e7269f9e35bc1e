// The cost terms of tiled kernels, and the problems that they suit.
#include <algorithm>

#include "families/cost_constants.h"
#include "families/tile_cost.h"
#include "families/tiled/family.h"
#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {
namespace {

using namespace cost_constants;

double output_bytes(const TiledKernel& k) {
  return static_cast<double>(k.bm) * k.bn * element_bytes(k.gemm.output);
}

/// Cycles from the last k block of a tile until its consumers can begin the next one.
double store_clk(const TiledKernel& k) {
  const double clk =
      kStoreClk +
      output_bytes(k) / (k.store == StorePath::kDirect ? kDirectBytesPerClk : kStagedBytesPerClk);
  const bool overlaps = k.schedule == Schedule::kPingPong || k.store == StorePath::kOverlapped;
  return overlaps ? clk * kOverlappedStore : clk;
}

/// Cycles to add up the parts of a tile, through the other CTAs' shared memory or through L2.
double sums_clk(const TiledKernel& k) {
  const double bytes = 4.0 * k.bm * k.bn;
  if (adds_in_cluster(k)) return kClusterSumsClk + bytes / kSumsBytesPerClk;
  if (k.scheduler == TileScheduler::kSplitK) return bytes * k.splits / kSplitSumsBytesPerClk;
  if (k.scheduler == TileScheduler::kStreamK) return kStreamSumsClk + bytes / kSumsBytesPerClk;
  return 0;
}

/// SMs that the launch uses; 0: all.
int sms_of(const CostFigures& figures, const TiledKernel& k, const GemmProblem& problem) {
  if (k.sms == kAllSms) return 0;
  const int tiles = tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), k).tiles();
  const int at_once = std::max(1, figures.sms / cluster_size(k));
  return clusters_on_sms(k, tiles, at_once) * cluster_size(k);
}

}  // namespace

bool Family<TiledConfig>::suits(const TiledKernel& kernel, const GemmProblem& problem) {
  return kernel.bm < problem.m + kMmaM;
}

Cost Family<TiledConfig>::predict_cost(const CostFigures& figures, const TiledKernel& k,
                                       const GemmProblem& problem) {
  const TileLaunch launch{
      .bm = k.bm,
      .bn = k.bn,
      .bk = k.bk,
      .stages = k.stages,
      .mma_depth = k.mma_depth,
      .mma_n = consumer_cols(k),
      .cluster_m = k.cluster_m,
      .cluster_n = k.cluster_n,
      .cluster_size = cluster_size(k),
      .parts = k.splits,
      .smem_bytes = smem_layout(k).total_bytes,
      .threads = threads_per_cta(k),
      .ctas_per_sm = k.ctas_per_sm,
      .sms = sms_of(figures, k, problem),
      .streams = k.scheduler == TileScheduler::kStreamK,
      .cta_per_tile = !is_persistent(k),
      .store_clk = store_clk(k),
      .sums_clk = sums_clk(k),
      .pdl = k.pdl,
      .packs = k.pack,
      .fixed = k.fixed,
      .promotion = k.promotion,
      .tile_at = [&k](int index, TileGrid grid) { return tile_at(k.order, k.group, index, grid); },
      .input_bytes = element_bytes(k.gemm.input)};
  return predict_tile_cost(figures, launch, problem);
}

}  // namespace hgemm
