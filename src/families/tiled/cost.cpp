// The cost terms of tiled kernels, and the problems that they suit.
#include <algorithm>
#include <cmath>

#include "families/cost_constants.h"
#include "families/tile_cost.h"
#include "families/tiled/family.h"
#include "kernels/common/params.h"
#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {
namespace {

using namespace cost_constants;

/// Elements of D in a tile.
double outputs(const TiledKernel& k) {
  return static_cast<double>(k.bm) * k.bn / (is_gated(k.gemm) ? 2 : 1);
}
double output_bytes(const TiledKernel& k) {
  return output_count(k.gemm) * outputs(k) * element_bytes(k.gemm.output);
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

/// The part of a tile's store that counts if another tile follows, during which it is stored. A
/// consumer that adds the sums of each k block and holds the tile in registers of its own has no
/// time to spare: its boxes take as long as without the overlapped store (1,500 to 1,900 cycles for
/// a tile of 128x128; H200, 2026-11-28).
double part_of_overlapped_store(const TiledKernel& k) {
  if (k.schedule == Schedule::kPingPong) return kOverlappedStore;
  if (k.store != StorePath::kOverlapped) return 1;
  if (waits_in_sums(k)) return kStoreFromSums;
  const bool adds_each_block = k.promote != 0 && k.promote == k.bk;
  return adds_each_block ? 1 : kOverlappedStore;
}

TileGrid grid_of_product(const TiledKernel& k, const GemmProblem& problem) {
  return tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), k);
}
/// Tiles of all products.
int all_tiles(const TiledKernel& k, const GemmProblem& problem) {
  return static_cast<int>(problem.batch) * grid_of_product(k, problem).tiles();
}

/// Parts of a streamed tile that its last CTA adds up; 0 if no tile is cut.
double streamed_parts(const CostFigures& figures, const TiledKernel& k,
                      const GemmProblem& problem) {
  const int tiles = all_tiles(k, problem);
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
  if (adds_in_cluster(k))
    return cluster_sums(k.splits, bytes, kClusterPartClk, kClusterSumsBytesPerClk);
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

double start_gain_us(const TiledKernel& k) {
  if (!k.hold) return 0;
  return cluster_size(k) > 2 ? -kHoldClusterUs : kHoldGainUs;
}

/// Registers of a thread when the kernel starts: those that it needs, or all that are left to it if
/// the consumers get more later.
int registers_of(const TiledKernel& k) {
  if (moves_registers(k)) return entry_registers(k);
  return std::min(entry_registers(k), accumulators_per_thread(k) + promoted_registers(k) +
                                          waiting_registers(k) + kOtherRegisters);
}

/// SMs that the launch uses; 0: all.
int sms_of(const CostFigures& figures, const TiledKernel& k, const GemmProblem& problem) {
  if (k.sms == kAllSms) return 0;
  const int tiles = all_tiles(k, problem);
  const int at_once = std::max(1, figures.sms / cluster_size(k));
  return clusters_on_sms(k, tiles, at_once) * cluster_size(k);
}

/// Parts of the reads of A and B that reach L2, if clusters are numbered by their GPC; and the same
/// if all reads of a GPC became one.
struct ReadParts {
  double a = 1, b = 1;
  double a_once = 1, b_once = 1;
};

/// Rows and columns of tiles that a run of so many tiles of the order touches, if it begins with a
/// band.
TileCoord touched_by_run(const TiledConfig& c, int tiles, TileGrid grid) {
  const auto in_bands = [](int tiles_of_run, int band, TileGrid all) -> TileCoord {
    const int height = std::min({band, all.m, tiles_of_run});
    const int width = ceil_div(tiles_of_run, height);
    if (width <= all.n) return {height, width};
    return {std::min(all.m, height * ceil_div(width, all.n)), all.n};
  };
  switch (c.order) {
    case TileOrder::kLinear:
      return in_bands(tiles, grid.m, grid);
    case TileOrder::kGroupedRows:
    case TileOrder::kSnakeRows:
      return in_bands(tiles, c.group, grid);
    case TileOrder::kGroupedColumns:
    case TileOrder::kSnakeColumns: {
      const TileCoord transposed = in_bands(tiles, c.group, {grid.n, grid.m});
      return {transposed.n, transposed.m};
    }
    case TileOrder::kHilbert:
      break;
  }
  return in_bands(tiles, static_cast<int>(std::ceil(std::sqrt(tiles))), grid);
}

ReadParts read_parts(const CostFigures& figures, const TiledKernel& k, const GemmProblem& problem) {
  if (!k.gpc) return {};
  const TileGrid grid = grid_of_product(k, problem);
  const int pieces = all_tiles(k, problem) * (shares_sums(k) ? parts_of(figures, k, problem) : 1);
  const int at_once = std::max(1, figures.sms / cluster_size(k));
  // With a CTA for each tile, those that follow others start wherever there is room.
  if (at_once > kMostNumbered || (!is_persistent(k) && pieces > at_once)) return {};
  const int clusters = ceil_div(std::min(pieces, at_once), kGpcs);  // of a GPC
  // Parts of K, and products, come one after the other, so a GPC may have all tiles of the grid
  // more than once.
  const int rounds = ceil_div(clusters, grid.tiles());
  const TileCoord panels = touched_by_run(k, ceil_div(clusters, rounds), grid);
  // Clusters with at most one tile each begin together. Others drift apart.
  const double apart = pieces <= at_once ? kReadApart : kDriftedReadApart;
  const auto once = [&](int read) {
    return static_cast<double>(std::min(read * rounds, clusters)) / clusters;
  };
  // A copy to several CTAs never becomes one with others.
  const auto part = [&](int read, bool multicast) {
    return multicast ? 1.0 : apart + (1 - apart) * once(read);
  };
  return {.a = part(panels.m, k.cluster_n > 1),
          .b = part(panels.n, k.cluster_m > 1),
          .a_once = k.cluster_n > 1 ? 1.0 : once(panels.m),
          .b_once = k.cluster_m > 1 ? 1.0 : once(panels.n)};
}

}  // namespace

bool Family<TiledConfig>::suits(const TiledKernel& kernel, const GemmProblem& problem) {
  return kernel.bm < problem.m + (kernel.swap ? kSwizzleRows : kMmaM) &&
         kernel.bn < problem.n + (kernel.swap ? kMmaM : kernel.bn);
}

Cost Family<TiledConfig>::predict_cost(const CostFigures& figures, const TiledKernel& k,
                                       const GemmProblem& problem) {
  const ReadParts read = read_parts(figures, k, problem);
  const int owners_of_tile =
      shares_sums(k) || adds_in_cluster(k) ? parts_of(figures, k, problem) : 1;
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
      .readers = readers(k),
      .lone_consumer = readers(k) == 1,
      .drains = k.mma_depth == 0,
      .promoted = promoted_sums(k.gemm.scaling, k.swap, k.promote, k.bk, k.mma_depth,
                                accumulators_per_thread(k), k.bn, consumer_cols(k)),
      .read_hints = read_hints(k.a_hint, k.b_hint),
      .store = store_of(k),
      .overlapped_store = part_of_overlapped_store(k),
      .epilogue = epilogue_of(k.gemm, outputs(k) / owners_of_tile, addend_stages(k)),
      // With the overlapped store it is computed before the next tile's wgmmas.
      .overlapped_epilogue = k.schedule == Schedule::kPingPong ? kOverlappedStore : 1,
      .sums = sums_of(figures, k, problem),
      .sums_each_tile = shares_sums(k),
      .start_gain_us = start_gain_us(k),
      .pdl = k.pdl,
      .packs = k.pack,
      .fixed = k.fixed,
      .holds_next = k.hold,
      .scheduling_us = scheduling_us(k),
      .output_row_bytes = (is_gated(k.gemm) ? k.bn / 2 : k.bn) * element_bytes(k.gemm.output),
      .promotion = k.promotion,
      .tile_at = [&k](int index, TileGrid grid) { return tile_at(k.order, k.group, index, grid); },
      .input_bytes = element_bytes(k.gemm.input),
      .a_major = k.gemm.a_major,
      .b_major = k.gemm.b_major,
      .a_read = read.a,
      .b_read = read.b,
      .a_once = read.a_once,
      .b_once = read.b_once};
  return predict_tile_cost(figures, launch, problem);
}

}  // namespace hgemm
