// Labels, plans and choices of microbenchmarks.
#include "studies/micro/points.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"

namespace hgemm {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::ThrowsMessage;

std::vector<std::string> labels_of(const MicroPlan& plan) {
  std::vector<std::string> labels;
  for (const MicroPoint& point : plan.points) labels.push_back(micro_label(point));
  return labels;
}

TEST(MicroLabel, NamesEveryAxis) {
  EXPECT_EQ(micro_label(WgmmaPoint{}), "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1");
  EXPECT_EQ(micro_label(WgmmaPoint{256, MmaTypes::kF16E4m3, true, MicroData::kZeros,
                                   MicroPace::kLatency, 1}),
            "wgmma.m64n256k32.f16.e4m3.rs.zeros.latency.wg1");
  EXPECT_EQ(micro_label(MmaPoint{}), "mma.m16n8k16.f32.bf16.random.issue.w4");
  EXPECT_EQ(micro_label(TmaPoint{}), "tma.box64x64.sw128.mc1.l2.issue.q1");
  EXPECT_EQ(micro_label(BulkPoint{}), "bulk.b8192.l2.issue.q1");
  EXPECT_EQ(micro_label(ReadPoint{MemoryLevel::kHbm, 512, 4}), "read.hbm.t512.u4");
  EXPECT_EQ(micro_label(StreamPoint{14784, false}), "stream.kib14784.alone.t1024.u4");
  EXPECT_EQ(micro_label(MbarrierPoint{SmemOwner::kPeer}), "mbarrier.peer.test");
  EXPECT_EQ(micro_label(SmemPoint{}), "smem.peer.issue.t32");
  EXPECT_EQ(micro_label(StmatrixPoint{}), "stmatrix.x4.swizzled.w4");
  EXPECT_EQ(micro_label(AccumulatorPoint{}), "accumulator.f32.e4m3");
  EXPECT_EQ(micro_label(ContentionPoint{}), "contention.m64n256k16.wg2.fill0.one");
}

TEST(MicroLabel, RoundTripsOverTheFullPlan) {
  std::set<std::string> seen;
  for (const MicroPoint& point : micro_plan(true).points) {
    const std::string label = micro_label(point);
    EXPECT_TRUE(seen.insert(label).second) << label << " names two points";
    EXPECT_TRUE(parse_micro(label) == point) << label;
  }
  EXPECT_GT(seen.size(), 3000u);
}

TEST(MicroLabel, RejectsWhatIsNone) {
  for (const char* text :
       {"", "wgmma", "wgmma.m64n128k16", "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1.",
        "wgmma.m64n128k16.f32.bf16.ss.random.issue.wg01",
        "wgmma.m64n128k32.f32.bf16.ss.random.issue.wg1",
        "wgmma.m64n128k16.f32.bf16.ss.random.issue", "tma.box64.sw128.mc1.l2.issue.q1",
        "tma.box64x64x.sw128.mc1.l2.issue.q1", "read.l2.t512.u99999999999", "mbarrier.own.1"}) {
    EXPECT_THAT([text] { parse_micro(text); },
                ThrowsMessage<InputError>(HasSubstr("is no microbenchmark")))
        << text;
  }
}

TEST(MicroLabel, SaysWhyAPointCannotBe) {
  const auto because = [](const char* reason) {
    return ThrowsMessage<InputError>(HasSubstr(reason));
  };
  EXPECT_THAT([] { parse_micro("wgmma.m64n12k16.f32.bf16.ss.random.issue.wg1"); },
              because("N = 8, 16"));
  EXPECT_THAT([] { parse_micro("wgmma.m64n256k16.f32.bf16.ss.random.issue.wg4"); },
              because("128 registers"));
  EXPECT_THAT([] { parse_micro("promoted.m64n256k32.every128.wg1"); }, because("255"));
  EXPECT_THAT([] { parse_micro("promoted.m64n128k32.every128.wg3"); }, because("1 or 2"));
  EXPECT_EQ(parse_micro("promoted.m64n256k32.never.wg1"),
            MicroPoint(PromotedPoint{.n = 256, .every = 0, .warpgroups = 1}));
  EXPECT_THAT([] { parse_micro("promoted.m64n128k32.every64.wg1"); },
              because("is no microbenchmark"));
  EXPECT_THAT([] { parse_micro("tma.box64x64.sw64.mc1.l2.issue.q1"); }, because("span"));
  EXPECT_THAT([] { parse_micro("tma.box256x64.sw128.mc4.l2.issue.q4"); }, because("do not fit"));
  EXPECT_THAT([] { parse_micro("smem.own.latency.t64"); }, because("one warp"));
  EXPECT_THAT([] { parse_micro("accumulator.f16.e4m3"); }, because("11 bits"));
  EXPECT_THAT([] { parse_micro("wgmma.m64n64k32.f32.e5m2.ss.random.issue.wg1"); },
              because("accumulator only"));
}

TEST(MicroPlan, CoversEveryNForTheTypesThatMatter) {
  const auto labels = labels_of(micro_plan(false));
  for (int n = 8; n <= 256; n += 8) {
    for (const char* types : {"k16.f32.bf16", "k16.f32.f16", "k16.f16.f16", "k32.f32.e4m3"}) {
      EXPECT_THAT(labels, Contains(fmt::format("wgmma.m64n{}{}.ss.random.issue.wg1", n, types)));
    }
  }
  EXPECT_THAT(labels, SizeIs(testing::Lt(1000)));
}

TEST(MicroPlan, TheFullOneHasAllOfTheDefaultOne) {
  const auto all = labels_of(micro_plan(true));
  const std::set<std::string> full(all.begin(), all.end());
  for (const std::string& label : labels_of(micro_plan(false))) {
    EXPECT_TRUE(full.contains(label)) << label;
  }
}

TEST(MicroPlan, LeavesOutWhatCannotBeAndSaysWhy) {
  const MicroPlan plan = micro_plan(false);
  ASSERT_THAT(plan.left_out, Not(IsEmpty()));
  for (const auto& [label, reason] : plan.left_out) {
    EXPECT_THAT(reason, Not(IsEmpty())) << label;
    EXPECT_THAT([&label] { parse_micro(label); }, ThrowsMessage<InputError>(HasSubstr(reason)));
  }
}

TEST(MicroPlan, OnlyTakesLabelsPrefixesAndPatterns) {
  EXPECT_THAT(labels_of(micro_plan(false, "mbarrier")),
              testing::ElementsAre("mbarrier.own.test", "mbarrier.own.try", "mbarrier.peer.test",
                                   "mbarrier.peer.try"));
  EXPECT_THAT(labels_of(micro_plan(false, "read.*.t512.u4,mbarrier.own.test")),
              testing::ElementsAre("read.l2.t512.u4", "read.hbm.t512.u4", "mbarrier.own.test"));
  // One label of the full plan, and one that no plan has.
  const char* zeros = "wgmma.m64n136k16.f32.bf16.ss.zeros.issue.wg2";
  EXPECT_THAT(labels_of(micro_plan(false, zeros)), testing::ElementsAre(zeros));
  EXPECT_THAT(labels_of(micro_plan(false, "bulk.b32768.hbm.issue.q2")),
              testing::ElementsAre("bulk.b32768.hbm.issue.q2"));
  EXPECT_THAT([] { micro_plan(false, "wgmma.m64n256k16.f32.bf16.ss.random.issue.wg4"); },
              ThrowsMessage<InputError>(HasSubstr("128 registers")));
  EXPECT_THAT([] { micro_plan(false, "wgmmma"); },
              ThrowsMessage<InputError>(HasSubstr("did you mean wgmma?")));
}

TEST(MicroSource, IsSharedByWhatDiffersInArgumentsOnly) {
  const auto source = [](const char* label) { return micro_source(parse_micro(label)); };
  EXPECT_EQ(source("wgmma.m64n64k16.f32.bf16.ss.random.issue.wg1"),
            source("wgmma.m64n64k16.f32.bf16.ss.zeros.issue.wg3"));
  EXPECT_EQ(source("wgmma.m64n64k16.f32.bf16.ss.random.issue.wg1"),
            source("wgmma.m64n64k16.f32.bf16.ss.random.latency.wg1"));
  EXPECT_NE(source("wgmma.m64n64k16.f32.bf16.ss.random.issue.wg1"),
            source("wgmma.m64n72k16.f32.bf16.ss.random.issue.wg1"));
  std::set<std::string> sources;
  for (const MicroPoint& point : micro_plan(false).points) sources.insert(micro_source(point));
  EXPECT_LT(sources.size(), 220u);
}

TEST(MicroSource, HasTheKernelThatThePointNames) {
  for (const MicroPoint& point : micro_plan(false).points) {
    EXPECT_THAT(micro_source(point), HasSubstr(fmt::format(" {}(", micro_kernel(point))))
        << micro_label(point);
  }
}

TEST(MicroArithmetic, PeakIsThatOfTheTensorCores) {
  EXPECT_EQ(peak_flops_per_clk(MmaTypes::kF32Bf16), 4096);
  EXPECT_EQ(peak_flops_per_clk(MmaTypes::kF32E4m3), 8192);
  EXPECT_EQ(wgmma_flops({.n = 256}), 128 * 4096.0);
  EXPECT_EQ(wgmma_flops({.n = 256, .types = MmaTypes::kF32E4m3}), 128 * 8192.0);
}

}  // namespace
}  // namespace hgemm
