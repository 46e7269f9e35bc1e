// What a launch multiplies and moves at each level of memory, counted from its tiles and their
// order. What its energy goes into; and of memory, its time.
#pragma once

#include "kernels/config.h"
#include "space/shape.h"

namespace hgemm {

/// What of the GPU decides which tiles share what they read.
struct TrafficFigures {
  int sms = 132;
  double ctas_per_sm = 1;  ///< resident
  /// Operands that stay in L2 between two waves of tiles. Half of it: each of its two partitions
  /// keeps what its own SMs read, so that what both read is there twice (Hopper tuning; and with 25
  /// to 30 of 60 MiB this count meets the counters, analysis/cost-model.md).
  double l2_bytes = 30 * 1048576.0;
};

struct Traffic {
  double flops = 0;       ///< of whole tiles, what lies outside of the output too
  double smem_bytes = 0;  ///< written by the copy engine, and read by wgmma
  double l2_bytes = 0;    ///< read by SMs; what is multicast counts once
  double dram_bytes = 0;  ///< operands, as often as they are fetched, and the output
};

/// Of one k block of one CTA's tile; memory is left out.
Traffic block_traffic(const KernelConfig& config);

/// Of a config with tiles, valid and able to compute the shape. Waves of tiles, as many as are
/// resident, follow one another in the config's order; the CTAs of one read along K together, so
/// that a row or column of tiles is fetched once a wave, unless it is still in L2 from an earlier
/// one: then what was touched since, this wave included, fits.
Traffic predict_traffic(const TrafficFigures& figures, const KernelConfig& config,
                        const Shape& shape);

}  // namespace hgemm
