#include "search/figures.h"

namespace hgemm {
namespace {

/// Boost clock of the H200, for which CostFigures' defaults hold (configs/devices.yaml).
constexpr double kH200BoostMhz = 1980;
/// Short work after idle time is limited too, at about 1.4 times the power limit: by the energies
/// of the model, 35,212 recorded samples that an H200 of 700 W would otherwise have run at more
/// than 1100 W took 968 W in the median (analysis/cost-model.md).
constexpr double kShortPowerShare = 1.4;

}  // namespace

CostFigures cost_figures(const Device& device) {
  CostFigures figures;
  figures.power_limit_w = device.power_w.value;
  figures.sms = static_cast<int>(device.sms.value);
  figures.mhz *= device.boost_mhz.value / kH200BoostMhz;
  figures.fabric_mhz *= device.boost_mhz.value / kH200BoostMhz;
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
  if (regime != Regime::kSustained) figures.power_limit_w *= kShortPowerShare;
  return figures;
}

Environment environment_of(const Device& device) {
  Environment environment;
  environment.gpu_name = device.gpu_names.front();
  environment.compute_major = 9;
  environment.sm_count = static_cast<int>(device.sms.value);
  environment.l2_bytes = static_cast<std::int64_t>(device.l2_mb.value * 1048576);
  environment.memory_bytes = static_cast<std::int64_t>(device.memory_gb.value * 1e9);
  environment.max_sm_mhz = static_cast<int>(device.boost_mhz.value);
  environment.power_limit_w = device.power_w.value;
  return environment;
}

}  // namespace hgemm
