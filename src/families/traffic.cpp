// Counts the bytes that tiles move, from the tiles and their order.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "families/tile_cost.h"

namespace hgemm {
namespace {

/// Number of tiles of an order that are counted; the rest repeats their pattern. Enough for two
/// bands of eight rows of 64x256 tiles.
constexpr int kMostTiles = 8192;

/// Rows or columns of the grid of tiles; each is a panel of one operand. Stored up to the last one
/// that was used, because there may be 2^25.
class Panels {
 public:
  explicit Panels(double panel_bytes) : bytes_(panel_bytes) {}

  void use(int index) {
    const auto at = static_cast<std::size_t>(index);
    if (at >= panels_.size()) panels_.resize(at + 1);
    if (panels_[at].wave == waves_) return;
    panels_[at].wave = waves_;
    in_wave_.push_back(at);
  }
  double touched() const { return static_cast<double>(in_wave_.size()) * bytes_; }
  /// Ends the wave and returns the bytes of its panels that were no longer in L2. `end`: all bytes
  /// of both operands touched so far.
  double fetched(double end, double l2_bytes) {
    double bytes = 0;
    for (const std::size_t at : in_wave_) {
      if (end - panels_[at].last_use > l2_bytes) bytes += bytes_;
      panels_[at].last_use = end;
    }
    in_wave_.clear();
    ++waves_;
    return bytes;
  }

 private:
  struct Panel {
    int wave = -1;  ///< the last one that used it
    double last_use = -std::numeric_limits<double>::infinity();
  };
  double bytes_;
  int waves_ = 0;
  std::vector<Panel> panels_;
  std::vector<std::size_t> in_wave_;
};

/// The output of a product as a grid of tiles of a whole cluster.
TileGrid cluster_grid(const TileLaunch& c, const GemmProblem& problem) {
  return {ceil_div(static_cast<int>(problem.m), c.bm * c.cluster_m),
          ceil_div(static_cast<int>(problem.n), c.bn * c.cluster_n)};
}

/// Bytes of A and B that a launch fetches from memory. The products of a batch follow one another,
/// so each one is counted as if it were alone.
double operand_bytes_fetched(const TrafficFigures& figures, const TileLaunch& c,
                             const GemmProblem& problem) {
  const double k_bytes = static_cast<double>(problem.k) * c.input_bytes;
  const double once = static_cast<double>(problem.m + problem.n) * k_bytes;
  const double all_once = problem.a_bytes() + problem.b_bytes();
  if (once <= figures.l2_bytes) return all_once;

  const TileGrid grid = cluster_grid(c, problem);
  const int multicast = c.cluster_m * c.cluster_n;
  const int at_once =
      std::max(1, static_cast<int>(figures.sms * figures.ctas_per_sm / (multicast * c.parts)));
  Panels rows(c.bm * c.cluster_m * k_bytes);
  Panels columns(c.bn * c.cluster_n * k_bytes);
  const int tiles = std::min(grid.tiles(), std::max(kMostTiles, at_once));
  double touched = 0;
  double fetched = 0;
  for (int first = 0; first < tiles; first += at_once) {
    const int end = std::min(tiles, first + at_once);
    for (int index = first; index < end; ++index) {
      const TileCoord tile = c.tile_at(index, grid);
      rows.use(tile.m);
      columns.use(tile.n);
    }
    touched += rows.touched() + columns.touched();
    fetched += rows.fetched(touched, figures.l2_bytes) + columns.fetched(touched, figures.l2_bytes);
  }
  // The last row and column of tiles extend beyond the operands.
  const double whole = static_cast<double>(grid.m) * c.bm * c.cluster_m +
                       static_cast<double>(grid.n) * c.bn * c.cluster_n;
  const double inside = static_cast<double>(problem.m + problem.n) / whole;
  return std::max(all_once,
                  fetched * inside * grid.tiles() / tiles * static_cast<double>(problem.batch));
}

}  // namespace

BlockBytes block_bytes(const TileLaunch& c) {
  // A wgmma reads 64 rows of one operand, and mma_n rows of the other.
  const double width = c.mma_n;
  constexpr int kDepthBytes = kMmaK * kInputBytes;  // of a wgmma, whatever the types
  const double depth = static_cast<double>(c.bk) * c.input_bytes / kDepthBytes;
  const double wgmmas = static_cast<double>(c.bm) * c.bn / (kMmaM * width) * depth;
  const auto staged_bytes = [&](int extent, Major major) {
    return static_cast<double>(staged_extent(extent, major)) * c.bk * c.input_bytes;
  };
  const double a_bytes = staged_bytes(c.bm, c.a_major);
  const double b_bytes = staged_bytes(c.bn, c.b_major);
  const double a_read = a_bytes / c.cluster_n;
  const double b_read = b_bytes / c.cluster_m;
  const double from_l2 = c.a_read * a_read + c.b_read * b_read;
  return {.read_by_wgmma = wgmmas * (kMmaM + width) * kDepthBytes,
          .received = a_bytes + b_bytes,
          .from_l2 = from_l2,
          .read_part = from_l2 / (a_read + b_read)};
}

Traffic predict_traffic(const TrafficFigures& figures, const TileLaunch& launch,
                        const GemmProblem& problem) {
  const TileGrid grid = cluster_grid(launch, problem);
  const double tiles =
      static_cast<double>(problem.batch) * grid.m * launch.cluster_m * grid.n * launch.cluster_n;
  const double blocks = tiles * static_cast<double>(problem.k) / launch.bk;
  const BlockBytes bytes = block_bytes(launch);
  return {.flops = 2.0 * launch.bm * launch.bn * launch.bk * blocks,
          .smem_bytes = (bytes.read_by_wgmma + bytes.received) * blocks,
          .l2_bytes = bytes.from_l2 * blocks,
          .dram_bytes = operand_bytes_fetched(figures, launch, problem) + problem.d_bytes() +
                        problem.epilogue_bytes()};
}

}  // namespace hgemm
