#include "search/calibration.h"

#include <algorithm>
#include <array>

namespace hgemm {
namespace {

struct Source {
  std::string_view label;
  std::string_view metric;
  double on_h200;  ///< results/h200/study.db, 2026-11-20
  double CostFigures::*figure;
  bool inverse = false;  ///< the metric is in cycles, the figure is a rate
};
constexpr std::array<Source, 5> kSources = {{
    {"wgmma.m64n256k16.f32.bf16.ss.random.issue.wg1", "cycles", 128.0,
     &CostFigures::mma_flops_per_clk, true},
    {"smem.own.issue.t512", "bytes_per_clk", 128.0, &CostFigures::smem_bytes_per_clk},
    {"contention.m64n256k16.wg2.fill96.all", "fill_bytes_per_clk", 44.1,
     &CostFigures::fill_bytes_per_clk},
    {"bulk.b16384.hbm.issue.q4", "bandwidth", 4.42, &CostFigures::read_tbps},
    {"tma.box128x64.sw128.mc1.hbm.latency.q1", "latency", 1483, &CostFigures::stage_latency_clk},
}};

constexpr std::array<std::string_view, kSources.size()> labels() {
  std::array<std::string_view, kSources.size()> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kSources[i].label;
  return all;
}
constexpr auto kLabels = labels();

}  // namespace

int calibrate(CostFigures& figures, std::span<const RecordedStudy> studies,
              std::string_view gpu_name) {
  int replaced = 0;
  for (const Source& source : kSources) {
    double measured = 0;
    for (const RecordedStudy& recorded : studies) {  // oldest first
      const Study& study = recorded.study;
      if (recorded.environment.gpu_name != gpu_name || study.label != source.label ||
          study.status != Status::kOk) {
        continue;
      }
      const Figure* found = find_figure(study.figures, "", source.metric);
      if (found != nullptr && found->value > 0) measured = found->value;
    }
    if (measured == 0) continue;
    const double ratio = source.inverse ? source.on_h200 / measured : measured / source.on_h200;
    figures.*source.figure = CostFigures{}.*source.figure * ratio;
    ++replaced;
  }
  return replaced;
}

CostFigures calibrated_figures(std::span<const Device> devices, const Environment& environment,
                               Regime regime, std::span<const RecordedStudy> studies) {
  CostFigures figures = cost_figures(devices, environment, regime);
  calibrate(figures, studies, environment.gpu_name);
  return figures;
}

std::span<const std::string_view> calibrating_labels() { return kLabels; }

}  // namespace hgemm
