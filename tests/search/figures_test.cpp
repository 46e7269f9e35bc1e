// What the cost model knows of a GPU: from configs/devices.yaml, and from microbenchmarks.
#include "search/figures.h"

#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "families/family.h"
#include "search/calibration.h"
#include "studies/micro/points.h"

namespace hgemm {
namespace {

double term(const Cost& cost, std::string_view name) {
  for (const CostTerm& one : cost.terms) {
    if (one.name == name) return one.us;
  }
  return NAN;
}

const GemmProblem kSquare{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
const std::string kWide = "bm128.bn256.bk64.q4.c2x1.coop2.d1.group8.tma.persist";

TEST(Figures, KnowsTheDeviceByItsNameElseItsNumberOfSms) {
  const auto devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  Environment environment;
  environment.gpu_name = "NVIDIA H20";
  environment.sm_count = 1;  // the name counts
  EXPECT_EQ(cost_figures(devices, environment, Regime::kSustained).sms, 78);
  environment.gpu_name = "NVIDIA H300";
  environment.sm_count = 160;
  EXPECT_EQ(cost_figures(devices, environment, Regime::kSustained).sms, 160);
}

TEST(Figures, SizesAreInTheUnitsOfTheModel) {
  // A table in MB and MHz; the model counts bytes and multiples of the H200's clock.
  Device device;
  device.sms.value = 100;
  device.boost_mhz.value = 990;
  device.l2_mb.value = 50;
  const CostFigures figures = cost_figures(device);
  EXPECT_EQ(figures.sms, 100);
  EXPECT_DOUBLE_EQ(figures.l2_bytes, 50.0 * 1024 * 1024);
  EXPECT_DOUBLE_EQ(figures.mhz, CostFigures{}.mhz / 2);
}

TEST(Figures, TheBandwidthIsTheMeasuredOneIfThereIsOne) {
  Device device;
  device.memory_tbps.value = 3.35;
  EXPECT_EQ(cost_figures(device).read_tbps, 3.35);
  device.read_tbps = KnownFigure{.value = 3.1, .source = "a benchmark"};
  EXPECT_EQ(cost_figures(device).read_tbps, 3.1);
}

// What is planned without a GPU is planned for the card of the table, under its own limit.
TEST(Figures, TheEnvironmentOfADeviceIsWhatTheTableSaysOfIt) {
  Device device;
  device.gpu_names = {"NVIDIA X1", "NVIDIA X1 NVL"};
  device.sms.value = 100;
  device.l2_mb.value = 50;
  device.memory_gb.value = 80;
  device.boost_mhz.value = 1500;
  device.power_w.value = 650;
  const Environment environment = environment_of(device);
  EXPECT_EQ(environment.gpu_name, "NVIDIA X1");
  EXPECT_EQ(environment.compute_major, 9);
  EXPECT_EQ(environment.sm_count, 100);
  EXPECT_EQ(environment.l2_bytes, 50 * 1024 * 1024);
  EXPECT_EQ(environment.memory_bytes, 80'000'000'000);
  EXPECT_EQ(environment.max_sm_mhz, 1500);
  EXPECT_EQ(environment.power_limit_w, 650);
}

TEST(Figures, ShortWorkIsLimitedLess) {
  const std::vector<Device> devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  Environment environment;
  environment.gpu_name = "NVIDIA H200";
  environment.power_limit_w = 700;
  const KernelConfig config = parse_label(kWide);
  const auto in = [&](Regime regime) {
    return predict_cost(cost_figures(devices, environment, regime), config, kSquare);
  };
  EXPECT_GT(term(in(Regime::kSustained), "power cap"), 0);
  EXPECT_LT(term(in(Regime::kBurst), "power cap"), term(in(Regime::kSustained), "power cap"));
  EXPECT_LT(in(Regime::kSustained).mhz, in(Regime::kBurst).mhz);
  EXPECT_EQ(in(Regime::kSingle).mhz, in(Regime::kBurst).mhz);
  // A card that is limited further is slower.
  const double us = in(Regime::kSustained).us();
  environment.power_limit_w = 500;
  EXPECT_GT(in(Regime::kSustained).us(), 1.1 * us);
}

TEST(Figures, EveryDeviceKeepsItsOwnLimit) {
  for (const Device& device : load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml")) {
    const Cost cost = predict_cost(cost_figures(device), parse_label(kWide), kSquare);
    EXPECT_LE(cost.watts, device.power_w.value) << device.name;
    EXPECT_GT(cost.mhz, 500) << device.name;
  }
}

RecordedStudy micro(const std::string& label, const std::string& metric, double value) {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H300";
  recorded.study.kind = "micro";
  recorded.study.label = label;
  recorded.study.figures = {{.point = "", .metric = metric, .unit = "", .value = value}};
  return recorded;
}

TEST(Calibration, FiguresFollowWhatMicroMeasured) {
  std::vector<RecordedStudy> studies = {
      micro("bulk.b16384.hbm.issue.q4", "bandwidth", 2.21),
      micro("wgmma.m64n256k16.f32.bf16.ss.random.issue.wg1", "cycles", 64),
      micro("smem.own.issue.t512", "bytes_per_clk", 100)};
  studies.push_back(micro("smem.own.issue.t512", "bytes_per_clk", 256));          // newer
  studies.push_back(micro("contention.m64n256k16.wg2.fill96.all", "cycles", 1));  // another metric
  studies.push_back(micro("tma.box128x64.sw128.mc1.hbm.latency.q1", "latency", 1));
  studies.back().study.status = Status::kCrashed;
  CostFigures figures;
  EXPECT_EQ(calibrate(figures, studies, "NVIDIA H200"), 0);
  EXPECT_EQ(calibrate(figures, studies, "NVIDIA H300"), 3);
  EXPECT_DOUBLE_EQ(figures.read_tbps, CostFigures{}.read_tbps / 2);
  EXPECT_DOUBLE_EQ(figures.mma_flops_per_clk, 2 * 4096);
  EXPECT_DOUBLE_EQ(figures.smem_bytes_per_clk, 256);
  EXPECT_DOUBLE_EQ(figures.stage_latency_clk, CostFigures{}.stage_latency_clk);
  EXPECT_LT(predict_cost(figures, parse_label(kWide), kSquare).us(),
            predict_cost({}, parse_label(kWide), kSquare).us());
}

TEST(Calibration, ItsLabelsAreMicrobenchmarksOfTheDefaultPlan) {
  for (const std::string_view label : calibrating_labels()) {
    EXPECT_EQ(micro_plan(false, label).points.size(), 1u) << label;
  }
}

}  // namespace
}  // namespace hgemm
