#include "families/tile_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "families/cost_constants.h"

namespace hgemm {
namespace {

using namespace cost_constants;

double ceil_ratio(double value, double by) { return std::ceil(value / by); }

/// Cycles of one k block of one CTA's tile on its SM, for each resource that may limit it.
struct BlockCycles {
  double tensor = 0, smem = 0, fill = 0;
  double most() const { return std::max({tensor, smem, fill}); }
};

BlockCycles block_cycles(const CostFigures& figures, const TileLaunch& launch) {
  const Traffic block = block_traffic(launch);
  return {.tensor = block.flops / figures.mma_flops_per_clk,
          .smem = block.smem_bytes / figures.smem_bytes_per_clk,
          .fill = block.l2_bytes / figures.fill_bytes_per_clk};
}

/// Resident CTAs of an SM. Launches with a CTA for each tile fill it up; others set the number.
double resident_ctas(const TileLaunch& launch) {
  if (!launch.cta_per_tile) return launch.ctas_per_sm;
  const double by_smem = std::floor(kSmemBytesPerSm / (launch.smem_bytes + kReservedSmemBytes));
  return std::clamp(std::min(by_smem, std::floor(kThreadsPerSm / launch.threads)), 1.0,
                    kMostResident);
}

/// SMs that the launch may use.
int sms_of(const CostFigures& figures, const TileLaunch& launch) {
  return launch.sms > 0 ? std::min(launch.sms, figures.sms) : figures.sms;
}

/// SMs that the launch's clusters can fill. SMs come in pairs, so clusters of two fill all of them;
/// larger ones leave some SMs of each GPC idle. (truth.db, 128x4096x4096: 32 clusters of 4 and 43
/// of 3 take the time of two waves.)
double usable_sms(const CostFigures& figures, const TileLaunch& launch) {
  const double sms = sms_of(figures, launch);
  const double size = launch.cluster_size;
  if (size <= 2) return sms;
  const double clusters = std::floor((sms - figures.gpcs * (size - 1) / 2) / size);
  return std::max(1.0, clusters) * size;
}

/// Time to read and write A and B once more, in a launch of its own.
double packing_us(const CostFigures& figures, const TileLaunch& launch,
                  const GemmProblem& problem) {
  if (!launch.packs) return 0;
  const double bytes = 2 * (problem.a_bytes() + problem.b_bytes());
  return figures.start_us + (launch.pdl ? 0 : figures.launch_us) +
         bytes / (figures.read_tbps * 1e6);
}

/// Time of a launch as a function of the clock, by parts that overlap and parts that do not.
struct Duration {
  double clk = 0;        ///< cycles of the SM that takes longest
  double memory_us = 0;  ///< overlaps with clk
  double turnovers = 0;  ///< starts of CTAs that nothing hides; each costs:
  double turnover_us = 0;
  double turnover_clk = 0;
  double fixed_us = 0;

  double body_us(double mhz) const { return overlapped(clk / mhz, memory_us); }
  double turnover_total_us(double mhz) const {
    return turnovers * (turnover_us + turnover_clk / mhz);
  }
  double us(double mhz) const { return body_us(mhz) + turnover_total_us(mhz) + fixed_us; }
};

double watts_at(const CostFigures& figures, const Traffic& traffic, const Duration& duration,
                double mhz) {
  const double core_pj = traffic.flops * figures.pj_per_flop +
                         traffic.smem_bytes * figures.pj_per_smem_byte +
                         traffic.l2_bytes * figures.pj_per_l2_byte;
  const double pj = core_pj * std::pow(mhz / kEnergyMhz, kEnergyExponent) +
                    traffic.dram_bytes * figures.pj_per_dram_byte;
  return figures.idle_w + pj * 1e-6 / duration.us(mhz);
}

/// The highest clock within the power limit; power rises with the clock.
double capped_mhz(const CostFigures& figures, const Traffic& traffic, const Duration& duration) {
  constexpr int kHalvings = 16;
  const double limit_w = kHeldShare * figures.power_limit_w;
  if (figures.power_limit_w == 0 || watts_at(figures, traffic, duration, figures.mhz) <= limit_w) {
    return figures.mhz;
  }
  double low = kLeastMhz;
  double high = figures.mhz;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (watts_at(figures, traffic, duration, middle) <= limit_w ? low : high) = middle;
  }
  return low;
}

/// The main loop in waves of tiles, or of parts of tiles.
struct Waves {
  double loop_clk = 0;
  double even_clk = 0;  ///< cycles if all SMs ended together
  double tails = 0;     ///< stores after a tile on the SM that takes longest
};
Waves waves_of(const TileLaunch& launch, const BlockCycles& block, double units, double blocks,
               double sms, double resident, double alone) {
  const double shared = std::max(block.most(), alone / resident);
  Waves waves{.even_clk = units * blocks / sms * shared};
  if (launch.streams) {
    waves.loop_clk = waves.even_clk;
    waves.tails = std::max(1.0, units / sms);
    return waves;
  }
  const double at_once = sms * resident;
  const double full = std::floor(units / at_once);
  const double rest = units - full * at_once;
  waves.loop_clk = full * resident * blocks * shared;
  waves.tails = full;
  if (rest > 0) {
    waves.loop_clk += blocks * std::max(ceil_ratio(rest, sms) * block.most(), alone);
    waves.tails += 1;
  }
  return waves;
}

double memory_time_us(const CostFigures& figures, const TileLaunch& launch,
                      const GemmProblem& problem, const Traffic& traffic, double units,
                      double sms) {
  double memory_us = traffic.dram_bytes / (figures.read_tbps * 1e6);
  if (static_cast<double>(std::min(problem.m, problem.n)) > kFewRows) return memory_us;
  const double spread =
      units >= sms ? 1 - kUnevenShare + kUnevenShare * ceil_ratio(units, sms) / (units / sms)
                   : kOneWaveShare * sms / units;
  memory_us *= std::max(1.0, spread);
  if (launch.promotion == 256) memory_us *= kPromotion256;
  return memory_us;
}

}  // namespace

double overlapped(double a, double b) {
  return std::pow(std::pow(a, kOverlapSharpness) + std::pow(b, kOverlapSharpness),
                  1 / kOverlapSharpness);
}

Cost predict_tile_cost(const CostFigures& figures, const TileLaunch& c,
                       const GemmProblem& problem) {
  const double sms = usable_sms(figures, c);
  const double clusters_m = ceil_ratio(static_cast<double>(problem.m), c.bm * c.cluster_m);
  const double clusters_n = ceil_ratio(static_cast<double>(problem.n), c.bn * c.cluster_n);
  const double tiles = clusters_m * c.cluster_m * clusters_n * c.cluster_n;
  const double units = tiles * c.parts;
  const double blocks = ceil_ratio(ceil_ratio(static_cast<double>(problem.k), c.bk), c.parts);

  // Cycles of one k block: `block` by the resources of the SM; `alone` for a single CTA, which also
  // waits for the stages that it has under way while one is multiplied.
  const BlockCycles block = block_cycles(figures, c);
  const double resident = resident_ctas(c);
  const double on_their_way = std::max(1.0, c.stages - 1 - 0.5 * c.mma_depth);
  const double alone = std::max(block.most(), figures.stage_latency_clk / on_their_way);
  const Waves waves = waves_of(c, block, units, blocks, sms, resident, alone);

  const Traffic traffic = predict_traffic({.sms = sms_of(figures, c),
                                           .ctas_per_sm = resident,
                                           .l2_bytes = kUsefulL2 * figures.l2_bytes},
                                          c, problem);
  const double memory_us = memory_time_us(figures, c, problem, traffic, units, sms);

  // A CTA that follows another one on its SM has a full start; CTAs that share the SM work
  // meanwhile.
  const double generations = c.cta_per_tile ? std::max(0.0, units / (sms * resident) - 1) : 0;
  const double packing = packing_us(figures, c, problem);
  const double launch_us = c.pdl ? 0 : figures.launch_us;
  const double fixed_gain_us = c.fixed ? -kFixedGainUs : 0;
  const Duration duration{
      .clk = waves.loop_clk + waves.tails * c.store_clk + c.sums_clk + figures.stage_latency_clk,
      .memory_us = memory_us,
      .turnovers = generations / resident,
      .turnover_us = figures.start_us,
      .turnover_clk = figures.stage_latency_clk + c.sums_clk,
      .fixed_us = packing + launch_us + figures.start_us + fixed_gain_us};
  const double clk_us = 1 / figures.mhz;

  Cost cost;
  const double shared = std::max(block.most(), alone / resident);
  const std::array<std::pair<double, std::string_view>, 5> bounds = {{
      {block.tensor, "tensor cores"},
      {block.smem, "shared memory"},
      {block.fill, "L2 to SM"},
      {alone > block.most() ? shared : 0, "latency"},
      {memory_us > duration.clk * clk_us ? INFINITY : 0, "memory"},
  }};
  cost.bound = std::ranges::max_element(bounds, {}, [](const auto& b) { return b.first; })->second;
  cost.traffic = traffic;
  cost.mhz = capped_mhz(figures, traffic, duration);
  cost.watts = watts_at(figures, traffic, duration, cost.mhz);
  const double idle_us = std::max(0.0, waves.loop_clk - waves.even_clk) * clk_us;
  const double tails_us = waves.tails * c.store_clk * clk_us;
  const double sums_us = c.sums_clk * clk_us;
  const double fill_us = figures.stage_latency_clk * clk_us;
  const double body_us = duration.body_us(figures.mhz);
  cost.terms = {{"packing", packing},
                {"launch", launch_us},
                {"start", figures.start_us},
                {"first stage", fill_us},
                {"main loop", body_us - idle_us - tails_us - sums_us - fill_us},
                {"last wave", idle_us},
                {"turnover", duration.turnover_total_us(figures.mhz)},
                {"stores", tails_us},
                {"sums", sums_us},
                {"fixed extents", fixed_gain_us},
                {"power cap", duration.us(cost.mhz) - duration.us(figures.mhz)}};
  return cost;
}

}  // namespace hgemm
