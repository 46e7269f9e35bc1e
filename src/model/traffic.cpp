#include "model/traffic.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/schedule.h"

namespace hgemm {
namespace {

/// Of an order; more repeat what these do. Enough for two bands of eight rows of 64x256 tiles.
constexpr int kMostTiles = 8192;

/// Rows, or columns, of the grid of tiles: each is a panel of one operand.
class Panels {
 public:
  Panels(int count, double panel_bytes)
      : bytes_(panel_bytes),
        in_wave_(static_cast<std::size_t>(count), false),
        last_use_(static_cast<std::size_t>(count), -std::numeric_limits<double>::infinity()) {}

  void use(int panel) {
    if (in_wave_[static_cast<std::size_t>(panel)]) return;
    in_wave_[static_cast<std::size_t>(panel)] = true;
    wave_.push_back(static_cast<std::size_t>(panel));
  }
  double touched() const { return static_cast<double>(wave_.size()) * bytes_; }
  /// Ends the wave: bytes of its panels that are no longer in L2. `end`: all that was touched until
  /// then, of both operands.
  double fetched(double end, double l2_bytes) {
    double bytes = 0;
    for (const std::size_t panel : wave_) {
      if (end - last_use_[panel] > l2_bytes) bytes += bytes_;
      last_use_[panel] = end;
      in_wave_[panel] = false;
    }
    wave_.clear();
    return bytes;
  }

 private:
  double bytes_;
  std::vector<bool> in_wave_;
  std::vector<double> last_use_;
  std::vector<std::size_t> wave_;
};

double operand_bytes_fetched(const TrafficFigures& figures, const KernelConfig& c,
                             const Shape& shape) {
  const double k_bytes = static_cast<double>(shape.k) * kElementBytes;
  const double once = static_cast<double>(shape.m + shape.n) * k_bytes;
  if (once <= figures.l2_bytes) return once;

  const TileGrid grid = tile_grid(static_cast<int>(shape.m), static_cast<int>(shape.n), c);
  const int ctas_of_tile = cluster_size(c) * (c.walk == Walk::kSplitK ? c.splits : 1);
  const int at_once =
      std::max(1, static_cast<int>(figures.sms * figures.ctas_per_sm / ctas_of_tile));
  Panels rows(grid.m, c.bm * c.cluster_m * k_bytes);
  Panels columns(grid.n, c.bn * c.cluster_n * k_bytes);
  const int tiles = std::min(grid.tiles(), std::max(kMostTiles, at_once));
  double touched = 0;
  double fetched = 0;
  for (int first = 0; first < tiles; first += at_once) {
    const int end = std::min(tiles, first + at_once);
    for (int index = first; index < end; ++index) {
      const TileCoord tile = tile_at(c.order, c.group, index, grid);
      rows.use(tile.m);
      columns.use(tile.n);
    }
    touched += rows.touched() + columns.touched();
    fetched += rows.fetched(touched, figures.l2_bytes) + columns.fetched(touched, figures.l2_bytes);
  }
  // The last row and column of tiles reach beyond the operands.
  const double whole = static_cast<double>(grid.m) * c.bm * c.cluster_m +
                       static_cast<double>(grid.n) * c.bn * c.cluster_n;
  const double inside = static_cast<double>(shape.m + shape.n) / whole;
  return std::max(once, fetched * inside * grid.tiles() / tiles);
}

}  // namespace

Traffic block_traffic(const KernelConfig& c) {
  // A wgmma reads 64 rows of one operand and as many of the other as it is wide.
  const double width = mma_n(c);
  const double wgmmas = static_cast<double>(c.bm) * c.bn / (kMmaM * width) * c.bk / kMmaK;
  const double read = wgmmas * (kMmaM + width) * kMmaK * kElementBytes;
  return {.flops = 2.0 * c.bm * c.bn * c.bk,
          .smem_bytes = read + a_stage_bytes(c) + b_stage_bytes(c),
          .l2_bytes = a_stage_bytes(c) / static_cast<double>(c.cluster_n) +
                      b_stage_bytes(c) / static_cast<double>(c.cluster_m)};
}

Traffic predict_traffic(const TrafficFigures& figures, const KernelConfig& c, const Shape& shape) {
  const TileGrid grid = tile_grid(static_cast<int>(shape.m), static_cast<int>(shape.n), c);
  const double tiles = static_cast<double>(grid.m) * c.cluster_m * grid.n * c.cluster_n;
  const double blocks = tiles * static_cast<double>(shape.k) / c.bk;
  const double output_bytes =
      static_cast<double>(shape.m) * static_cast<double>(shape.n) * kElementBytes;
  Traffic traffic = block_traffic(c);
  traffic.flops *= blocks;
  traffic.smem_bytes *= blocks;
  traffic.l2_bytes *= blocks;
  traffic.dram_bytes = operand_bytes_fetched(figures, c, shape) + output_bytes;
  return traffic;
}

}  // namespace hgemm
