// Terms of the cost model for all families whose CTAs multiply output tiles by wgmma. A family
// describes its launch as a TileLaunch and gets its cost.
#pragma once

#include <functional>

#include "families/cost.h"
#include "kernels/common/tiles.h"
#include "kernels/common/types.h"

namespace hgemm {

/// Cycles of what a CTA does with a tile after its main loop.
struct TailClk {
  double latency = 0;
  double transfer = 0;  ///< CTAs that share an SM do this one after the other

  /// For this number of CTAs on an SM, which come to their ends together.
  double of(double ctas) const { return latency + transfer * ctas; }
};

/// How a consumer of 8-bit operands adds the tensor cores' sums to its own.
struct PromotedSums {
  int blocks = 0;          ///< k blocks of an interval; 0: never
  bool in_flight = false;  ///< while the next block is multiplied
  double operations = 0;   ///< of a thread, for an interval
};

/// A launch of CTAs that multiply tiles.
struct TileLaunch {
  int bm = 0, bn = 0, bk = 0;  ///< a CTA's tile, and the depth of a stage
  int stages = 0;
  int mma_n = 0;                     ///< width of one wgmma
  int cluster_m = 1, cluster_n = 1;  ///< CTAs that share fetched data, along M and N
  int cluster_size = 1;
  int parts = 1;                    ///< parts of K of a tile, one for each CTA
  int smem_bytes = 0, threads = 0;  ///< per CTA
  int registers = 0;                ///< of a thread, at the start of the kernel
  int ctas_per_sm = 1;              ///< that the kernel is built for
  int sms = 0;                      ///< that the launch may use; 0: all
  bool streams = false;             ///< all SMs share the k blocks of all tiles evenly
  bool cta_per_tile = false;        ///< a CTA for each tile, or part of one: CTAs come and go
  int readers = 1;                  ///< consumers that share a tile
  bool lone_consumer = false;       ///< no other consumer multiplies while one waits for a k block
  bool drains = false;              ///< consumers leave no wgmma in flight while they wait for one
  PromotedSums promoted;
  int read_hints = 0;              ///< operands of whose data L2 is told something
  TailClk store;                   ///< from a tile's last k block until it is stored
  double overlapped_store = 1;     ///< part of the store that counts if another tile follows
  TailClk epilogue;                ///< before the store
  double overlapped_epilogue = 1;  ///< likewise
  TailClk sums;                    ///< to add up the parts of a tile
  bool sums_each_tile = false;     ///< a CTA adds up for each of its tiles, not only for one
  double start_gain_us = 0;        ///< by which its CTAs start sooner than others
  bool pdl = false, packs = false, fixed = false;
  bool holds_next = false;   ///< with PDL: back until its own last copies are issued
  double scheduling_us = 0;  ///< until a CTA knows its tiles
  int output_row_bytes = 0;  ///< that a tile stores at once
  int promotion = 256;       ///< least number of bytes that L2 fetches
  /// The tile at a position of the order, for a grid of whole clusters.
  std::function<TileCoord(int, TileGrid)> tile_at = linear_tile;
  int input_bytes = 2;  ///< per element of A and B; of 1 byte wgmma multiplies twice as many
  Major a_major = Major::kK, b_major = Major::kK;
  /// Part of the reads of A and of B that reach L2; the others become one with reads of the same
  /// GPC that are under way.
  double a_read = 1, b_read = 1;
  /// The same, if all reads of a GPC became one.
  double a_once = 1, b_once = 1;
};

/// Operands of whose data L2 is told something.
inline int read_hints(CacheHint a, CacheHint b) {
  return (a != CacheHint::kNone ? 1 : 0) + (b != CacheHint::kNone ? 1 : 0);
}

/// Outputs that are stored: D, and the second output if there is one.
inline int output_count(const GemmKind& kind) { return kind.epilogue.aux ? 2 : 1; }

/// A cluster's CTAs add up `parts` parts of a tile of so many bytes of sums: cycles for each part,
/// and a rate.
TailClk cluster_sums(int parts, double bytes, double part_clk, double bytes_per_clk);

/// Sums of 64-row blocks by `cols` columns of a consumer, of which a thread has `values`, promoted
/// every `promote` elements of K. `swapped`: the rows are those of B.
PromotedSums promoted_sums(Scaling scaling, bool swapped, int promote, int bk, int mma_depth,
                           int values, int bn, int cols);

/// Cycles of the epilogue of so many elements of a tile; none for a plain kernel. `ring_stages`: in
/// which C and the bias arrive; 0 if threads load them.
TailClk epilogue_of(const GemmKind& kind, double elements, int ring_stages = 0);

Cost predict_tile_cost(const CostFigures& figures, const TileLaunch& launch,
                       const GemmProblem& problem);

/// Figures of the GPU that decide which tiles share fetched data.
struct TrafficFigures {
  int sms = 132;
  double ctas_per_sm = 1;            ///< resident
  double l2_bytes = 30 * 1048576.0;  ///< for operands between two waves (kUsefulL2)
};

/// Bytes of one k block of one CTA's tile.
struct BlockBytes {
  double read_by_wgmma = 0;  ///< from shared memory
  double received = 0;       ///< written to shared memory by the copy engine
  double from_l2 = 0;        ///< multicast data counts once for its CTAs
  double read_part = 1;      ///< part of these reads that no other one of the GPC has joined
};
BlockBytes block_bytes(const TileLaunch& launch);

/// Traffic of a launch. Waves of as many tiles as are resident follow one another in the launch's
/// order. The CTAs of a wave read along K together, so a row or column of tiles is fetched once per
/// wave, unless it is still in L2 from an earlier wave: that is, unless all data touched since
/// then, including this wave, exceeds L2.
Traffic predict_traffic(const TrafficFigures& figures, const TileLaunch& launch,
                        const GemmProblem& problem);

/// Joins two bounds that overlap: about the larger one, and somewhat more if they are close.
double overlapped(double a, double b);

}  // namespace hgemm
