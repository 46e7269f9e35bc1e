// The terms of the cost model that all families share whose CTAs multiply output tiles by wgmma: a
// family states its launch in these words, and gets its cost.
#pragma once

#include <functional>

#include "families/cost.h"
#include "kernels/common/tiles.h"

namespace hgemm {

/// A launch of CTAs that each multiply tiles.
struct TileLaunch {
  int bm = 0, bn = 0, bk = 0;  ///< a CTA's tile and the depth of a stage
  int stages = 0, mma_depth = 0;
  int mma_n = 0;                     ///< width of one wgmma
  int cluster_m = 1, cluster_n = 1;  ///< CTAs that share what they fetch, along M and N
  int cluster_size = 1;
  int parts = 1;                    ///< of K of a tile, each a CTA's
  int smem_bytes = 0, threads = 0;  ///< of a CTA
  int ctas_per_sm = 1;              ///< that it is built for
  int sms = 0;                      ///< that it may use; 0: all
  bool streams = false;             ///< all SMs share the k blocks of all tiles evenly
  bool cta_per_tile = false;        ///< or per part of one: CTAs come and go
  double store_clk = 0;             ///< after a tile's last k block, until the next one's first
  double sums_clk = 0;              ///< to add up the parts of a tile
  bool pdl = false, packs = false, fixed = false;
  int promotion = 256;  ///< bytes that L2 fetches at least
  /// The tile at a position of the order, of a grid of whole clusters.
  std::function<TileCoord(int, TileGrid)> tile_at = linear_tile;
  int input_bytes = 2;  ///< of an element of A and B
};

Cost predict_tile_cost(const CostFigures& figures, const TileLaunch& launch,
                       const GemmProblem& problem);

/// What of the GPU decides which tiles share what they read.
struct TrafficFigures {
  int sms = 132;
  double ctas_per_sm = 1;            ///< resident
  double l2_bytes = 30 * 1048576.0;  ///< that keep operands between two waves (kUsefulL2)
};

/// What one k block of one CTA's tile moves; memory is left out.
Traffic block_traffic(const TileLaunch& launch);

/// What a launch moves. Waves of tiles, as many as are resident, follow one another in the launch's
/// order; the CTAs of one read along K together, so that a row or column of tiles is fetched once a
/// wave, unless it is still in L2 from an earlier one: then what was touched since, this wave
/// included, fits.
Traffic predict_traffic(const TrafficFigures& figures, const TileLaunch& launch,
                        const GemmProblem& problem);

/// Two bounds that overlap: nearly the larger one, somewhat above it where they are close.
double overlapped(double a, double b);

}  // namespace hgemm
