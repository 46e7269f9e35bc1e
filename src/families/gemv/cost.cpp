// The cost terms of GEMV kernels.
#include <algorithm>
#include <cmath>

#include "families/cost_constants.h"
#include "families/gemv/family.h"
#include "families/tile_cost.h"

namespace hgemm {

using namespace cost_constants;

Cost Family<GemvConfig>::predict_cost(const CostFigures& figures, const GemvKernel& k,
                                      const GemmProblem& problem) {
  // Memory hides the arithmetic of one vector, but not that of others, including those beyond the
  // problem's.
  const double rows = static_cast<double>(problem.m > k.vectors ? problem.m : problem.n);
  const double products = rows * (k.vectors - 1) * static_cast<double>(problem.k);
  const double fma_us = products * kGemvInstructions / (figures.sms * kLanesPerSm * figures.mhz);
  const double memory_us =
      kLoadsOverCopies * problem.bytes() / (kReachedRead * figures.read_tbps * 1e6);
  // A CTA waits for its vectors, then for each round of loads that its warps have under way.
  const double ctas = std::ceil(rows / k.rows) * k.splits;
  const double rounds = std::ceil(static_cast<double>(problem.k) / k.splits /
                                  (static_cast<double>(k.step) * k.depth * row_sharers(k)));
  const double latency_us = kLoadsLatency * figures.stage_latency_clk / figures.fabric_mhz;
  const double resident = std::max(1.0, std::floor(kGemvThreadsPerSm / threads_per_cta(k)));
  const double waves = std::ceil(ctas / (figures.sms * resident));
  const double waiting_us = waves * (figures.start_us + rounds * latency_us);
  Cost cost;
  cost.mhz = figures.mhz;
  cost.bound = fma_us > memory_us ? "CUDA cores" : "memory";
  if (waiting_us > std::max(fma_us, memory_us)) cost.bound = "latency";
  // PDL does not help here (truth.db, 1x11008x4096: 25.6 us with it; swap-AB takes 20.6 us).
  cost.terms = {{"launch", figures.launch_us},
                {"start", figures.start_us},
                {"main loop", fma_us + overlapped(memory_us, waiting_us)}};
  return cost;
}

}  // namespace hgemm
