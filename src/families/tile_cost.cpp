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

/// Bytes that an SM gets from L2 in a cycle. Rows of a stage of 32 elements have 64 bytes, half of
/// what L2 delivers at once.
double fill_rate(const CostFigures& figures, const TileLaunch& launch) {
  return figures.fill_bytes_per_clk * (launch.bk < kSlabK ? kNarrowFill : 1);
}

/// `active`: SMs that fetch at once.
BlockCycles block_cycles(const CostFigures& figures, const TileLaunch& launch, double active) {
  const Traffic block = block_traffic(launch);
  return {.tensor = block.flops / figures.mma_flops_per_clk,
          .smem = block.smem_bytes / figures.smem_bytes_per_clk,
          .fill = block.l2_bytes / fill_rate(figures, launch) * active / figures.sms};
}

/// Cycles for which the tensor cores wait at each k block.
double block_wait_clk(const TileLaunch& launch) {
  return launch.lone_consumer ? kLoneBlockClk : kBlockClk;
}

/// Resident CTAs of an SM. Launches with a CTA for each tile fill it up; others set the number.
double resident_ctas(const TileLaunch& launch) {
  if (!launch.cta_per_tile) return launch.ctas_per_sm;
  const double registers = 8 * ceil_ratio(launch.registers, 8) * launch.threads;
  const double most =
      std::floor(std::min({kSmemBytesPerSm / (launch.smem_bytes + kReservedSmemBytes),
                           kThreadsPerSm / launch.threads, kRegistersPerSm / registers}));
  return std::clamp(most, 1.0, kMostResident);
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

/// The parts of a launch's time.
struct Parts {
  double clk = 0;        ///< cycles of the SM that takes longest
  double memory_us = 0;  ///< overlaps with clk
  double fixed_us = 0;
  double least_us = 0;  ///< between two launches
};
/// Time of a launch as a function of the clock, by parts that overlap and parts that do not.
class Duration {
 public:
  explicit Duration(const Parts& parts)
      : parts_(parts),
        memory_term_(std::pow(parts.memory_us, kOverlapSharpness)),
        least_term_(std::pow(parts.least_us, kIntervalSharpness)) {}

  /// overlapped() of the two, of which one stays.
  double body_us(double mhz) const {
    return std::pow(std::pow(parts_.clk / mhz, kOverlapSharpness) + memory_term_,
                    1 / kOverlapSharpness);
  }
  double us(double mhz) const { return us_of(body_us(mhz)); }
  double us_of(double body_us) const {
    const double us = body_us + parts_.fixed_us;
    if (parts_.least_us == 0) return us;
    return std::pow(std::pow(us, kIntervalSharpness) + least_term_, 1 / kIntervalSharpness);
  }

 private:
  Parts parts_;
  double memory_term_, least_term_;
};

/// The power of a launch as a function of the clock, with which it rises.
class Power {
 public:
  Power(const CostFigures& figures, const Traffic& traffic, const Duration& duration)
      : idle_w_(figures.idle_w),
        core_pj_(traffic.flops * figures.pj_per_flop +
                 traffic.smem_bytes * figures.pj_per_smem_byte +
                 traffic.l2_bytes * figures.pj_per_l2_byte),
        memory_pj_(traffic.dram_bytes * figures.pj_per_dram_byte),
        duration_(duration) {}

  double watts_at(double mhz) const { return watts_at(mhz, duration_.us(mhz)); }
  double watts_at(double mhz, double us) const {
    const double pj = core_pj_ * std::pow(mhz / kEnergyMhz, kEnergyExponent) + memory_pj_;
    return idle_w_ + pj * 1e-6 / us;
  }

 private:
  double idle_w_, core_pj_, memory_pj_;
  const Duration& duration_;
};

/// The clock that a number of halvings of a range find: the highest one whose power is within a
/// limit. A power costs several pow(), and the search asks for millions of predictions. Therefore a
/// few secants first find clocks on both sides of the result, close to it; between these alone the
/// halvings need the power.
class ClockAtLimit {
 public:
  ClockAtLimit(const Power& power, double limit_w) : power_(power), limit_w_(limit_w) {}

  /// `high_w`: the power at `high`, above the limit.
  double between(double low, double high, double high_w) {
    constexpr int kHalvings = 16;
    within_ = low;
    above_ = high;
    narrow(high_w);
    for (int i = 0; i < kHalvings; ++i) {
      const double middle = (low + high) / 2;
      (is_within(middle) ? low : high) = middle;
    }
    return low;
  }

 private:
  void narrow(double high_w) {
    constexpr double kClose = 2e-5;  // of the clock; a halving's last step is as large
    constexpr int kMostSecants = 4;
    double x0 = above_;
    double excess0 = high_w - limit_w_;
    // At a fixed number of cycles the dynamic power rises with the clock to 2.5.
    double x1 = x0 * std::pow(limit_w_ / high_w, 0.4);
    for (int i = 0; i < kMostSecants && within_ < x1 && x1 < above_; ++i) {
      const double excess1 = excess(x1);
      const double step = excess1 * (x1 - x0) / (excess1 - excess0);
      x0 = std::exchange(x1, x1 - step);
      excess0 = excess1;
      if (std::abs(step) < kClose * x1) break;
    }
    for (const double side : {x1 * (1 - kClose), x1 * (1 + kClose)}) {
      if (within_ < side && side < above_) excess(side);
    }
  }
  /// The power at a clock less the limit. What it says of others is kept.
  double excess(double mhz) {
    const double excess_w = power_.watts_at(mhz) - limit_w_;
    (excess_w <= 0 ? within_ : above_) = mhz;
    return excess_w;
  }
  bool is_within(double mhz) {
    if (mhz <= within_) return true;
    return mhz < above_ && excess(mhz) <= 0;
  }

  const Power& power_;
  double limit_w_;
  double within_ = 0, above_ = 0;  ///< clocks known to be on each side
};

struct Capped {
  double mhz, us, watts;
};
/// The launch at the highest clock that the power limit allows. `fastest_us`: its time at the GPU's
/// clock.
Capped capped(const CostFigures& figures, const Power& power, const Duration& duration,
              double fastest_us) {
  const double limit_w = kHeldShare * figures.power_limit_w;
  const double fastest_w = power.watts_at(figures.mhz, fastest_us);
  if (figures.power_limit_w == 0 || fastest_w <= limit_w) {
    return {figures.mhz, fastest_us, fastest_w};
  }
  const double mhz = ClockAtLimit(power, limit_w).between(kLeastMhz, figures.mhz, fastest_w);
  const double us = duration.us(mhz);
  return {mhz, us, power.watts_at(mhz, us)};
}

/// The main loop in waves of tiles, or of parts of tiles.
struct Waves {
  double loop_clk = 0;
  double even_clk = 0;  ///< cycles if all SMs ended together
  double tails = 0;     ///< tiles on the SM that takes longest
};
/// `alone`: cycles of a k block for a CTA that has its SM to itself.
Waves waves_of(const TileLaunch& launch, const BlockCycles& block, double units, double blocks,
               double sms, double resident, double alone) {
  const double wait = block_wait_clk(launch);
  const double shared = std::max(block.most() + wait / resident, alone / resident);
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
    waves.loop_clk += blocks * std::max(ceil_ratio(rest, sms) * block.most() + wait, alone);
    waves.tails += 1;
  }
  return waves;
}

double memory_time_us(const CostFigures& figures, const TileLaunch& launch,
                      const GemmProblem& problem, const Traffic& traffic) {
  const double memory_us = traffic.dram_bytes / (figures.read_tbps * 1e6);
  const bool streams_weight = static_cast<double>(std::min(problem.m, problem.n)) <= kFewRows;
  return streams_weight && launch.promotion == 256 ? memory_us * kPromotion256 : memory_us;
}

}  // namespace

double overlapped(double a, double b) {
  return std::pow(std::pow(a, kOverlapSharpness) + std::pow(b, kOverlapSharpness),
                  1 / kOverlapSharpness);
}

TailClk cluster_sums(int parts, double bytes) {
  return {.latency = kClusterPartClk * parts,
          .transfer = bytes * (1 - 1.0 / parts) / kClusterSumsBytesPerClk};
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
  const double resident = resident_ctas(c);
  const BlockCycles block = block_cycles(figures, c, std::min(units, sms));
  const double wait = block_wait_clk(c);
  const double on_their_way = std::max(1, c.stages - 1);
  const double stage_clk = figures.stage_latency_clk + block.fill;
  const double alone = std::max(block.most() + wait, stage_clk / on_their_way);
  const Waves waves = waves_of(c, block, units, blocks, sms, resident, alone);

  const Traffic traffic = predict_traffic({.sms = sms_of(figures, c),
                                           .ctas_per_sm = resident,
                                           .l2_bytes = kUsefulL2 * figures.l2_bytes},
                                          c, problem);
  const double memory_us = memory_time_us(figures, c, problem, traffic);

  const double together = std::clamp(units / sms, 1.0, resident);
  const double stores_clk = c.store.of(together) * (1 + (waves.tails - 1) * c.overlapped_store);
  const double sums_clk = c.sums.of(together) * (c.sums_each_tile ? waves.tails : 1);
  // A CTA that follows another one on its SM has a start of its own; CTAs that share the SM work
  // meanwhile.
  const double generations = c.cta_per_tile ? std::max(0.0, units / (sms * resident) - 1) : 0;
  const double turnover_us = generations / resident * kTurnoverUs;
  const double packing = packing_us(figures, c, problem);
  const bool clusters = c.cluster_size > 1;
  const double launch_us = c.pdl ? 0 : figures.launch_us;
  const double start_us = std::max(0.0, figures.start_us - c.start_gain_us);
  const double fixed_gain_us = c.fixed ? -kFixedGainUs : 0;
  const double loop_clk = waves.loop_clk + stores_clk + sums_clk;
  const double fixed_us = packing + launch_us + start_us + turnover_us + fixed_gain_us;
  const Duration duration(Parts{.clk = loop_clk,
                                .memory_us = memory_us,
                                .fixed_us = fixed_us,
                                .least_us = c.pdl && clusters ? kClusterIntervalUs : 0});
  const double body_us = duration.body_us(figures.mhz);
  const double fastest_us = duration.us_of(body_us);
  const Capped at_limit = capped(figures, Power(figures, traffic, duration), duration, fastest_us);
  const double clk_us = 1 / figures.mhz;

  Cost cost;
  const double shared = std::max(block.most() + wait / resident, alone / resident);
  const std::array<std::pair<double, std::string_view>, 5> bounds = {{
      {block.tensor, "tensor cores"},
      {block.smem, "shared memory"},
      {block.fill, "L2 to SM"},
      {alone > block.most() + wait ? shared : 0, "latency"},
      {memory_us > loop_clk * clk_us ? INFINITY : 0, "memory"},
  }};
  cost.bound = std::ranges::max_element(bounds, {}, [](const auto& b) { return b.first; })->second;
  cost.traffic = traffic;
  cost.mhz = at_limit.mhz;
  cost.watts = at_limit.watts;
  const double idle_us = std::max(0.0, waves.loop_clk - waves.even_clk) * clk_us;
  const double tails_us = stores_clk * clk_us;
  const double sums_us = sums_clk * clk_us;
  cost.terms = {{"packing", packing},
                {"launch", launch_us},
                {"start", start_us},
                {"main loop", body_us - idle_us - tails_us - sums_us},
                {"last wave", idle_us},
                {"turnover", turnover_us},
                {"stores", tails_us},
                {"sums", sums_us},
                {"fixed extents", fixed_gain_us},
                {"launch interval", std::max(0.0, fastest_us - body_us - fixed_us)},
                {"power cap", at_limit.us - fastest_us}};
  return cost;
}

}  // namespace hgemm
