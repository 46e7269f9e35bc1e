// What a kernel should take at a problem, term by term, from figures alone. Each family states its
// own terms (families/<family>/cost.cpp); what those of wgmma tiles share is in tile_cost.h. How
// well the predictions rank is measured by `hgemm-tune replay`, on recorded problems that some of
// the constants were chosen with (analysis/cost-model.md, and where the model fails).
#pragma once

#include <string_view>
#include <vector>

#include "gemm/problem.h"

namespace hgemm {

/// What the model knows of a GPU. The defaults are an H200's, with their source.
struct CostFigures {
  int sms = 132;
  /// Each holds whole clusters (whitepaper: a full GH100 has 8, here of unlike sizes).
  int gpcs = 8;
  /// Under load that the power cap does not slow (tune.db: 1800 to 1830 at M = 1 and 16).
  double mhz = 1830;
  double l2_bytes = 60 * 1048576.0;
  double mma_flops_per_clk = 4096;  ///< of an SM (micro: wgmma)
  double smem_bytes_per_clk = 128;  ///< of an SM (micro: shared-memory loads)
  /// From L2 into one SM. Chosen by hand; micro's contention has 44 where all SMs fetch at once.
  double fill_bytes_per_clk = 62;
  double read_tbps = 4.67;  ///< memory (h200: plain reads of 4 GiB)
  /// Until a CTA's first stage is there, and what PDL hides of the way from one launch to the next
  /// (analysis/kernel-notes.md, 2026-11-21: 1.5 to 2 us, and 1.1 to 1.9 us saved).
  double start_us = 1.5;
  double launch_us = 1.7;
  double stage_latency_clk = 1100;  ///< from asking for a stage to its arrival, under load

  /// The clock falls until this is kept. 0: it never does, as in short work after idle time.
  double power_limit_w = 700;
  double idle_w = 120;  ///< whatever it does (h200: 116 W)
  // At 1500 MHz, fitted to 447 configs at the cap (analysis/energy_fit.py).
  double pj_per_flop = 0.593;
  double pj_per_smem_byte = 7.5;
  double pj_per_l2_byte = 10.3;
  double pj_per_dram_byte = 72.5;
};

/// What a launch multiplies and moves at each level of memory.
struct Traffic {
  double flops = 0;       ///< of whole tiles, what lies outside of the output too
  double smem_bytes = 0;  ///< written by the copy engine, and read by wgmma
  double l2_bytes = 0;    ///< read by SMs; what is multicast counts once
  double dram_bytes = 0;  ///< operands, as often as they are fetched, and the output
};

/// One part of the time, in the order in which they pass. What overlaps counts where it is the
/// longest: only one of the things that the main loop waits for takes time.
struct CostTerm {
  std::string_view name;
  double us = 0;
};

struct Cost {
  std::vector<CostTerm> terms;
  std::string_view bound;  ///< what the main loop waits for: "tensor cores", "shared memory",
                           ///< "L2 to SM", "latency", "memory" or "CUDA cores"
  double mhz = 0;          ///< the clock that the power limit leaves
  double watts = 0;        ///< at that clock; 0: not modelled, as of GEMV kernels
  Traffic traffic;         ///< what the energy goes into; likewise
  double us() const;
};

}  // namespace hgemm
