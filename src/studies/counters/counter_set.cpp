#include "studies/counters/counter_set.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

namespace hgemm {
namespace {

struct Entry {
  std::string_view name;
  std::string_view unit;
  std::string_view source;
  std::string_view title;
};

// Metrics with `_sass_` in their names are left out, because CUPTI patches the kernel for them. So
// are the throughput metrics: sm__throughput alone takes 8 passes.
constexpr auto kMeasured = std::to_array<Entry>({
    {"tensor_pipe_active", "%", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
     "tensor pipe active"},
    {"wgmma_warp_instructions", "instructions", "sm__inst_executed_pipe_tensor_op_gmma.sum",
     "wgmma instructions, per warp"},
    {"instructions", "instructions", "smsp__inst_executed.sum", "instructions, per warp"},
    {"sm_active_cycles", "clk", "sm__cycles_active.avg", "SM active cycles, mean"},
    {"sm_active_cycles_max", "clk", "sm__cycles_active.max", "SM active cycles, longest"},
    {"range_cycles", "clk", "sm__cycles_elapsed.max", "cycles from before to after the launch"},
    {"sm_clock", "Hz", "sm__cycles_elapsed.avg.per_second", "SM clock while profiled"},
    {"warps_active", "%", "sm__warps_active.avg.pct_of_peak_sustained_active",
     "occupancy, of 64 warps"},
    {"l2_hit_rate", "%", "lts__t_sector_hit_rate.pct", "L2 hit rate"},
    {"l2_read_hit_rate", "%", "lts__t_sector_op_read_hit_rate.pct", "L2 hit rate of reads"},
    {"dram_read", "B", "dram__bytes_read.sum", "DRAM read"},
    {"dram_written", "B", "dram__bytes_write.sum", "DRAM written"},
    {"l2_sectors_read", "sectors", "lts__t_sectors_srcunit_tex_op_read.sum",
     "L2 sectors read for SMs"},
    {"l2_to_sm", "B", "l1tex__m_xbar2l1tex_read_bytes.sum", "L2 to SMs"},
    {"l2_to_sm_tma", "B", "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
     "L2 to SMs by TMA loads"},
    {"l2_to_sm_multicast", "B",
     "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum",
     "L2 to SMs by multicast"},
    {"sm_to_l2", "B", "l1tex__m_l1tex2xbar_write_bytes.sum", "SMs to L2"},
    {"wgmma_wavefronts", "wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum",
     "shared-memory wavefronts of wgmma"},
    {"wgmma_bank_conflicts", "conflicts",
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_gmma.sum", "bank conflicts of wgmma"},
    {"shared_wavefronts", "wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
     "shared-memory wavefronts, all"},
    {"shared_bank_conflicts", "conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
     "bank conflicts, all"},
    {"shared_port_active", "%", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_active",
     "shared-memory port active"},
});

constexpr std::string_view kTensorOps = "tensor_flop";
/// None for types that do not use tensor cores. fp16 and the 8-bit types have one metric for either
/// accumulator type.
std::optional<std::string_view> tensor_ops_source(DataType input) {
  if (input == DataType::kBf16) return "sm__ops_path_tensor_src_bf16_dst_fp32.sum";
  if (input == DataType::kFp16) return "sm__ops_path_tensor_src_fp16.sum";
  if (is_8_bit(input)) return "sm__ops_path_tensor_src_fp8.sum";
  return std::nullopt;
}

constexpr std::string_view kStallPrefix = "stall_";
constexpr std::string_view kStallUnit = "% of warp cycles";
struct Stall {
  std::string_view reason;  ///< as in the name of the hardware metric
  std::string_view title;
};
// "selected" is no stall but the issue itself; with it the reasons add up to the cycles of all
// warps.
constexpr auto kStalls = std::to_array<Stall>({
    {"selected", "issuing"},
    {"gmma", "waiting: warpgroup.arrive"},
    {"barrier", "waiting: CTA barrier"},
    {"long_scoreboard", "waiting: L1TEX (long scoreboard)"},
    {"short_scoreboard", "waiting: MIO (short scoreboard)"},
    {"wait", "waiting: fixed latency"},
    {"sleeping", "waiting: nanosleep"},
    {"membar", "waiting: memory barrier"},
    {"drain", "waiting: stores at exit (drain)"},
    {"math_pipe_throttle", "waiting: math pipe"},
    {"mio_throttle", "waiting: MIO queue"},
    {"lg_throttle", "waiting: LSU queue"},
    {"tex_throttle", "waiting: TEX queue"},
    {"dispatch_stall", "waiting: dispatch"},
    {"not_selected", "waiting: another warp issued"},
    {"no_instruction", "waiting: instruction fetch"},
    {"branch_resolving", "waiting: branch"},
    {"imc_miss", "waiting: constant cache"},
    {"misc", "waiting: other"},
});

constexpr double kSectorBytes = 32;
constexpr double kWarpsPerWgmma = 4;  // a warpgroup

}  // namespace

std::vector<CounterMetric> counter_metrics(DataType input) {
  std::vector<CounterMetric> metrics;
  for (const Entry& entry : kMeasured) {
    metrics.push_back(
        {std::string(entry.name), std::string(entry.unit), std::string(entry.source)});
  }
  if (const auto source = tensor_ops_source(input)) {
    metrics.push_back({std::string(kTensorOps), "FLOP", std::string(*source)});
  }
  for (const Stall& stall : kStalls) {
    const std::string reason(stall.reason);
    metrics.push_back({std::string(kStallPrefix) + reason, std::string(kStallUnit),
                       "smsp__warp_issue_stalled_" + reason + "_per_warp_active.pct"});
  }
  return metrics;
}

Figure counter_figure(std::string metric, std::string unit, double value, std::string source) {
  return {.point = std::move(source),
          .metric = std::move(metric),
          .unit = std::move(unit),
          .value = value,
          .low = value,
          .high = value,
          .samples = 1};
}

std::vector<Figure> derived_counters(std::span<const Figure> measured, const GemmProblem& problem,
                                     int sm_count) {
  const auto value = [&](std::string_view metric) -> std::optional<double> {
    const auto found = std::ranges::find(measured, metric, &Figure::metric);
    if (found == measured.end()) return std::nullopt;
    return found->value;
  };
  std::vector<Figure> derived;
  const auto add = [&](const char* name, const char* unit, std::optional<double> dividend,
                       std::optional<double> divisor, double factor, const char* formula) {
    if (!dividend || !divisor || *divisor == 0 || !std::isfinite(*dividend)) return;
    derived.push_back(counter_figure(name, unit, factor * *dividend / *divisor, formula));
  };
  const std::optional<double> dram_read = value("dram_read");
  const std::optional<double> dram_written = value("dram_written");
  std::optional<double> dram;
  if (dram_read && dram_written) dram = *dram_read + *dram_written;
  const double inputs = problem.a_bytes() + problem.b_bytes();

  add("active_time", "us", value("sm_active_cycles_max"), value("sm_clock"), 1e6,
      "sm_active_cycles_max / sm_clock");
  add("flop_per_clk", "FLOP/clk/SM", problem.flops(), value("sm_active_cycles_max"), 1.0 / sm_count,
      "2 M N K / (SMs * sm_active_cycles_max)");
  add("tensor_work", "", value(kTensorOps), problem.flops(), 1, "tensor_flop / (2 M N K)");
  add("dram_read_per_input", "", dram_read, inputs, 1, "dram_read / bytes of A and B");
  add("dram_per_kflop", "B/kFLOP", dram, problem.flops(), 1e3,
      "(dram_read + dram_written) / (2 M N K)");
  add("l2_to_sm_per_kflop", "B/kFLOP", value("l2_to_sm"), problem.flops(), 1e3,
      "l2_to_sm / (2 M N K)");
  add("multicast_share", "%", value("l2_to_sm_multicast"), value("l2_to_sm_tma"), 100,
      "l2_to_sm_multicast / l2_to_sm_tma");
  add("l2_fanout", "", value("l2_to_sm"), value("l2_sectors_read"), 1 / kSectorBytes,
      "l2_to_sm / (32 B * l2_sectors_read)");
  add("wavefronts_per_wgmma", "wavefronts", value("wgmma_wavefronts"),
      value("wgmma_warp_instructions"), kWarpsPerWgmma,
      "wgmma_wavefronts / (wgmma_warp_instructions / 4)");
  add("wgmma_conflict_share", "%", value("wgmma_bank_conflicts"), value("wgmma_wavefronts"), 100,
      "wgmma_bank_conflicts / wgmma_wavefronts");
  return derived;
}

std::string counter_title(std::string_view metric) {
  static constexpr auto kDerived = std::to_array<std::pair<std::string_view, std::string_view>>({
      {kTensorOps, "tensor operations"},
      {"active_time", "time of the longest SM, profiled"},
      {"flop_per_clk", "useful work per clock"},
      {"tensor_work", "tensor operations per useful one"},
      {"dram_read_per_input", "DRAM read per byte of input"},
      {"dram_per_kflop", "DRAM traffic per useful work"},
      {"l2_to_sm_per_kflop", "L2 to SMs per useful work"},
      {"multicast_share", "multicast share of TMA loads"},
      {"l2_fanout", "bytes delivered per byte read of L2"},
      {"wavefronts_per_wgmma", "shared-memory wavefronts per wgmma"},
      {"wgmma_conflict_share", "bank conflicts per wavefront of wgmma"},
  });
  for (const Entry& entry : kMeasured) {
    if (entry.name == metric) return std::string(entry.title);
  }
  for (const auto& [name, title] : kDerived) {
    if (name == metric) return std::string(title);
  }
  for (const Stall& stall : kStalls) {
    if (is_stall(metric) && metric.substr(kStallPrefix.size()) == stall.reason) {
      return std::string(stall.title);
    }
  }
  return std::string(metric);
}

bool is_stall(std::string_view metric) { return metric.starts_with(kStallPrefix); }

}  // namespace hgemm
