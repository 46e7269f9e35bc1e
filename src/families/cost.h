// Predicts the time of a kernel at a problem, term by term, from figures of the GPU alone. Each
// family defines its own terms (families/<family>/cost.cpp); tile_cost.h has the terms that
// families with wgmma tiles share. `hgemm-tune replay` measures how well the predictions rank
// configs, on recorded problems, some of which were used to choose constants
// (analysis/cost-model.md, which also says where the model fails).
#pragma once

#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// Figures of a GPU for the cost model. The defaults are an H200's, with their source.
struct CostFigures {
  int sms = 132;
  /// Clock under load below the power cap (tune.db: 1800 to 1830 at M = 1 and 16).
  double mhz = 1830;
  double l2_bytes = 60 * 1048576.0;
  double mma_flops_per_clk = 4096;  ///< per SM (micro: wgmma)
  double smem_bytes_per_clk = 128;  ///< per SM (micro: shared-memory loads)
  /// A clock for L2 and what lies between it and the SMs. Rates and latencies in its cycles do not
  /// change when the SMs' clock falls.
  double fabric_mhz = 1830;
  /// From L2 into each SM if all fetch at once; if fewer do, each gets more. Data that is multicast
  /// counts once. (micro's contention measured 44 for data that no two SMs share.)
  double fill_bytes_per_clk = 43.6;
  double read_tbps = 4.67;  ///< from memory (h200: plain reads of 4 GiB)
  /// start_us: until a CTA's first stage has arrived, unless PDL hides it. launch_us: the part of
  /// the time between two launches that PDL hides.
  double start_us = 1.53;
  double launch_us = 1.23;
  double stage_latency_clk = 2290;  ///< of fabric_mhz, from asking for a stage until it arrives

  /// The clock falls until the power is within this limit. 0: it never falls.
  double power_limit_w = 700;
  double idle_w = 120;  ///< power independent of the work (h200: 116 W)
  // At 1500 MHz, fitted to 447 configs at the power cap (analysis/energy_fit.py).
  double pj_per_flop = 0.593;
  double pj_per_smem_byte = 7.5;
  double pj_per_l2_byte = 10.3;
  double pj_per_dram_byte = 72.5;
};

/// FLOP and bytes of a launch at each level of memory.
struct Traffic {
  double flops = 0;       ///< of whole tiles, including their parts outside the output
  double smem_bytes = 0;  ///< written by the copy engine, and read by wgmma
  double l2_bytes = 0;    ///< read by SMs; multicast data counts once
  double dram_bytes = 0;  ///< operands, as often as they are fetched, and the output
};

/// One part of the time; terms are listed in their order in time. If parts overlap, only the
/// longest counts: the main loop waits for one resource only.
struct CostTerm {
  std::string_view name;
  double us = 0;
};

struct Cost {
  std::vector<CostTerm> terms;
  /// The resource that the main loop waits for: "tensor cores", "shared memory", "L2 to SM",
  /// "latency", "memory" or "CUDA cores".
  std::string_view bound;
  double mhz = 0;    ///< the clock that the power limit allows
  double watts = 0;  ///< at that clock; 0: not modelled (GEMV kernels)
  Traffic traffic;   ///< the basis of the energy; 0 if not modelled
  double us() const;
};

}  // namespace hgemm
