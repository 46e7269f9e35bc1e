#include "search/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "gemm/problem_list.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::string kConfigs = HGEMM_SOURCE_DIR "/configs";

Enumeration enumerate_shipped(const std::string& name) {
  return enumerate(load_space(name, kConfigs));
}

std::vector<std::string> labels(const Enumeration& enumeration) {
  std::vector<std::string> result;
  for (const KernelConfig& config : enumeration.valid) result.push_back(label(config));
  return result;
}

class SpaceFile : public ::testing::Test {
 protected:
  Enumeration enumerate_text(const std::string& text) {
    return enumerate(load_space(files_.write("space.yaml", text), kConfigs));
  }
  ScratchFiles files_;
};

// ---- The spaces that are shipped ----

class ShippedSpace : public ::testing::TestWithParam<const char*> {};

TEST_P(ShippedSpace, HoldsDistinctValidConfigsWithRoundTrippingLabels) {
  const Enumeration space = enumerate_shipped(GetParam());
  std::set<std::string> distinct;
  for (const KernelConfig& config : space.valid) {
    const std::string text = label(config);
    EXPECT_TRUE(distinct.insert(text).second) << text;
    EXPECT_FALSE(why_invalid(config)) << text;
    EXPECT_EQ(parse_label(text), config) << text;
  }
  EXPECT_FALSE(space.valid.empty());
}

TEST_P(ShippedSpace, IsTheSameForBothTypesOfOperands) {
  const GemmKind fp16[] = {{DataType::kFp16, DataType::kFp16}};
  EXPECT_EQ(labels(enumerate(load_space(GetParam(), kConfigs), fp16)),
            labels(enumerate_shipped(GetParam())));
}

TEST_P(ShippedSpace, RejectsWithReasons) {
  const Enumeration space = enumerate_shipped(GetParam());
  EXPECT_EQ(space.reasons.size(), space.rejected.size());
  for (const auto& [rule, points] : space.rejected) {
    EXPECT_NE(rule, "valid");
    EXPECT_GT(points, 0);
    ASSERT_TRUE(space.reasons.contains(rule)) << rule;
    EXPECT_GT(space.reasons.at(rule).size(), 10u) << rule;
  }
}

TEST_P(ShippedSpace, HasKernelsForEveryLayoutBesideThoseThatReadRowsAlongK) {
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTT}) {
    const GemmProblem problem{.m = 512, .n = 512, .k = 512, .layout = layout, .tag = ""};
    const Enumeration space = enumerate(load_space(GetParam(), kConfigs), std::span(&problem, 1));
    EXPECT_FALSE(space.valid.empty()) << to_string(layout);
    for (const KernelConfig& config : space.valid) {
      EXPECT_NE(family_name(config), "gemv") << label(config);
      EXPECT_EQ(why_not(config, problem), nullptr) << label(config);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Spaces, ShippedSpace,
                         ::testing::Values("smoke", "quick", "full", "decode", "decode-pdl",
                                           "rows"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

void expect_every_word(const std::map<std::string, std::vector<std::string>>& axes) {
  EXPECT_THAT(axes.at("schedule"), ElementsAre("coop1", "coop2", "coop3", "cols2", "cols3", "pp2"));
  EXPECT_THAT(axes.at("store"), ElementsAre("direct", "tma", "staged", "overlap"));
  EXPECT_THAT(axes.at("scheduler"),
              IsSupersetOf({"persist", "dynamic", "single", "split2", "csplit2", "stream"}));
  EXPECT_THAT(axes.at("ctas"), ElementsAre("1", "2"));
  EXPECT_THAT(axes.at("pdl"), ElementsAre("0", "1"));
  EXPECT_THAT(axes.at("swap"), ElementsAre("0", "1"));
  EXPECT_THAT(axes.at("pack"), ElementsAre("0", "1"));
  for (const char* hint : {"a_hint", "b_hint", "d_hint"})
    EXPECT_THAT(axes.at(hint), ElementsAre("none", "first", "last")) << hint;
  EXPECT_THAT(axes.at("promotion"), ElementsAre("64", "128", "256"));
  for (const char* order : {"group", "ngroup", "snake", "nsnake"})
    EXPECT_THAT(axes.at("order"), Contains(StartsWith(order)));
}

TEST(ShippedSpaces, SmokeIsSmallAndTouchesEveryAxis) {
  const Enumeration smoke = enumerate_shipped("smoke");
  EXPECT_TRUE(smoke.rejected.empty());
  EXPECT_GE(smoke.valid.size(), 10u);
  EXPECT_LE(smoke.valid.size(), 100u);
  const auto axes = axis_values(smoke.valid);
  EXPECT_THAT(axes.at("bm"), IsSupersetOf({"8", "64", "128", "192", "256", "320", "384"}));
  EXPECT_THAT(axes.at("bk"), ElementsAre("32", "64", "128"));
  EXPECT_THAT(axes.at("step"), ElementsAre("256", "512", "1024"));
  EXPECT_THAT(axes.at("vectors"), ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(axes.at("warps"), ElementsAre("4", "8", "12"));
  EXPECT_THAT(axes.at("cluster"), IsSupersetOf({"1x1", "1x2", "2x1", "2x2", "1x4", "4x1"}));
  EXPECT_THAT(axes.at("d"), ElementsAre("0", "1"));
  EXPECT_THAT(axes.at("order"), IsSupersetOf({"linear", "group8", "hilbert"}));
  expect_every_word(axes);
}

TEST(ShippedSpaces, QuickCompilesInAboutAMinute) {
  const Enumeration quick = enumerate_shipped("quick");
  EXPECT_GE(quick.valid.size(), 150u);
  // A shape needs a part of them.
  for (const char* key : {"4096x4096x4096", "16x4096x4096", "4097x4097x4097", "1x4097x4097"}) {
    const GemmProblem problem = parse_problem(key);
    const auto tried = std::ranges::count_if(
        quick.valid, [&](const KernelConfig& config) { return suits(config, problem); });
    EXPECT_GE(tried, 10) << key;
    EXPECT_LE(tried, 300) << key;
  }
}

/// What any shipped space for whole problems finds, full finds too.
TEST(ShippedSpaces, FullHasTheOthers) {
  const auto all = labels(enumerate_shipped("full"));
  const std::set<std::string> full(all.begin(), all.end());
  for (const char* name : {"quick", "decode", "decode-pdl"}) {
    for (const std::string& text : labels(enumerate_shipped(name)))
      EXPECT_TRUE(full.contains(text)) << name << ": " << text;
  }
}

TEST(ShippedSpaces, FullHasEveryValueOfEveryAxis) {
  const Enumeration full = enumerate_shipped("full");
  EXPECT_GE(full.valid.size(), 1500u);
  EXPECT_LE(full.valid.size(), 5500u);
  const auto axes = axis_values(full.valid);
  EXPECT_THAT(axes.at("bm"), IsSupersetOf({"8", "64", "128", "192", "256", "320", "384"}));
  std::vector<std::string> widths, depths;
  for (int bn = 8; bn <= 256; bn += 8) widths.push_back(std::to_string(bn));
  for (int stages = 2; stages <= kMaxStages; ++stages) depths.push_back(std::to_string(stages));
  EXPECT_THAT(axes.at("bn"), IsSupersetOf(widths));
  EXPECT_THAT(axes.at("q"), IsSupersetOf(depths));
  EXPECT_THAT(axes.at("bk"), ElementsAre("32", "64", "128"));
  EXPECT_THAT(axes.at("step"), IsSupersetOf({"256", "1024"}));
  EXPECT_THAT(axes.at("cluster"), IsSupersetOf({"1x1", "1x2", "2x1", "2x2", "1x4", "4x1"}));
  EXPECT_THAT(axes.at("d"), ElementsAre("0", "1"));
  EXPECT_THAT(axes.at("order"),
              IsSupersetOf({"linear", "group2", "group4", "group8", "group16", "hilbert"}));
  expect_every_word(axes);
}

TEST(ShippedSpaces, FullContainsQuicksTiles) {
  std::set<std::vector<std::string>> tiles;
  const auto tile = [](const KernelConfig& config) {
    std::vector<std::string> fields = {std::string(family_name(config))};
    for (const AxisValue& value : axis_values(config)) {
      for (const char* axis : {"bm", "bn", "schedule", "vectors", "rows", "warps"}) {
        if (value.axis == axis) fields.push_back(value.value);
      }
    }
    return fields;
  };
  for (const KernelConfig& config : enumerate_shipped("full").valid) tiles.insert(tile(config));
  for (const KernelConfig& config : enumerate_shipped("quick").valid)
    EXPECT_TRUE(tiles.contains(tile(config))) << label(config);
}

// Every M has tiles to try in every shipped space, few rows swap-AB ones too, and none far too
// tall.
TEST(ShippedSpaces, SuitEveryShape) {
  for (const char* name : {"quick", "full", "decode"}) {
    const std::vector<KernelConfig> configs = enumerate_shipped(name).valid;
    for (const std::int64_t m : {1, 2, 8, 9, 16, 17, 33, 49, 64, 65, 100, 128, 129, 2048}) {
      if (std::string(name) == "decode" && m > 128) continue;
      const GemmProblem problem{.m = m, .n = 4096, .k = 4096, .tag = ""};
      int swapped = 0, others = 0;
      for (const KernelConfig& config : configs) {
        if (!suits(config, problem)) continue;
        EXPECT_EQ(why_not(config, problem), nullptr) << label(config);
        if (const auto* of_few_rows = std::get_if<SwapAbConfig>(&config)) {
          ++swapped;
          EXPECT_LT(of_few_rows->bm, problem.m + 33) << label(config);
        }
        if (const auto* tiled = std::get_if<TiledConfig>(&config)) {
          ++others;
          EXPECT_LT(tiled->bm, problem.m + 64) << label(config);
        }
      }
      if (m <= 128) {
        EXPECT_GT(swapped, 0) << name << ", M = " << m;
      }
      EXPECT_GT(others, 0) << name << ", M = " << m;
    }
  }
}

// ---- Enumeration ----

TEST_F(SpaceFile, OmittedAxesTakeTheirDefaults) {
  EXPECT_THAT(labels(enumerate_text("grids: [{bm: 128, bn: 256, schedule: coop2}]")),
              ElementsAre("bm128.bn256.bk64.q4.c1x1.coop2.d1.linear.tma.persist"));
  EXPECT_THAT(labels(enumerate_text("grids: [{family: tiled, bm: 128, bn: 256, schedule: coop2}]")),
              ElementsAre("bm128.bn256.bk64.q4.c1x1.coop2.d1.linear.tma.persist"));
  EXPECT_THAT(labels(enumerate_text("grids: [{family: swap_ab, bm: 128, bn: 128, bk: 128}]")),
              ElementsAre("swap_ab.bm128.bn128.bk128.q3.d1.tma.single"));
  EXPECT_THAT(labels(enumerate_text("grids: [{family: gemv, vectors: 4, rows: 8, step: 512}]")),
              ElementsAre("gemv.v4.r8.s512.q2.w8.single"));
}

TEST_F(SpaceFile, EveryAxisVaries) {
  const Enumeration space = enumerate_text(
      "grids:\n"
      "  - {bm: 64, bn: [64, 80], bk: [32, 64], q: [4, 5], cluster: [1x1, 2x1],\n"
      "     schedule: [cols2, pp2], d: [0, 1], order: [hilbert, snake2], store: [tma, overlap],\n"
      "     a_hint: [none, last], b_hint: [none, first], d_hint: [first, last],\n"
      "     promotion: [64, 256]}\n");
  EXPECT_TRUE(space.rejected.empty());
  EXPECT_EQ(space.valid.size(), 4096u);
  EXPECT_EQ(labels(space).front(),
            "bm64.bn64.bk32.q4.c1x1.cols2.d0.hilbert.tma.persist.dfirst.p64");
  EXPECT_EQ(labels(space).back(),
            "bm64.bn80.bk64.q5.c2x1.pp2.d1.snake2.overlap.persist.alast.bfirst.dlast");
}

TEST_F(SpaceFile, SmsAreWordsAndRanges) {
  const Enumeration space = enumerate_text(
      "grids: [{bm: 64, bn: 64, q: 4, schedule: coop1, sms: [all, few, '64:128:32']}]");
  EXPECT_TRUE(space.rejected.empty());
  const std::string all = "bm64.bn64.bk64.q4.c1x1.coop1.d1.linear.tma.persist";
  EXPECT_THAT(labels(space),
              ElementsAre(all, all + ".smsfew", all + ".sms64", all + ".sms96", all + ".sms128"));
  EXPECT_THROW(enumerate_text("grids: [{bm: 64, bn: 64, schedule: coop1, sms: 0}]"), InputError);
}

TEST_F(SpaceFile, EveryAxisOfTheOtherFamiliesVaries) {
  const Enumeration few_rows = enumerate_text(
      "grids:\n"
      "  - {family: swap_ab, bm: [8, 24], bn: 64, bk: [64, 128], q: [3, 4], d: [0, 1],\n"
      "     store: [tma, staged], scheduler: [single, csplit2], a_hint: [none, last],\n"
      "     b_hint: [none, first], promotion: [128, 256], ctas: [1, 2], pack: [0, 1],\n"
      "     fixed: [0, 1]}\n");
  EXPECT_TRUE(few_rows.rejected.empty());
  EXPECT_EQ(few_rows.valid.size(), 4096u);
  EXPECT_EQ(labels(few_rows).back(),
            "swap_ab.bm24.bn64.bk128.q4.d1.staged.csplit2.alast.bfirst.cta2.pack.fixed");
  const Enumeration vectors = enumerate_text(
      "grids:\n"
      "  - {family: gemv, vectors: [1, 2], rows: [8, 16], step: [256, 512], depth: [1, 2],\n"
      "     warps: [4, 8], scheduler: [single, csplit3], ctas: [1, 2], pdl: [0, 1],\n"
      "     fixed: [0, 1]}\n");
  EXPECT_TRUE(vectors.rejected.empty());
  EXPECT_EQ(vectors.valid.size(), 512u);
  EXPECT_EQ(labels(vectors).front(), "gemv.v1.r8.s256.q1.w4.single");
  EXPECT_EQ(labels(vectors).back(), "gemv.v2.r16.s512.q2.w8.csplit3.cta2.pdl.fixed");
}

TEST_F(SpaceFile, MaxStagesAreTheMostThatFit) {
  const Enumeration space = enumerate_text(
      "grids: [{bm: 128, bn: '64:256:64', schedule: coop2},\n"
      "        {family: swap_ab, bm: 128, bn: [64, 192], bk: 64}]");
  ASSERT_EQ(space.valid.size(), 6u);
  for (KernelConfig config : space.valid) {
    std::visit(
        [](auto& c) {
          if constexpr (requires { c.stages; }) ++c.stages;
        },
        config);
    EXPECT_TRUE(why_invalid(config)) << label(config);
  }
  // 128 KB a stage: not even the three that d = 1 needs.
  const Enumeration none = enumerate_text("grids: [{bm: 384, bn: 128, bk: 128, schedule: coop2}]");
  EXPECT_TRUE(none.valid.empty());
  EXPECT_THAT(none.rejected, ElementsAre(std::pair("shared_memory", 1)));
}

TEST_F(SpaceFile, DeviceLimitsDecideWhatFits) {
  const Space space = load_space(
      files_.write("space.yaml", "grids: [{bm: 128, bn: 64, schedule: coop2}]"), kConfigs);
  DeviceLimits half;
  half.smem_bytes_per_cta /= 2;
  const std::span<const GemmKind> bf16;
  ASSERT_EQ(enumerate(space, bf16, half).valid.size(), 1u);
  const auto stages = [](const KernelConfig& config) {
    return std::get<TiledConfig>(config).stages;
  };
  EXPECT_LT(stages(enumerate(space, bf16, half).valid[0]), stages(enumerate(space).valid[0]));
}

// One config is tried on every problem that it can compute, and made for each of them.
TEST_F(SpaceFile, FixedPointsAreOneConfigForAllShapes) {
  const Space space = load_space(
      files_.write("space.yaml",
                   "grids: [{bm: 64, bn: 64, q: 4, schedule: coop1, fixed: [0, 1], pdl: 1}]"),
      kConfigs);
  const GemmProblem problems[] = {parse_problem("512x512x512"), parse_problem("100x8x16.fp16"),
                                  parse_problem("100x9x16")};
  const Enumeration points = enumerate(space, problems);
  EXPECT_TRUE(points.rejected.empty());
  const std::string base = "bm64.bn64.bk64.q4.c1x1.coop1.d1.linear.tma.persist.pdl";
  EXPECT_THAT(labels(points), ElementsAre(base, base + ".fixed"));
  for (const GemmProblem& problem : problems) {
    for (const KernelConfig& config : points.valid) {
      EXPECT_EQ(suits(config, problem), problem.n % 8 == 0)
          << label(config) << " at " << to_string(problem);
      if (!suits(config, problem)) continue;
      const Kernel kernel = kernel_for(config, problem);
      EXPECT_FALSE(why_invalid(kernel)) << build_name(kernel);
      EXPECT_EQ(kind_of(kernel).m, is_fixed(config) ? problem.m : 0);
    }
  }
  EXPECT_EQ(labels(enumerate(space)), labels(points));
}

// A point is of the space if it is valid for any of the types that are asked for.
TEST_F(SpaceFile, TypesDecideWhatIsValid) {
  const Space space = load_space(
      files_.write("space.yaml",
                   "grids: [{bm: 256, bn: [96, 128], schedule: coop2, q: 3, store: overlap}]"),
      kConfigs);
  const GemmProblem plain = parse_problem("512x512x512");
  const GemmProblem wide = parse_problem("512x512x512.dfp32");
  const auto widths = [&](const std::vector<GemmProblem>& problems) {
    const Enumeration points = enumerate(space, problems);
    std::vector<int> bn;
    for (const KernelConfig& config : points.valid) bn.push_back(std::get<TiledConfig>(config).bn);
    EXPECT_EQ(points.valid.size() == 2, points.rejected.empty());
    return bn;
  };
  EXPECT_THAT(widths({plain}), ElementsAre(96, 128));
  EXPECT_THAT(widths({wide}), ElementsAre(96));
  EXPECT_THAT(enumerate(space, {&wide, 1}).rejected, ElementsAre(std::pair("accumulators", 1)));
}

// What only odd sizes need is tried on nothing else, and there on what needs it.
TEST_F(SpaceFile, PackingAndStagingAreForOddSizes) {
  const Space space = load_space(
      files_.write("space.yaml",
                   "grids: [{bm: 64, bn: 64, q: 4, schedule: coop1, store: [tma, staged], "
                   "pack: [0, 1]}]"),
      kConfigs);
  const std::vector<KernelConfig> configs = enumerate(space).valid;
  ASSERT_EQ(configs.size(), 4u);
  const auto suiting = [&](const std::string& problem) {
    std::string fields;
    for (const KernelConfig& config : configs) {
      if (!suits(config, parse_problem(problem))) continue;
      const auto& tiled = std::get<TiledConfig>(config);
      fields += tiled.store == StorePath::kStaged ? " staged" : " tma";
      if (tiled.pack) fields += "+pack";
    }
    return fields;
  };
  EXPECT_EQ(suiting("64x64x64"), " tma");
  EXPECT_EQ(suiting("64x64x67"), " tma+pack");
  EXPECT_EQ(suiting("64x67x64"), " staged");
  EXPECT_EQ(suiting("67x67x67"), " staged+pack");
  EXPECT_EQ(suiting("64x64x67.lda72.ldb72"), " tma");
  EXPECT_EQ(suiting("64x64x64.ldd65"), " staged");
  // Four fp32 outputs are a unit of 16 bytes.
  EXPECT_EQ(suiting("64x68x64"), " staged");
  EXPECT_EQ(suiting("64x68x64.dfp32"), " tma");
}

TEST_F(SpaceFile, KernelsForVectorsAreForTheFewestThatFit) {
  const Space space = load_space(
      files_.write(
          "space.yaml",
          "grids: [{family: gemv, vectors: [1, 2, 4, 8, 16], rows: 16, step: 256, depth: 1}]"),
      kConfigs);
  const std::vector<KernelConfig> configs = enumerate(space).valid;
  ASSERT_EQ(configs.size(), 5u);
  for (const auto& [m, n, expected] :
       {std::tuple{1, 4096, 1}, std::tuple{2, 4096, 2}, std::tuple{3, 4096, 4},
        std::tuple{4096, 5, 8}, std::tuple{4096, 16, 16}, std::tuple{17, 17, 0}}) {
    int found = 0;
    for (const KernelConfig& config : configs) {
      if (!suits(config, {.m = m, .n = n, .k = 4097, .tag = ""})) continue;
      found += std::get<GemvConfig>(config).vectors;
    }
    EXPECT_EQ(found, expected) << m << "x" << n;
  }
}

TEST(ShippedSpaces, CountsAreThoseOfWhatSuits) {
  std::vector<GemmProblem> problems;
  for (const char* key :
       {"4096x4096x4096", "16x4096x4096.fp16", "1x4097x4097", "4096x4096x4096.dfp32", "8x8x8.fp32",
        "4096x4096x4096.fp16.dfp32", "67x67x67.dfp32", "64x64x64.ldd65", "64x64x64.batch2"}) {
    problems.push_back(parse_problem(key));
  }
  const auto configs = enumerate(load_space("full", kConfigs), problems).valid;
  const auto counts = count_suited(configs, problems);
  ASSERT_EQ(counts.size(), problems.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    EXPECT_EQ(counts[i],
              std::ranges::count_if(
                  configs, [&](const KernelConfig& config) { return suits(config, problems[i]); }))
        << to_string(problems[i]);
  }
}

TEST_F(SpaceFile, PointsOfSeveralGridsCountOnce) {
  const Enumeration space = enumerate_text(
      "grids:\n"
      "  - {bm: [64, 100], bn: [8, 16], schedule: coop1, q: [max, 4, 16]}\n"
      "  - {bm: [100, 64], bn: 16, schedule: coop1, q: 4}\n");
  // max is 16 for both widths.
  EXPECT_EQ(space.valid.size(), 4u);
  EXPECT_EQ(labels(space)[0], "bm64.bn8.bk64.q16.c1x1.coop1.d1.linear.tma.persist");
  // q 4 and 16, and what max would be: the fewest stages, 3.
  EXPECT_THAT(space.rejected, ElementsAre(std::pair("tile_m", 6)));
}

TEST_F(SpaceFile, EveryBrokenRuleIsCountedUnderItsName) {
  const auto rule_of = [&](const std::string& grid) {
    const Enumeration space = enumerate_text("grids: [{" + grid + "}]");
    EXPECT_TRUE(space.valid.empty()) << grid;
    EXPECT_EQ(space.rejected.size(), 1u) << grid;
    EXPECT_TRUE(space.reasons.contains(space.rejected.begin()->first)) << grid;
    return space.rejected.begin()->first;
  };
  EXPECT_EQ(rule_of("bm: 100, bn: 64, schedule: coop1"), "tile_m");
  EXPECT_EQ(rule_of("bm: 64, bn: 12, schedule: coop1"), "tile_n");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, bk: 48"), "tile_k");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, q: 17"), "stages");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, d: 2"), "mma_depth");
  EXPECT_EQ(rule_of("bm: 256, bn: 64, schedule: coop4"), "consumers");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop2"), "consumer_share");
  EXPECT_EQ(rule_of("bm: 64, bn: 72, schedule: cols2"), "consumer_share");
  EXPECT_EQ(rule_of("bm: 64, bn: 72, schedule: pp3"), "consumer_share");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, cluster: 4x4"), "cluster");
  EXPECT_EQ(rule_of("bm: 64, bn: 8, schedule: coop1, cluster: 2x1"), "multicast_slice");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, order: group0"), "group");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, order: nsnake65"), "group");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, store: overlap, scheduler: single"),
            "overlap");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, promotion: 100"), "memory_hint");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, store: direct, d_hint: first"),
            "memory_hint");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, scheduler: split1"), "splits");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, schedule: coop1, ctas: 3"), "ctas_per_sm");
  EXPECT_EQ(rule_of("bm: 128, bn: 256, schedule: coop1"), "accumulators");
  EXPECT_EQ(rule_of("bm: 192, bn: 208, schedule: coop3"), "operand_registers");
  EXPECT_EQ(rule_of("bm: 128, bn: 256, schedule: coop2, q: 5"), "shared_memory");
  EXPECT_EQ(rule_of("family: swap_ab, bm: 12, bn: 64"), "tile_m");
  EXPECT_EQ(rule_of("family: swap_ab, bm: 16, bn: 64, pack: 1, pdl: 1"), "pack");
  EXPECT_EQ(rule_of("family: gemv, vectors: 3, rows: 16, step: 512"), "vectors");
  EXPECT_EQ(rule_of("family: gemv, vectors: 1, rows: 12, step: 512"), "rows");
}

TEST_F(SpaceFile, AxisValuesAreSortedAsNumbersAndOrders) {
  const auto axes = axis_values(
      enumerate_text("grids: [{bm: 64, bn: [104, 8, 16], schedule: coop1, q: [10, 9], "
                     "order: [hilbert, nsnake4, group16, snake2, group2, ngroup2, linear], "
                     "promotion: [256, 64]}]")
          .valid);
  EXPECT_THAT(axes.at("bn"), ElementsAre("8", "16", "104"));
  EXPECT_THAT(axes.at("q"), ElementsAre("9", "10"));
  EXPECT_THAT(axes.at("order"), ElementsAre("linear", "group2", "group16", "ngroup2", "snake2",
                                            "nsnake4", "hilbert"));
  EXPECT_THAT(axes.at("promotion"), ElementsAre("64", "256"));
  EXPECT_THAT(axes.at("a_hint"), ElementsAre("none"));
  EXPECT_EQ(axes.size(), axes_of("tiled").size());
}

TEST_F(SpaceFile, AxesOfSeveralFamiliesAreListedOnce) {
  const auto axes = axis_values(
      enumerate_text("grids: [{bm: 64, bn: 64, schedule: coop1, q: 4, scheduler: persist},\n"
                     "        {family: swap_ab, bm: 8, bn: 128, q: 9, scheduler: csplit3},\n"
                     "        {family: gemv, vectors: 2, rows: 8, step: 512}]")
          .valid);
  EXPECT_THAT(axes.at("bm"), ElementsAre("8", "64"));
  EXPECT_THAT(axes.at("q"), ElementsAre("4", "9"));
  EXPECT_THAT(axes.at("scheduler"), UnorderedElementsAre("persist", "csplit3", "single"));
  EXPECT_THAT(axes.at("vectors"), ElementsAre("2"));
}

}  // namespace
}  // namespace hgemm
