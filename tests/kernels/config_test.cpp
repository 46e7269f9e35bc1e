// The rules: each one rejects what it names, and accepted configs respect what the hardware has.
#include "kernels/config.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "space/label.h"

namespace hgemm {
namespace {

struct Case {
  Rule rule;
  KernelConfig config;
};

TEST(Config, EachRuleRejectsWhatItNames) {
  const Case cases[] = {
      {Rule::kValid, {}},
      {Rule::kTileM, {.bm = 96}},
      {Rule::kTileM, {.bm = 448}},
      {Rule::kTileN, {.bn = 12}},
      {Rule::kTileN, {.bn = 264}},
      {Rule::kTileK, {.bk = 48}},
      {Rule::kStages, {.stages = 1}},
      {Rule::kStages, {.stages = 2, .mma_depth = 1}},
      {Rule::kValid, {.stages = 2, .mma_depth = 0}},
      {Rule::kStages, {.bm = 64, .bn = 8, .stages = 17, .consumers = 1}},
      {Rule::kConsumers, {.bm = 256, .consumers = 4}},
      {Rule::kConsumerRows, {.bm = 192, .consumers = 2}},
      {Rule::kCluster, {.cluster_m = 2, .cluster_n = 2}},
      {Rule::kMulticastSlice, {.bn = 72, .cluster_m = 2}},
      {Rule::kValid, {.bn = 72, .cluster_n = 2}},
      {Rule::kMmaDepth, {.mma_depth = 2}},
      {Rule::kGroup, {.order = TileOrder::kGrouped, .group = 0}},
      {Rule::kGroup, {.order = TileOrder::kHilbert, .group = 8}},
      {Rule::kAccumulators, {.bm = 256, .bn = 208, .stages = 3}},
      {Rule::kValid, {.bm = 256, .bn = 200, .stages = 3}},
      {Rule::kValid, {.bm = 256, .bn = 208, .stages = 3, .epilogue = Epilogue::kDirect}},
      {Rule::kOperandRegisters, {.bm = 192, .bn = 208, .stages = 3, .consumers = 3}},
      {Rule::kSharedMemory, {.bm = 128, .bn = 256, .stages = 5}},
      {Rule::kDtype, {.dtype = Dtype::kFp32}},
  };
  std::set<Rule> seen;
  for (const Case& c : cases) {
    EXPECT_EQ(why_invalid(c.config), c.rule)
        << label(c.config) << ": " << rule_text(why_invalid(c.config)).name;
    seen.insert(c.rule);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Rule::kCount)) << "a rule is not tried here";
}

TEST(Config, EveryRuleHasANameAndAReason) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(Rule::kCount); ++i) {
    const RuleText text = rule_text(static_cast<Rule>(i));
    EXPECT_TRUE(names.insert(text.name).second) << text.name;
    EXPECT_GT(std::string(text.reason).size(), 10u) << text.name;
  }
}

// setmaxnreg.inc waits for registers that the CTA gave back; what it was launched with is all.
TEST(Config, RegistersMovedNeverExceedThoseAtEntry) {
  for (int consumers = 2; consumers <= 3; ++consumers) {
    for (int bn = 8; bn <= 256; bn += 8) {
      const KernelConfig config{.bm = 192 * 2, .bn = bn, .stages = 3, .consumers = consumers};
      EXPECT_LE(producer_registers(config) + consumers * consumer_registers(config),
                entry_registers(config) * (consumers + 1));
    }
  }
}

TEST(Config, SharedMemoryPartsDoNotOverlapAndAreAligned) {
  for (const int bk : {32, 64, 128}) {
    for (int bn = 8; bn <= 256; bn += 8) {
      const KernelConfig config{.bm = 128, .bn = bn, .bk = bk, .stages = 3};
      const SmemLayout layout = smem_layout(config);
      EXPECT_EQ(layout.b, 3 * 128 * bk * 2);
      EXPECT_GE(layout.staging, layout.b + 3 * bn * bk * 2);
      EXPECT_EQ(layout.staging % 1024, 0);
      EXPECT_EQ(layout.full - layout.staging, 2 * 4 * 2 * 2048);  // consumers, warps, buffers
      EXPECT_EQ(layout.full % 8, 0);
      EXPECT_EQ(layout.total_bytes, layout.full + 3 * 3 * 8);
    }
  }
}

TEST(Config, UnsupportedShapesSayWhy) {
  EXPECT_EQ(why_unsupported(1, 8, 8), nullptr);
  EXPECT_EQ(why_unsupported(333, 4104, 72), nullptr);
  EXPECT_NE(std::string(why_unsupported(64, 4097, 64)).find("N must"), std::string::npos);
  EXPECT_NE(std::string(why_unsupported(64, 64, 4097)).find("K must"), std::string::npos);
  EXPECT_NE(why_unsupported(0, 64, 64), nullptr);
  EXPECT_NE(why_unsupported(64, 64, 1LL << 31), nullptr);
}

}  // namespace
}  // namespace hgemm
