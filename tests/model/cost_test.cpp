// The cost model where the direction is known. How well it ranks, tests/replay asks the recorded
// truth.
#include "model/cost.h"

#include <gmock/gmock.h>

#include <cmath>

#include "space/label.h"
#include "space/space.h"

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
  EXPECT_GT(cost_of(one, more).us(), 1.8 * cost_of(one, wave).us());
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
