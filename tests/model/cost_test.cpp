// The cost model where the direction is known. How well it ranks, tests/replay asks the recorded
// truth.
#include "model/cost.h"
#include "model/calibration.h"
#include "model/traffic.h"

#include <gmock/gmock.h>

#include <cmath>

#include "space/label.h"
#include "space/space.h"
#include "study/micro_points.h"

namespace hgemm {
namespace {

double term(const Cost& cost, std::string_view name) {
  for (const CostTerm& one : cost.terms) {
    if (one.name == name) return one.us;
  }
  return NAN;
}

Cost cost_of(const std::string& label, const Shape& shape) {
  return predict_cost({}, parse_label(label), shape);
}

const Shape kSquare{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
const Shape kDecode{.m = 1, .n = 12288, .k = 4096, .tag = ""};
const std::string kWide = "bm128.bn256.bk64.q4.c2x1.coop2.d1.group8.tma.persist.bf16";
const std::string kNarrow = "bm128.bn64.bk64.q4.c2x1.coop2.d1.group8.tma.persist.bf16";

TEST(CostModel, LargeTilesAreBoundByTensorCoresAndNarrowOnesByOperands) {
  EXPECT_EQ(cost_of(kWide, kSquare).bound, "tensor cores");
  EXPECT_NE(cost_of(kNarrow, kSquare).bound, "tensor cores");
  EXPECT_LT(cost_of(kWide, kSquare).us(), cost_of(kNarrow, kSquare).us());
}

TEST(CostModel, OneTileMoreThanAWaveCostsAnotherWave) {
  const std::string one = "bm128.bn128.bk64.q6.c1x1.coop2.d1.linear.tma.persist.bf16";
  const Shape wave{.m = 128 * 12, .n = 128 * 11, .k = 4096, .tag = ""};  // 132 tiles
  Shape more = wave;
  more.m += 1;
  EXPECT_LT(term(cost_of(one, wave), "last wave"), 1);
  // At the power cap less than twice as much: idle SMs leave their power to the others' clock.
  CostFigures cool;
  cool.power_limit_w = 0;
  const auto cool_us = [&](const Shape& shape) {
    return predict_cost(cool, parse_label(one), shape).us();
  };
  EXPECT_GT(cool_us(more), 1.8 * cool_us(wave));
  EXPECT_LT(cost_of(one, more).us(), 1.8 * cost_of(one, wave).us());
  // Streamed tiles are shared evenly.
  const std::string streamed = "bm128.bn128.bk64.q6.c1x1.coop2.d1.linear.tma.stream.bf16";
  EXPECT_LT(cost_of(streamed, more).us(), cost_of(one, more).us());
}

TEST(CostModel, DecodeIsBoundByMemoryAndOverlappedLaunchesHideTheGap) {
  const std::string swapped = "bm8.bn64.bk128.q4.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128";
  const Cost plain = cost_of(swapped, kDecode);
  const Cost overlapped = cost_of(swapped + ".pdl", kDecode);
  EXPECT_EQ(plain.bound, "memory");
  EXPECT_GT(term(plain, "launch"), 0);
  EXPECT_EQ(term(overlapped, "launch"), 0);
  EXPECT_LT(overlapped.us(), plain.us());
  // 101 MB at 4.67 TB/s are 21.6 us: no prediction is below.
  EXPECT_GT(overlapped.us(), 21.5);
}

TEST(CostModel, EveryTermOfEveryConfigIsANumberThatTimeCanBe) {
  const std::vector<Shape> shapes = {kSquare, kDecode, {.m = 7, .n = 131, .k = 67, .tag = ""}};
  const auto space = enumerate(load_space("full", HGEMM_SOURCE_DIR "/configs"), shapes).valid;
  for (const Shape& shape : shapes) {
    for (const KernelConfig& config : space) {
      if (!is_made_for(config, shape) || why_unsupported(config, shape)) continue;
      const Cost cost = predict_cost({}, config, shape);
      ASSERT_TRUE(std::isfinite(cost.us()) && cost.us() > 0) << label(config);
      ASSERT_FALSE(cost.bound.empty());
      for (const CostTerm& one : cost.terms) {
        ASSERT_TRUE(std::isfinite(one.us)) << label(config) << " " << one.name;
        if (one.name == "made for it") continue;
        ASSERT_GE(one.us, 0) << label(config) << " " << one.name;
      }
    }
  }
}

// What memory bounds, whichever operand is the small one.
TEST(CostModel, FewColumnsAreAsFewRows) {
  const std::string tile = "bm64.bn64.bk64.q8.c1x1.coop1.d1.linear.tma.persist.bf16";
  const Shape rows{.m = 64, .n = 8192, .k = 4096, .tag = ""};
  const Shape columns{.m = 8192, .n = 64, .k = 4096, .tag = ""};
  EXPECT_NEAR(cost_of(tile, rows).us(), cost_of(tile, columns).us(), 1e-9);
}

// What the hardware counted (results/h200/counters.md, 2026-11-20), output left out.
TEST(Traffic, IsWhatTheCountersSaw) {
  struct Counted {
    Shape shape;
    std::string label;
    double dram_read_bytes, l2_bytes;
  };
  const std::vector<Counted> all = {
      {{.m = 8192, .n = 8192, .k = 8192, .tag = ""},
       "bm128.bn224.bk64.q4.c2x1.coop2.d1.group8.tma.persist.bf16",
       1.29e9,
       283.9e6 * 32},
      {kSquare, "bm128.bn256.bk64.q4.c2x1.coop2.d0.group8.late.persist.bf16", 147.6e6,
       32.34e6 * 32},
      {{.m = 2048, .n = 11008, .k = 4096, .tag = ""},
       "bm256.bn168.bk64.q3.c1x2.coop2.d0.group8.tma.persist.bf16",
       165.6e6,
       0},
      {{.m = 64, .n = 4096, .k = 11008, .tag = ""},
       "bm64.bn48.bk128.q7.c1x1.coop1.d1.linear.tma.persist.bf16",
       91.6e6,
       0},
  };
  for (const Counted& counted : all) {
    const Traffic traffic = predict_traffic({}, parse_label(counted.label), counted.shape);
    const double output = 2.0 * static_cast<double>(counted.shape.m * counted.shape.n);
    EXPECT_NEAR((traffic.dram_bytes - output) / counted.dram_read_bytes, 1, 0.03) << counted.label;
    if (counted.l2_bytes > 0) {
      EXPECT_NEAR(traffic.l2_bytes / counted.l2_bytes, 1, 0.05) << counted.label;
    }
  }
}

TEST(Traffic, OperandsThatFitInL2AreFetchedOnceWhateverTheOrder) {
  const Shape small{.m = 1024, .n = 1024, .k = 1024, .tag = ""};
  for (const char* order : {"linear", "group1", "group8", "hilbert", "snake4"}) {
    const std::string label =
        "bm128.bn128.bk64.q6.c1x1.coop2.d1." + std::string(order) + ".tma.persist.bf16";
    EXPECT_DOUBLE_EQ(predict_traffic({}, parse_label(label), small).dram_bytes, small.bytes());
  }
}

std::string in_order(const std::string& order) {
  return "bm128.bn256.bk64.q4.c2x1.coop2.d1." + order + ".tma.persist.bf16";
}

// truth.db: at 8192^3 the median of 30 tiles takes 4 % longer with linear than with group8, nearly
// all of it clock; at 2048x32000x4096 group1 takes 15 % longer, since B is read for every row.
TEST(CostModel, AnOrderThatFetchesMoreLosesClockOrIsBoundByMemory) {
  const Shape large{.m = 8192, .n = 8192, .k = 8192, .tag = ""};
  const Cost grouped = cost_of(in_order("group8"), large);
  const Cost linear = cost_of(in_order("linear"), large);
  EXPECT_LT(linear.mhz, grouped.mhz);
  EXPECT_GT(linear.us(), 1.01 * grouped.us());
  EXPECT_LT(linear.us(), 1.10 * grouped.us());
  const Shape head{.m = 2048, .n = 32000, .k = 4096, .tag = ""};
  EXPECT_GT(cost_of(in_order("group1"), head).us(), 1.1 * cost_of(in_order("group16"), head).us());
}

// tune.db, at the settled cap: times that the model must meet without having been told the clock.
TEST(CostModel, MeetsTimesAtThePowerCap) {
  const Shape large{.m = 8192, .n = 8192, .k = 8192, .tag = ""};
  const Cost cost = cost_of(in_order("group8"), large);
  EXPECT_GT(term(cost, "power cap"), 0);
  EXPECT_NEAR(cost.watts, 693, 1);
  EXPECT_NEAR(cost.us(), 1600, 0.05 * 1600);
}

TEST(CostModel, WithoutALimitTheClockStays) {
  const std::vector<Device> devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  Environment environment;
  environment.gpu_name = "NVIDIA H200";
  environment.power_limit_w = 700;
  const KernelConfig config = parse_label(kWide);
  const auto in = [&](Regime regime) {
    return predict_cost(cost_figures(devices, environment, regime), config, kSquare);
  };
  EXPECT_GT(term(in(Regime::kSustained), "power cap"), 0);
  EXPECT_EQ(term(in(Regime::kBurst), "power cap"), 0);
  EXPECT_LT(in(Regime::kSustained).mhz, in(Regime::kBurst).mhz);
  // A card that is limited further is slower.
  const double us = in(Regime::kSustained).us();
  environment.power_limit_w = 500;
  EXPECT_GT(in(Regime::kSustained).us(), 1.1 * us);
}

TEST(CostModel, EveryDeviceKeepsItsOwnLimit) {
  for (const Device& device : load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml")) {
    const Cost cost = predict_cost(cost_figures(device), parse_label(kWide), kSquare);
    EXPECT_LE(cost.watts, device.power_w.value) << device.name;
    EXPECT_GT(cost.mhz, 500) << device.name;
  }
}

// truth.db, 128x4096x4096: 22.8 us by clusters of four, which do not fit in one wave; 12.8 us by
// clusters of two.
TEST(CostModel, LargeClustersLeaveSmsIdle) {
  const Shape shape{.m = 128, .n = 4096, .k = 4096, .tag = ""};
  const double of_four =
      cost_of("bm128.bn128.bk64.q6.c1x1.coop2.d1.linear.tma.csplit4.bf16.p128", shape).us();
  const double of_two =
      cost_of("bm128.bn64.bk64.q8.c1x1.swap1.d1.linear.tma.csplit2.bf16.p128", shape).us();
  EXPECT_GT(of_four, 1.2 * of_two);
}

RecordedStudy micro(const std::string& label, const std::string& metric, double value) {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H300";
  recorded.study.label = label;
  recorded.study.micro = {{.metric = metric, .unit = "", .value = value}};
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
  EXPECT_LT(predict_cost(figures, parse_label(kWide), kSquare).us(), cost_of(kWide, kSquare).us());
}

TEST(Calibration, ItsLabelsAreMicrobenchmarksOfTheDefaultPlan) {
  for (const std::string_view label : calibrating_labels()) {
    EXPECT_EQ(micro_plan(false, label).points.size(), 1u) << label;
  }
}

TEST(CostModel, KnowsTheDeviceByItsNameElseItsNumberOfSms) {
  const auto devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  Environment environment;
  environment.gpu_name = "NVIDIA H20";
  environment.sm_count = 1;  // the name counts
  EXPECT_EQ(cost_figures(devices, environment, Regime::kSustained).sms, 78);
  environment.gpu_name = "NVIDIA H300";
  environment.sm_count = 160;
  EXPECT_EQ(cost_figures(devices, environment, Regime::kSustained).sms, 160);
}

}  // namespace
}  // namespace hgemm
