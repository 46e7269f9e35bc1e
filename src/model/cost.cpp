#include "model/cost.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace hgemm {
namespace {

double ceil_div(double value, double by) { return std::ceil(value / by); }

constexpr double kSmemBytesPerSm = 228 * 1024;
constexpr double kReservedSmemBytes = 1024;  // of each CTA
constexpr double kThreadsPerSm = 2048;
constexpr double kH200BoostMhz = 1980;
/// What the limit holds the average at (tune.db: 693 of 700 W).
constexpr double kHeldShare = 0.99;
/// Of the clock by which energies are stated, and how they grow with it: as the square of a voltage
/// that rises more slowly than the clock.
constexpr double kEnergyMhz = 1500;
constexpr double kEnergyExponent = 1.5;
constexpr double kLeastMhz = 300;
constexpr double kVectorThreadsPerSm = 512;  // their registers allow no more
/// Time of reading memory by ordinary loads over that by the copy engine (truth.db: 1x11008x4096
/// takes 23.8 us by the best kernel for vectors without PDL, 22.3 us by the best swapped one).
constexpr double kLoadsOverCopies = 1.07;
/// Of copies that fetch 256 bytes at least, over 128 (analysis/kernel-notes.md: 23.5 to 22.2 us).
constexpr double kPromotion256 = 1.05;

/// Two bounds that overlap: nearly the larger one, somewhat above it where they are close.
double overlapped(double a, double b) {
  constexpr double kSharpness = 6;
  return std::pow(std::pow(a, kSharpness) + std::pow(b, kSharpness), 1 / kSharpness);
}

/// Cycles of one k block of one CTA's tile on its SM, by what might bound it.
struct BlockCycles {
  double tensor = 0, smem = 0, fill = 0;
  double most() const { return std::max({tensor, smem, fill}); }
};

BlockCycles block_cycles(const CostFigures& figures, const KernelConfig& c) {
  const Traffic block = block_traffic(c);
  return {.tensor = block.flops / figures.mma_flops_per_clk,
          .smem = block.smem_bytes / figures.smem_bytes_per_clk,
          .fill = block.l2_bytes / figures.fill_bytes_per_clk};
}

/// CTAs that an SM holds. Launches of a CTA for each tile fill it up; others say how many.
double ctas_per_sm(const KernelConfig& c) {
  if (c.walk != Walk::kSingle && c.walk != Walk::kClusterSplit) return c.ctas_per_sm;
  const double by_smem =
      std::floor(kSmemBytesPerSm / (smem_layout(c).total_bytes + kReservedSmemBytes));
  return std::clamp(std::min(by_smem, std::floor(kThreadsPerSm / threads_per_cta(c))), 1.0, 4.0);
}

/// SMs that clusters of this config can fill. SMs come in pairs, so that clusters of two fill all;
/// larger ones leave some of each GPC idle. (truth.db, 128x4096x4096: 32 clusters of 4 and 43 of 3
/// take the time of two waves.)
double sms_in_clusters(const CostFigures& figures, const KernelConfig& c) {
  const double size = cluster_size(c);
  if (size <= 2) return figures.sms;
  const double clusters = std::floor((figures.sms - figures.gpcs * (size - 1) / 2) / size);
  return std::max(1.0, clusters) * size;
}

/// After the last k block of a tile, until its consumers can begin the next one. Staging moves 64
/// outputs a cycle, ordinary stores fewer; what leaves while others multiply costs little.
double epilogue_clk(const KernelConfig& c) {
  const double outputs = static_cast<double>(c.bm) * c.bn;
  if (is_swapped(c)) return 300 + outputs / 64;
  const double clk = 250 + outputs / (c.epilogue == Epilogue::kDirect ? 24 : 64);
  const bool overlaps = c.schedule == Schedule::kPingPong || c.epilogue == Epilogue::kLate;
  return overlaps ? clk / 4 : clk;
}

/// To add up the parts of a tile: through the other CTAs' shared memory, or through L2.
double sums_clk(const KernelConfig& c) {
  const double bytes = 4.0 * c.bm * c.bn;
  if (adds_in_cluster(c)) return 400 + bytes / 64;
  if (c.walk == Walk::kSplitK) return bytes * c.splits / 200;
  if (c.walk == Walk::kStreamK) return 1500 + bytes / 64;
  return 0;
}

/// A and B read and written once more, by a launch of its own.
double packing_us(const CostFigures& figures, const KernelConfig& c, const Shape& shape) {
  if (!c.pack) return 0;
  const double outputs = static_cast<double>(shape.m) * static_cast<double>(shape.n);
  const double bytes = 2 * (shape.bytes() - outputs * kElementBytes);
  return figures.start_us + (c.pdl ? 0 : figures.launch_us) + bytes / (figures.read_tbps * 1e6);
}

/// How long a launch takes at a clock, what overlaps and what does not.
struct Duration {
  double clk = 0;        ///< cycles of the SM that takes longest
  double memory_us = 0;  ///< beside them
  double turnovers = 0;  ///< starts of CTAs that nothing hides, each of these:
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

/// The highest clock at which the power limit is kept: power rises with it.
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

Cost vector_cost(const CostFigures& figures, const KernelConfig& c, const Shape& shape) {
  // An fma for each product, of vectors that are not there too, and the elements widened: 1.3
  // instructions on 128 lanes.
  const double rows = static_cast<double>(shape.m > c.bm ? shape.m : shape.n);
  const double products = rows * c.bm * static_cast<double>(shape.k);
  const double fma_us = products * 1.3 / (figures.sms * 128 * figures.mhz);
  const double memory_us = kLoadsOverCopies * shape.bytes() / (figures.read_tbps * 1e6);
  // A CTA waits for its vectors, then for each round of loads that its warps have on their way.
  const double ctas = ceil_div(rows, c.bn) * c.splits;
  const double rounds = ceil_div(static_cast<double>(shape.k) / c.splits,
                                 static_cast<double>(c.bk) * c.stages * vector_sharers(c));
  const double latency_us = figures.stage_latency_clk / figures.mhz;
  const double resident = std::max(1.0, std::floor(kVectorThreadsPerSm / threads_per_cta(c)));
  const double waves = ceil_div(ctas, figures.sms * resident);
  const double waiting_us = waves * (figures.start_us + rounds * latency_us);
  Cost cost;
  cost.mhz = figures.mhz;
  cost.bound = fma_us > memory_us ? "CUDA cores" : "memory";
  if (waiting_us > std::max(fma_us, memory_us)) cost.bound = "latency";
  // PDL gains nothing here (with it 25.6 us there, and 20.6).
  cost.terms = {{"launch", figures.launch_us},
                {"start", figures.start_us},
                {"main loop", overlapped(std::max(fma_us, memory_us), waiting_us)}};
  return cost;
}

}  // namespace

CostFigures cost_figures(const Device& device) {
  CostFigures figures;
  figures.power_limit_w = device.power_w.value;
  figures.sms = static_cast<int>(device.sms.value);
  figures.mhz *= device.boost_mhz.value / kH200BoostMhz;
  figures.mma_flops_per_clk = device.flops_per_sm_clk(MmaInput::kBf16);
  figures.l2_bytes = device.l2_mb.value * 1048576;
  figures.smem_bytes_per_clk = device.smem_bytes_per_clk.value;
  figures.read_tbps = (device.read_tbps ? *device.read_tbps : device.memory_tbps).value;
  return figures;
}

CostFigures cost_figures(std::span<const Device> devices, const Environment& environment,
                         Regime regime) {
  CostFigures figures;
  if (const Device* device = find_device(devices, environment.gpu_name)) {
    figures = cost_figures(*device);
  } else if (environment.sm_count > 0) {
    figures.sms = environment.sm_count;
  }
  if (environment.power_limit_w > 0) figures.power_limit_w = environment.power_limit_w;
  if (regime == Regime::kBurst) figures.power_limit_w = 0;
  return figures;
}

double Cost::us() const {
  double sum = 0;
  for (const CostTerm& term : terms) sum += term.us;
  return sum;
}

Cost predict_cost(const CostFigures& figures, const KernelConfig& c, const Shape& shape) {
  if (is_vector(c)) return vector_cost(figures, c, shape);
  const double m = static_cast<double>(shape.m);
  const double n = static_cast<double>(shape.n);
  const double k = static_cast<double>(shape.k);
  const double sms = sms_in_clusters(figures, c);

  // Work: tiles, in whole clusters, and what each CTA of one does.
  const double tiles =
      ceil_div(m, c.bm * c.cluster_m) * c.cluster_m * ceil_div(n, c.bn * c.cluster_n) * c.cluster_n;
  const bool in_parts = c.walk == Walk::kSplitK || c.walk == Walk::kClusterSplit;
  const double units = tiles * (in_parts ? c.splits : 1);
  const double blocks = ceil_div(ceil_div(k, c.bk), in_parts ? c.splits : 1);

  // One k block: what the SM can do, and what a CTA alone can for the stages that it has on their
  // way while one is multiplied.
  const BlockCycles block = block_cycles(figures, c);
  const double resident = ctas_per_sm(c);
  const double on_their_way = std::max(1.0, c.stages - 1 - 0.5 * c.mma_depth);
  const double alone = std::max(block.most(), figures.stage_latency_clk / on_their_way);
  const double shared = std::max(block.most(), alone / resident);

  // The main loop in waves; the tiles of the last one spread over the SMs.
  const double tail_clk = epilogue_clk(c);
  const double even_clk = units * blocks / sms * shared;  // if all SMs ended together
  double loop_clk = 0;
  double tails = 0;
  if (c.walk == Walk::kStreamK) {
    loop_clk = even_clk;
    tails = std::max(1.0, units / sms);
  } else {
    const double at_once = sms * resident;
    const double full = std::floor(units / at_once);
    const double rest = units - full * at_once;
    loop_clk = full * resident * blocks * shared;
    tails = full;
    if (rest > 0) {
      loop_clk += blocks * std::max(ceil_div(rest, sms) * block.most(), alone);
      tails += 1;
    }
  }

  // Few long CTAs do not end together.
  const Traffic traffic = predict_traffic(
      {.sms = figures.sms, .ctas_per_sm = resident, .l2_bytes = figures.l2_bytes / 2}, c, shape);
  double memory_us = traffic.dram_bytes / (figures.read_tbps * 1e6);
  if (std::min(shape.m, shape.n) <= 128) {
    const double spread =
        units >= sms ? 0.5 + 0.5 * ceil_div(units, sms) / (units / sms) : 0.9 * sms / units;
    memory_us *= std::max(1.0, spread);
    if (c.promotion == 256) memory_us *= kPromotion256;
  }

  // A CTA that follows another one on its SM starts anew; who shares the SM goes on meanwhile.
  const bool comes_and_goes = c.walk == Walk::kSingle || c.walk == Walk::kClusterSplit;
  const double generations = comes_and_goes ? std::max(0.0, units / (sms * resident) - 1) : 0;
  const double packing = packing_us(figures, c, shape);
  const double launch_us = c.pdl ? 0 : figures.launch_us;
  // Addresses and counts known to the compiler (kernel-notes: 0.4 to 2 %).
  const double made_for_it_us = is_fixed(c) ? -0.1 : 0;
  const Duration duration{
      .clk = loop_clk + tails * tail_clk + sums_clk(c) + figures.stage_latency_clk,
      .memory_us = memory_us,
      .turnovers = generations / resident,
      .turnover_us = figures.start_us,
      .turnover_clk = figures.stage_latency_clk + sums_clk(c),
      .fixed_us = packing + launch_us + figures.start_us + made_for_it_us};
  const double body_us = duration.body_us(figures.mhz);
  const double clk_us = 1 / figures.mhz;

  Cost cost;
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
  const double idle_us = std::max(0.0, loop_clk - even_clk) * clk_us;
  const double tails_us = tails * tail_clk * clk_us;
  const double sums_us = sums_clk(c) * clk_us;
  const double fill_us = figures.stage_latency_clk * clk_us;
  cost.terms = {{"packing", packing},
                {"launch", launch_us},
                {"start", figures.start_us},
                {"first stage", fill_us},
                {"main loop", body_us - idle_us - tails_us - sums_us - fill_us},
                {"last wave", idle_us},
                {"turnover", duration.turnover_total_us(figures.mhz)},
                {"epilogues", tails_us},
                {"sums", sums_us},
                {"made for it", made_for_it_us},
                {"power cap", duration.us(cost.mhz) - duration.us(figures.mhz)}};
  return cost;
}

}  // namespace hgemm
