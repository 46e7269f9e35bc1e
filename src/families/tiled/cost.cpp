// The cost terms of tiled kernels, and the problems that they suit.
#include <algorithm>
#include <set>
#include <utility>

#include "families/cost_constants.h"
#include "families/tile_cost.h"
#include "families/tiled/family.h"
#include "kernels/common/params.h"
#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {
namespace {

using namespace cost_constants;

double output_bytes(const TiledKernel& k) {
  return static_cast<double>(k.bm) * k.bn * element_bytes(k.gemm.output);
}

/// From the last k block of a tile until it is stored. (Shares of sums are stored as they are added
/// up.)
TailClk store_of(const TiledKernel& k) {
  if (shares_sums(k)) return {};
  const double rate = k.store == StorePath::kDirect   ? kDirectBytesPerClk
                      : k.store == StorePath::kStaged ? kElementsBytesPerClk
                      : k.swap                        ? kTransposedBytesPerClk
                                                      : kCopiedBytesPerClk;
  return {.transfer = output_bytes(k) / rate};
}

/// Parts of a streamed tile that its last CTA adds up; 0 if no tile is cut.
double streamed_parts(const CostFigures& figures, const TiledKernel& k,
                      const GemmProblem& problem) {
  const int tiles = tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), k).tiles();
  const int clusters = std::max(1, figures.sms / cluster_size(k));
  const WorkList list(k, 0, clusters, tiles, ceil_div(static_cast<int>(problem.k), k.bk));
  return list.streamed == 0 ? 0 : static_cast<double>(list.sharers) / list.streamed;
}

/// Parts of K of a tile.
int parts_of(const CostFigures& figures, const TiledKernel& k, const GemmProblem& problem) {
  if (!shares_sums(k)) return k.splits;
  const int k_blocks = ceil_div(static_cast<int>(problem.k), k.bk);
  return split_parts(k, k_blocks, std::max(1, figures.sms / cluster_size(k)));
}

/// To add up the parts of a tile, through the other CTAs' shared memory or through L2.
TailClk sums_of(const CostFigures& figures, const TiledKernel& k, const GemmProblem& problem) {
  const double bytes = 4.0 * k.bm * k.bn;
  if (adds_in_cluster(k)) return cluster_sums(k.splits, bytes);
  if (shares_sums(k)) {
    return {.latency = kSplitSumsClk + kSplitPartClk * parts_of(figures, k, problem),
            .transfer = bytes / kSplitSumsBytesPerClk};
  }
  if (k.scheduler == TileScheduler::kStreamK) {
    // One CTA leaves its part, and another one adds up all parts, one after the other.
    const double parts = streamed_parts(figures, k, problem);
    if (parts == 0) return {};
    return {.latency = kStreamSumsClk + parts * kStreamPartClk,
            .transfer = bytes / kLeaveBytesPerClk + parts * bytes / kAddBytesPerClk};
  }
  return {};
}

/// Until a CTA knows its first tile.
double scheduling_us(const TiledKernel& k) {
  const double queue_us = cluster_size(k) > 1 ? kClusterQueueUs : kQueueUs;
  return (k.order == TileOrder::kHilbert ? kHilbertUs : 0) +
         (k.scheduler == TileScheduler::kDynamic ? queue_us : 0);
}

/// Registers of a thread when the kernel starts: those that it needs, or all that are left to it if
/// the consumers get more later.
int registers_of(const TiledKernel& k) {
  if (moves_registers(k)) return entry_registers(k);
  return std::min(entry_registers(k),
                  accumulators_per_thread(k) + waiting_registers(k) + kOtherRegisters);
}

/// SMs that the launch uses; 0: all.
int sms_of(const CostFigures& figures, const TiledKernel& k, const GemmProblem& problem) {
  if (k.sms == kAllSms) return 0;
  const int tiles = tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), k).tiles();
  const int at_once = std::max(1, figures.sms / cluster_size(k));
  return clusters_on_sms(k, tiles, at_once) * cluster_size(k);
}

/// Parts of the reads of A and B that reach L2, if clusters are numbered by their GPC.
struct ReadParts {
  double a = 1, b = 1;
};
ReadParts read_parts(const CostFigures& figures, const TiledKernel& k, const GemmProblem& problem) {
  // With PDL, clusters start where the kernel before leaves room, so their numbers tell nothing.
  if (!k.gpc || k.pdl) return {};
  const int tiles = tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), k).tiles();
  const int at_once = std::max(1, figures.sms / cluster_size(k));
  const int clusters = std::min(
      tiles * parts_of(figures, k, problem) / (adds_in_cluster(k) ? k.splits : 1), at_once);
  if (clusters > kMostNumbered || (!is_persistent(k) && tiles > at_once)) return {};
  const int k_blocks = ceil_div(static_cast<int>(problem.k), k.bk);
  const TileGrid grid = tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), k);
  // Panels of A and B that a GPC reads, each with the first k block, in the order of their use.
  double rows = 0;
  double columns = 0;
  for (int gpc = 0; gpc < kGpcs; ++gpc) {
    std::set<std::pair<int, int>> rows_here, columns_here;
    for (int c = clusters * gpc / kGpcs; c < clusters * (gpc + 1) / kGpcs; ++c) {
      const Work work = WorkList(k, c, clusters, tiles, k_blocks).at(0);
      const TileCoord tile = tile_at(k.order, k.group, work.tile, grid);
      rows_here.insert({tile.m, work.first});
      columns_here.insert({tile.n, work.first});
    }
    rows += static_cast<double>(rows_here.size());
    columns += static_cast<double>(columns_here.size());
  }
  // Copies to several CTAs never become one.
  const auto part = [&](double panels, bool multicast) {
    return multicast ? 1 : kReadApart + (1 - kReadApart) * panels / clusters;
  };
  return {.a = part(rows, k.cluster_n > 1), .b = part(columns, k.cluster_m > 1)};
}

}  // namespace

bool Family<TiledConfig>::suits(const TiledKernel& kernel, const GemmProblem& problem) {
  return kernel.bm < problem.m + (kernel.swap ? kSwizzleRows : kMmaM) &&
         kernel.bn < problem.n + (kernel.swap ? kMmaM : kernel.bn);
}

Cost Family<TiledConfig>::predict_cost(const CostFigures& figures, const TiledKernel& k,
                                       const GemmProblem& problem) {
  const ReadParts read = read_parts(figures, k, problem);
  const TileLaunch launch{
      .bm = k.bm,
      .bn = k.bn,
      .bk = k.bk,
      .stages = k.stages,
      .mma_n = consumer_cols(k),
      .cluster_m = k.cluster_m,
      .cluster_n = k.cluster_n,
      .cluster_size = cluster_size(k),
      .parts = parts_of(figures, k, problem),
      .smem_bytes = smem_layout(k).total_bytes,
      .threads = threads_per_cta(k),
      .registers = registers_of(k),
      .ctas_per_sm = k.ctas_per_sm,
      .sms = sms_of(figures, k, problem),
      .streams = streamed_parts(figures, k, problem) > 0,
      .cta_per_tile = !is_persistent(k),
      .lone_consumer = readers(k) == 1,
      .store = store_of(k),
      .overlapped_store = k.schedule == Schedule::kPingPong || k.store == StorePath::kOverlapped
                              ? kOverlappedStore
                              : 1,
      .sums = sums_of(figures, k, problem),
      .sums_each_tile = shares_sums(k),
      .pdl = k.pdl,
      .packs = k.pack,
      .fixed = k.fixed,
      .scheduling_us = scheduling_us(k),
      .output_row_bytes = k.bn * element_bytes(k.gemm.output),
      .promotion = k.promotion,
      .tile_at = [&k](int index, TileGrid grid) { return tile_at(k.order, k.group, index, grid); },
      .input_bytes = element_bytes(k.gemm.input),
      .a_read = read.a,
      .b_read = read.b};
  return predict_tile_cost(figures, launch, problem);
}

}  // namespace hgemm
