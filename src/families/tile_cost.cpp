#include "families/tile_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "families/cost_constants.h"
#include "kernels/common/scales.h"

namespace hgemm {
namespace {

using namespace cost_constants;

double activation_clk(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return 0;
    case Activation::kRelu:
      return kReluClk;
    case Activation::kGelu:
      return kGeluClk;
    case Activation::kGeluErf:
      return kGeluErfClk;
    case Activation::kSilu:
      return kSiluClk;
  }
  return 0;
}

double ceil_ratio(double value, double by) { return std::ceil(value / by); }

/// Cycles of one k block of one CTA's tile on its SM, for each resource that may limit it.
struct BlockCycles {
  double tensor = 0, smem = 0, fill = 0;
  double most() const { return std::max({tensor, smem, fill}); }
};

/// Lines of L2 (128 bytes) that a row of a stage touches, over those of a row that begins with a
/// line: the mean of A and B, by the bytes that are read of them.
double lines_of_rows(const TileLaunch& launch, const GemmProblem& problem) {
  constexpr std::int64_t kLineBytes = 128;
  constexpr std::int64_t kUnitBytes = 16;  // where packed rows begin
  const auto lines = [&](std::int64_t leading) {
    const std::int64_t unit = launch.packs ? kUnitBytes / launch.input_bytes : 1;
    const std::int64_t bytes = (leading + unit - 1) / unit * unit * launch.input_bytes;
    return bytes % kLineBytes == 0 ? 1 : kUnalignedRows;
  };
  const double a = launch.a_read * launch.bm / launch.cluster_n;
  const double b = launch.b_read * launch.bn / launch.cluster_m;
  return (a * lines(problem.leading_a()) + b * lines(problem.leading_b())) / (a + b);
}

/// Rows outside an operand that a CTA fetches in each k block, on average. An operand has `rows`, a
/// tile `height` of them, of which a CTA fetches one of `shares` parts.
double empty_rows(std::int64_t rows, int height, int cluster, int shares) {
  const double panels = ceil_ratio(static_cast<double>(rows), height * cluster) * cluster;
  return (height - static_cast<double>(rows) / panels) / shares;
}
double empty_rows(const TileLaunch& launch, const GemmProblem& problem) {
  return empty_rows(problem.m, launch.bm, launch.cluster_m, launch.cluster_n) +
         empty_rows(problem.n, launch.bn, launch.cluster_n, launch.cluster_m);
}

/// Whether rows of a stage have 64 bytes, half of what L2 delivers at once. (Those of MN-major
/// operands always have 128.)
bool is_shallow(const TileLaunch& launch) { return launch.bk * launch.input_bytes < kSwizzleBytes; }

/// FLOP of tensor cores in a cycle of an SM. A wgmma of 8-bit operands has twice the depth and
/// takes as long (arXiv 2402.13499; expected here, not measured).
double mma_flops_per_clk(const CostFigures& figures, const TileLaunch& launch) {
  return figures.mma_flops_per_clk * kInputBytes / launch.input_bytes;
}

/// `active`: SMs that fetch at once. `fabric`: cycles of an SM in one of L2.
BlockCycles block_cycles(const CostFigures& figures, const TileLaunch& launch,
                         const GemmProblem& problem, double active, double fabric) {
  const BlockBytes bytes = block_bytes(launch);
  const double smem_bytes = bytes.read_by_wgmma + kWrittenShare * bytes.received * bytes.read_part;
  const bool has_narrow_rows =
      is_shallow(launch) && (launch.a_major == Major::kK || launch.b_major == Major::kK);
  const double fill_rate = figures.fill_bytes_per_clk * (has_narrow_rows ? kNarrowFill : 1) /
                           lines_of_rows(launch, problem);
  return {.tensor = 2.0 * launch.bm * launch.bn * launch.bk / mma_flops_per_clk(figures, launch),
          .smem = smem_bytes / figures.smem_bytes_per_clk,
          .fill = bytes.from_l2 / fill_rate * active / figures.sms * fabric +
                  kEmptyRowClk * fabric * empty_rows(launch, problem) * launch.bk *
                      launch.input_bytes / kSwizzleBytes};
}

/// Cycles for which the tensor cores wait at each k block, because each consumer multiplies its
/// part and then adds the sums. While one adds, they multiply for another one; then they wait only
/// if both take longer than the busiest resource of the block. (Two blocks in flight: not fitted.)
double promotion_wait_clk(const TileLaunch& launch, const BlockCycles& block) {
  const PromotedSums& sums = launch.promoted;
  if (sums.blocks == 0) return 0;
  const double add = (launch.lone_consumer ? kLonePromotionClk : kPromotionClk) * sums.operations;
  if (sums.blocks > 1) {
    return (kLongPromotionClk + (launch.lone_consumer ? add : 0)) / sums.blocks;
  }
  const double multiply = block.tensor / launch.readers;
  const double chain =
      sums.in_flight
          ? std::max(multiply, add) + (std::min(multiply, add) + kPromotionWaitClk) / kPromotedGroup
          : multiply + add + kPromotionWaitClk;
  return std::max(0.0, chain - block.most());
}

/// Cycles for which the tensor cores wait at each k block.
double block_wait_clk(const TileLaunch& launch, const BlockCycles& block) {
  const bool shares_copies = launch.cluster_m * launch.cluster_n > 1;
  return (launch.lone_consumer && launch.drains ? kLoneDrainClk : 0) +
         (launch.lone_consumer && shares_copies ? std::max(0.0, kLoneClusterClk - block.tensor)
                                                : 0) +
         (is_shallow(launch) ? kNarrowBlockClk : 0) + promotion_wait_clk(launch, block);
}

/// Resident CTAs of an SM. Launches with a CTA for each tile fill it up; others set the number.
double resident_ctas(const TileLaunch& launch) {
  if (!launch.cta_per_tile) return launch.ctas_per_sm;
  const double registers = 8 * ceil_ratio(launch.registers, 8) * launch.threads;
  const double most =
      std::floor(std::min({1.0 * kSmemBytesPerSm / (launch.smem_bytes + kReservedSmemBytes),
                           kThreadsPerSm / launch.threads, kRegistersPerSm / registers}));
  return std::clamp(most, 1.0, kMostResident);
}

/// SMs that the launch may use.
int sms_of(const CostFigures& figures, const TileLaunch& launch) {
  return launch.sms > 0 ? std::min(launch.sms, figures.sms) : figures.sms;
}

/// SMs that the launch's clusters can fill: larger ones leave some SMs of each GPC idle.
double usable_sms(const CostFigures& figures, const TileLaunch& launch) {
  // Clusters of each size that run at once on an H200's 132 SMs (cuOccupancyMaxActiveClusters;
  // of five and seven the most that took the time of one wave in grid-tuned.db).
  constexpr std::array<double, 9> kAtOnce = {0, 132, 66, 39, 30, 22, 17, 15, 15};
  constexpr double kSms = 132;
  const double sms = sms_of(figures, launch);
  const int size = std::min(launch.cluster_size, 8);
  if (size <= 2) return sms;
  const double clusters = std::floor(kAtOnce[static_cast<std::size_t>(size)] * sms / kSms);
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
class Duration {
 public:
  /// `clk`: cycles of the SM that takes longest, which overlap with `memory_us`.
  Duration(double clk, double memory_us, double fixed_us)
      : clk_(clk), memory_term_(std::pow(memory_us, kOverlapSharpness)), fixed_us_(fixed_us) {}

  /// overlapped() of the two, of which one stays.
  double body_us(double mhz) const {
    return std::pow(std::pow(clk_ / mhz, kOverlapSharpness) + memory_term_, 1 / kOverlapSharpness);
  }
  double us(double mhz) const { return body_us(mhz) + fixed_us_; }

 private:
  double clk_, memory_term_, fixed_us_;
};

/// The power of a launch as a function of the clock, with which it rises.
class Power {
 public:
  /// `flop_energy`: of a FLOP over that of one of 16-bit operands.
  Power(const CostFigures& figures, const Traffic& traffic, double flop_energy,
        const Duration& duration)
      : idle_w_(figures.idle_w),
        core_pj_(traffic.flops * flop_energy * figures.pj_per_flop +
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

/// How a launch is divided among SMs.
struct Division {
  double units = 0;   ///< tiles, or parts of tiles
  double blocks = 0;  ///< k blocks of a unit
  double sms = 0;
  double resident = 1;  ///< CTAs of an SM
};
Division divided(const CostFigures& figures, const TileLaunch& launch, const GemmProblem& problem) {
  const double m = ceil_ratio(static_cast<double>(problem.m), launch.bm * launch.cluster_m);
  const double n = ceil_ratio(static_cast<double>(problem.n), launch.bn * launch.cluster_n);
  const double k_blocks = ceil_ratio(static_cast<double>(problem.k), launch.bk);
  return {.units = static_cast<double>(problem.batch) * m * launch.cluster_m * n *
                   launch.cluster_n * launch.parts,
          .blocks = ceil_ratio(k_blocks, launch.parts),
          .sms = usable_sms(figures, launch),
          .resident = resident_ctas(launch)};
}

/// The main loop in waves of tiles, or of parts of tiles.
struct Waves {
  double loop_clk = 0;
  double even_clk = 0;  ///< cycles if all SMs ended together
  double tails = 0;     ///< tiles on the SM that takes longest
};
/// `busy`: cycles of a k block's resources. `wait`: block_wait_clk(). `alone`: of a k block, for a
/// CTA that has its SM to itself. `shared`: where all CTAs of an SM work.
Waves waves_of(const TileLaunch& launch, const Division& d, double busy, double wait, double alone,
               double shared) {
  Waves waves{.even_clk = d.units * d.blocks / d.sms * shared};
  if (launch.streams) {
    waves.loop_clk = waves.even_clk;
    waves.tails = std::max(1.0, d.units / d.sms);
    return waves;
  }
  const double at_once = d.sms * d.resident;
  const double full = std::floor(d.units / at_once);
  const double rest = d.units - full * at_once;
  waves.loop_clk = full * d.resident * d.blocks * shared;
  waves.tails = full;
  if (rest > 0) {
    const double together = ceil_ratio(rest, d.sms) * busy + wait;
    waves.loop_clk += d.blocks * std::max(together, alone);
    waves.tails += 1;
  }
  return waves;
}

/// SMs that fetch at once.
double active_sms(const TileLaunch& launch, const Division& d) {
  return launch.streams ? d.sms : std::min(d.units, d.sms);
}

/// What the SM that takes longest does, in its cycles.
struct Work {
  BlockCycles block;
  double latency_clk = 0;  ///< of a k block that waits for its stage; 0 if it waits for a resource
  Waves waves;
  double stores_clk = 0, sums_clk = 0;
  double clk() const { return waves.loop_clk + stores_clk + sums_clk; }
};
/// At a clock of the SMs: the higher it is, the more of their cycles L2 takes.
Work work_at(double mhz, const CostFigures& figures, const TileLaunch& c,
             const GemmProblem& problem, const Division& d) {
  const double fabric = mhz / figures.fabric_mhz;
  Work work;
  work.block = block_cycles(figures, c, problem, active_sms(c, d), fabric);
  const double busy = work.block.most();
  const double wait = block_wait_clk(c, work.block);
  const double stage_clk =
      figures.stage_latency_clk * fabric + work.block.fill + kStageBlocks * busy;
  const double alone = std::max(busy + wait, stage_clk / (c.stages - 1 + kStageBlocks));
  const double shared = std::max(busy + wait / d.resident, alone / d.resident);
  if (alone > busy + wait) work.latency_clk = shared;
  work.waves = waves_of(c, d, busy, wait, alone, shared);
  for (double* clk : {&work.waves.loop_clk, &work.waves.even_clk}) {
    *clk *= 1 + kReadHint * c.read_hints;
  }
  const double together = std::clamp(d.units / d.sms, 1.0, d.resident);
  const double tails = work.waves.tails;
  work.stores_clk = c.store.of(together) * (1 + (tails - 1) * c.overlapped_store) +
                    c.epilogue.of(together) * (1 + (tails - 1) * c.overlapped_epilogue);
  work.sums_clk = c.sums.of(together) * (c.sums_each_tile ? tails : 1);
  return work;
}

/// What overlaps with nothing, in us.
struct Fixed {
  double packing = 0, launch = 0, start = 0, turnover = 0, constants = 0;
  double us() const { return packing + launch + start + turnover + constants; }
};
Fixed fixed_times(const CostFigures& figures, const TileLaunch& c, const Division& d,
                  const GemmProblem& problem) {
  // A CTA that follows another one on its SM has a start of its own; CTAs that share the SM work
  // meanwhile.
  const double followers = c.cta_per_tile ? std::max(0.0, d.units / (d.sms * d.resident) - 1) : 0;
  return {.packing = packing_us(figures, c, problem),
          .launch = c.pdl ? 0 : figures.launch_us,
          .start = std::max(0.0, figures.start_us - c.start_gain_us) + c.scheduling_us +
                   (c.cluster_size > 1 ? kClusterStartUs : 0),
          .turnover = followers / d.resident * kTurnoverUs,
          .constants = c.fixed ? -kFixedGainUs : 0};
}

/// Bytes of an operand that cross between the two partitions of L2, beyond the half that does in
/// any case. `readers`: clusters that read each of its panels. A line comes from memory to one
/// partition; with r readers, some are on the other side in 1 - 0.5^r of the cases.
double crossing_bytes(double bytes, double readers) {
  return bytes * (0.5 - std::exp2(-std::max(1.0, readers)));
}
double crossing_bytes(const TileLaunch& launch, const GemmProblem& problem) {
  const double rows = ceil_ratio(static_cast<double>(problem.m), launch.bm * launch.cluster_m);
  const double columns = ceil_ratio(static_cast<double>(problem.n), launch.bn * launch.cluster_n);
  return crossing_bytes(problem.a_bytes(), columns * launch.a_once) +
         crossing_bytes(problem.b_bytes(), rows * launch.b_once);
}

/// `active`: SMs that read.
double memory_time_us(const CostFigures& figures, const TileLaunch& launch,
                      const GemmProblem& problem, const Traffic& traffic, double active) {
  constexpr int kSectorBytes = 32;
  const bool whole = launch.output_row_bytes % kSectorBytes == 0 || launch.bn >= problem.n;
  const double bytes =
      traffic.dram_bytes +
      (whole ? 0 : kPartialSectors * output_count(problem.kind()) * problem.d_bytes()) +
      crossing_bytes(launch, problem);
  const bool next_waits = launch.pdl && !launch.holds_next;
  const double most_tbps =
      active * (next_waits ? kPdlReadBytesPerClk : kReadBytesPerClk) * figures.mhz * 1e-6;
  const double memory_us = bytes / (std::min(kReachedRead * figures.read_tbps, most_tbps) * 1e6) *
                           (1 + kReadHint * launch.read_hints);
  const bool streams_weight = static_cast<double>(std::min(problem.m, problem.n)) <= kFewRows;
  return streams_weight && launch.promotion == 256 ? memory_us * kPromotion256 : memory_us;
}

}  // namespace

double overlapped(double a, double b) {
  return std::pow(std::pow(a, kOverlapSharpness) + std::pow(b, kOverlapSharpness),
                  1 / kOverlapSharpness);
}

TailClk cluster_sums(int parts, double bytes, double part_clk, double bytes_per_clk) {
  return {.latency = part_clk * parts, .transfer = bytes * (1 - 1.0 / parts) / bytes_per_clk};
}

PromotedSums promoted_sums(Scaling scaling, bool swapped, int promote, int bk, int mma_depth,
                           int values, int bn, int cols) {
  if (promote == 0) return {};
  // A thread has two values of each of two rows in 8 columns.
  double of_scales = 0;
  if (has_row_blocks_of_b(scaling) && !swapped) {
    const double run = std::min(run_of_columns(bn, cols), cols);
    const double runs = 2.0 * values / cols * std::ceil(cols / run);  // of 64 rows
    of_scales = (is_within_blocks(bn) ? kRunOperations - 2 : kRunOperations) * runs;
  } else if (is_of_blocks(scaling)) {
    of_scales = kGroupOperations * values / 4;
  }
  return {.blocks = promote / bk,
          .in_flight = promotes_in_flight(promote, bk, mma_depth),
          .operations = values + of_scales};
}

TailClk epilogue_of(const GemmKind& kind, double elements, int ring_stages) {
  double clk = activation_clk(kind.epilogue.activation);
  if (kind.epilogue.scaled) clk += kScaleClk;
  if (is_8_bit(kind.output)) clk += kScaleClk;
  // A comparison for each value; not measured, so as an addition.
  if (finds_output_scales(kind)) clk += kAddClk;
  if (kind.scaling == Scaling::kTensor) clk += kScaleClk;
  if (kind.scaling == Scaling::kRows) clk += kAddClk;
  if (kind.epilogue.bias != Bias::kNone) clk += kAddClk;
  if (kind.adds_c) {
    const double rate = ring_stages > 0 ? kSmemReadBytesPerClk : kDirectBytesPerClk;
    clk += kAddClk + element_bytes(addend_type(kind.output)) / rate;
  }
  const double wait_clk = ring_stages > 0        ? ring_stages * kAddendStageClk
                          : reads_operands(kind) ? kEpilogueLoadClk
                                                 : 0;
  return {.latency = wait_clk, .transfer = clk * elements};
}

Cost predict_tile_cost(const CostFigures& figures, const TileLaunch& c,
                       const GemmProblem& problem) {
  const Division division = divided(figures, c, problem);
  const Traffic traffic = predict_traffic({.sms = sms_of(figures, c),
                                           .ctas_per_sm = division.resident,
                                           .l2_bytes = kUsefulL2 * figures.l2_bytes},
                                          c, problem);
  const double memory_us = memory_time_us(figures, c, problem, traffic, active_sms(c, division));
  const Fixed fixed = fixed_times(figures, c, division, problem);
  const Work work = work_at(figures.mhz, figures, c, problem, division);
  const Duration duration(work.clk(), memory_us, fixed.us());
  const double body_us = duration.body_us(figures.mhz);
  const double fastest_us = body_us + fixed.us();
  // A wgmma takes the same energy, whatever its types (expected, not measured).
  const double flop_energy = static_cast<double>(c.input_bytes) / kInputBytes;
  Capped limited =
      capped(figures, Power(figures, traffic, flop_energy, duration), duration, fastest_us);
  if (limited.mhz < figures.mhz) {
    const Duration slower(work_at(limited.mhz, figures, c, problem, division).clk(), memory_us,
                          fixed.us());
    limited = capped(figures, Power(figures, traffic, flop_energy, slower), slower,
                     slower.us(figures.mhz));
  }
  const double clk_us = 1 / figures.mhz;

  Cost cost;
  const std::array<std::pair<double, std::string_view>, 5> bounds = {{
      {work.block.tensor, "tensor cores"},
      {work.block.smem, "shared memory"},
      {work.block.fill, "L2 to SM"},
      {work.latency_clk, "latency"},
      {memory_us > work.clk() * clk_us ? INFINITY : 0, "memory"},
  }};
  cost.bound = std::ranges::max_element(bounds, {}, [](const auto& b) { return b.first; })->second;
  cost.traffic = traffic;
  cost.mhz = limited.mhz;
  cost.watts = limited.watts;
  const double idle_us = std::max(0.0, work.waves.loop_clk - work.waves.even_clk) * clk_us;
  const double tails_us = work.stores_clk * clk_us;
  const double sums_us = work.sums_clk * clk_us;
  cost.terms = {{"packing", fixed.packing},
                {"launch", fixed.launch},
                {"start", fixed.start},
                {"main loop", body_us - idle_us - tails_us - sums_us},
                {"last wave", idle_us},
                {"turnover", fixed.turnover},
                {"stores", tails_us},
                {"sums", sums_us},
                {"fixed extents", fixed.constants},
                {"power cap", limited.us - fastest_us}};
  return cost;
}

}  // namespace hgemm
