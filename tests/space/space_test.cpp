#include "space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "scratch_files.h"
#include "space/label.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

const std::string kConfigs = HGEMM_SOURCE_DIR "/configs";

Enumeration enumerate_shipped(const std::string& name) {
  return enumerate(load_space(name, kConfigs), {});
}

std::vector<std::string> labels(const Enumeration& enumeration) {
  std::vector<std::string> result;
  for (const KernelConfig& config : enumeration.valid) result.push_back(label(config));
  return result;
}

std::ptrdiff_t count_of(const Enumeration& enumeration, Dtype dtype) {
  return std::count_if(enumeration.valid.begin(), enumeration.valid.end(),
                       [&](const KernelConfig& config) { return config.dtype == dtype; });
}

class SpaceFile : public ::testing::Test {
 protected:
  Enumeration enumerate_text(const std::string& text) {
    return enumerate(load_space(files_.write("space.yaml", text), kConfigs), {});
  }
  /// The complaint about a file, without the file's name.
  std::string complaint_about(const std::string& text) {
    const std::string path = files_.write("space.yaml", text);
    try {
      load_space(path, kConfigs);
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_THAT(message, StartsWith(path + ":"));
      return message.substr(path.size() + 1);
    }
    return "accepted";
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
    EXPECT_EQ(why_invalid(config), Rule::kValid) << text;
    EXPECT_EQ(parse_label(text), config) << text;
  }
  if (std::string(GetParam()) != "smoke") {  // which the sanitizers run
    EXPECT_EQ(count_of(space, Dtype::kBf16), count_of(space, Dtype::kFp16));
  }
}

TEST_P(ShippedSpace, RejectsWithReasons) {
  for (const auto& [rule, points] : enumerate_shipped(GetParam()).rejected) {
    EXPECT_NE(rule, Rule::kValid);
    EXPECT_LT(rule, Rule::kCount);
    EXPECT_GT(points, 0);
    EXPECT_GT(std::string(rule_text(rule).reason).size(), 10u) << rule_text(rule).name;
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
  EXPECT_THAT(axes.at("schedule"), ElementsAre("coop", "cols", "pp", "swap", "vec"));
  EXPECT_THAT(axes.at("epilogue"), ElementsAre("direct", "tma", "staged", "late"));
  EXPECT_THAT(axes.at("walk"),
              IsSupersetOf({"persist", "dynamic", "single", "split2", "csplit2", "stream"}));
  EXPECT_THAT(axes.at("ctas"), ElementsAre("1", "2"));
  EXPECT_THAT(axes.at("pdl"), ElementsAre("0", "1"));
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
  EXPECT_GE(count_of(smoke, Dtype::kBf16), 10);
  EXPECT_LE(count_of(smoke, Dtype::kBf16), 70);
  const auto axes = axis_values(smoke.valid);
  EXPECT_THAT(axes.at("bm"), IsSupersetOf({"8", "64", "128", "192", "256", "320", "384"}));
  EXPECT_THAT(axes.at("bk"), IsSupersetOf({"32", "64", "128", "1024"}));
  EXPECT_THAT(axes.at("consumers"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(axes.at("cluster"), ElementsAre("1x1", "1x2", "2x1"));
  EXPECT_THAT(axes.at("d"), ElementsAre("0", "1"));
  EXPECT_THAT(axes.at("order"), IsSupersetOf({"linear", "group8", "hilbert"}));
  expect_every_word(axes);
}

TEST(ShippedSpaces, QuickCompilesInAboutAMinute) {
  const Enumeration quick = enumerate_shipped("quick");
  EXPECT_GE(count_of(quick, Dtype::kBf16), 150);
  // Of which a shape needs a part.
  for (const char* shape : {"4096x4096x4096", "16x4096x4096", "4097x4097x4097", "1x4097x4097"}) {
    const Shape problem = load_shapes(shape, kConfigs).front();
    const auto tried = std::ranges::count_if(
        quick.valid, [&](const KernelConfig& config) { return suits(config, problem); });
    EXPECT_GE(tried, 10) << shape;
    EXPECT_LE(tried, 300) << shape;
  }
}

/// What any shipped space for whole problems finds, full finds too.
TEST(ShippedSpaces, FullHasTheOthers) {
  const Shape shape = load_shapes("128x4096x4096", kConfigs).front();
  std::set<std::string> full;
  for (const KernelConfig& config : enumerate(load_space("full", kConfigs), {&shape, 1}).valid)
    full.insert(label(config));
  for (const char* name : {"quick", "decode", "decode-pdl"}) {
    for (const KernelConfig& config : enumerate(load_space(name, kConfigs), {&shape, 1}).valid)
      EXPECT_TRUE(full.contains(label(config))) << name << ": " << label(config);
  }
}

TEST(ShippedSpaces, FullHasEveryValueOfEveryAxis) {
  const Enumeration full = enumerate_shipped("full");
  EXPECT_GE(count_of(full, Dtype::kBf16), 1500);
  EXPECT_LE(full.valid.size(), 11000u);
  const auto axes = axis_values(full.valid);
  EXPECT_THAT(axes.at("bm"), IsSupersetOf({"8", "64", "128", "192", "256", "320", "384"}));
  std::vector<std::string> widths, depths;
  for (int bn = 8; bn <= 256; bn += 8) widths.push_back(std::to_string(bn));
  for (int stages = 2; stages <= kMaxStages; ++stages) depths.push_back(std::to_string(stages));
  EXPECT_THAT(axes.at("bn"), IsSupersetOf(widths));
  EXPECT_THAT(axes.at("q"), IsSupersetOf(depths));
  EXPECT_THAT(axes.at("bk"), IsSupersetOf({"32", "64", "128", "256", "1024"}));
  EXPECT_THAT(axes.at("consumers"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(axes.at("cluster"), ElementsAre("1x1", "1x2", "2x1"));
  EXPECT_THAT(axes.at("d"), ElementsAre("0", "1"));
  EXPECT_THAT(axes.at("order"),
              IsSupersetOf({"linear", "group2", "group4", "group8", "group16", "hilbert"}));
  expect_every_word(axes);
  EXPECT_THAT(axes.at("dtype"), ElementsAre("bf16", "fp16"));
}

TEST(ShippedSpaces, FullContainsQuicksTiles) {
  std::set<std::vector<int>> tiles;
  const auto tile = [](const KernelConfig& c) {
    return std::vector<int>{c.bm, c.bn, static_cast<int>(c.schedule), c.consumers};
  };
  for (const KernelConfig& config : enumerate_shipped("full").valid) tiles.insert(tile(config));
  for (const KernelConfig& config : enumerate_shipped("quick").valid)
    EXPECT_TRUE(tiles.contains(tile(config))) << label(config);
}

// Every M has tiles to try in every shipped space, few rows swapped ones too, and none far too
// tall.
TEST(ShippedSpaces, SuitEveryShape) {
  for (const char* name : {"quick", "full", "decode"}) {
    const std::vector<KernelConfig> configs = enumerate_shipped(name).valid;
    for (const std::int64_t m : {1, 2, 8, 9, 16, 17, 33, 49, 64, 65, 100, 128, 129, 2048}) {
      if (std::string(name) == "decode" && m > 128) continue;
      const Shape shape{.m = m, .n = 4096, .k = 4096, .tag = ""};
      int swapped = 0, others = 0;
      for (const KernelConfig& config : configs) {
        if (!suits(config, shape)) continue;
        if (is_vector(config)) continue;
        ++(is_swapped(config) ? swapped : others);
        EXPECT_EQ(config.dtype, shape.dtype);
        EXPECT_LT(config.bm, shape.m + (is_swapped(config) ? 33 : 64)) << label(config);
      }
      EXPECT_EQ(swapped > 0, m <= 128) << name << ", M = " << m;
      EXPECT_GT(others, 0) << name << ", M = " << m;
    }
  }
}

// ---- Enumeration ----

TEST_F(SpaceFile, OmittedAxesTakeTheirDefaults) {
  EXPECT_THAT(labels(enumerate_text("grids: [{bm: 128, bn: 256, consumers: 2}]")),
              ElementsAre("bm128.bn256.bk64.q4.c1x1.coop2.d1.linear.tma.persist.bf16",
                          "bm128.bn256.bk64.q4.c1x1.coop2.d1.linear.tma.persist.fp16"));
}

TEST_F(SpaceFile, EveryAxisVaries) {
  const Enumeration space = enumerate_text(
      "grids:\n"
      "  - {bm: 64, bn: [64, 80], bk: [32, 64], q: [4, 5], cluster: [1x1, 2x1], consumers: 2,\n"
      "     schedule: [cols, pp], d: [0, 1], order: [hilbert, snake2], epilogue: [tma, late],\n"
      "     a_hint: [none, last], b_hint: [none, first], d_hint: [first, last],\n"
      "     promotion: [64, 256], dtype: bf16}\n");
  EXPECT_TRUE(space.rejected.empty());
  EXPECT_EQ(space.valid.size(), 4096u);
  EXPECT_EQ(labels(space).front(),
            "bm64.bn64.bk32.q4.c1x1.cols2.d0.hilbert.tma.persist.bf16.dfirst.p64");
  EXPECT_EQ(labels(space).back(),
            "bm64.bn80.bk64.q5.c2x1.pp2.d1.snake2.late.persist.bf16.alast.bfirst.dlast");
}

TEST_F(SpaceFile, MaxStagesAreTheMostThatFit) {
  const Enumeration space =
      enumerate_text("grids: [{bm: 128, bn: '64:256:64', consumers: 2, dtype: bf16}]");
  ASSERT_EQ(space.valid.size(), 4u);
  for (KernelConfig config : space.valid) {
    ++config.stages;
    EXPECT_NE(why_invalid(config), Rule::kValid) << label(config);
  }
  // 128 KB a stage: not even the three that d = 1 needs.
  const Enumeration none =
      enumerate_text("grids: [{bm: 384, bn: 128, bk: 128, consumers: 2, dtype: bf16}]");
  EXPECT_TRUE(none.valid.empty());
  EXPECT_THAT(none.rejected, ElementsAre(std::pair(Rule::kSharedMemory, 1)));
}

TEST_F(SpaceFile, DeviceLimitsDecideWhatFits) {
  const Space space = load_space(
      files_.write("space.yaml", "grids: [{bm: 128, bn: 64, consumers: 2, dtype: bf16}]"),
      kConfigs);
  DeviceLimits half;
  half.smem_bytes_per_cta /= 2;
  ASSERT_EQ(enumerate(space, {}, half).valid.size(), 1u);
  EXPECT_LT(enumerate(space, {}, half).valid[0].stages, enumerate(space, {}).valid[0].stages);
}

// A kernel that is made for a problem is tried on no other, and there is one for each.
TEST_F(SpaceFile, FixedPointsAreMadeForEachShape) {
  const Space space = load_space(
      files_.write("space.yaml",
                   "grids: [{bm: 64, bn: 64, q: 4, consumers: 1, fixed: [0, 1], pdl: 1}]"),
      kConfigs);
  const Shape shapes[] = {{.m = 512, .n = 512, .k = 512, .tag = ""},
                          {.m = 100, .n = 8, .k = 16, .dtype = Dtype::kFp16, .tag = ""},
                          {.m = 100, .n = 9, .k = 16, .tag = ""}};
  const Enumeration points = enumerate(space, shapes);
  EXPECT_TRUE(points.rejected.empty());
  const std::string base = "bm64.bn64.bk64.q4.c1x1.coop1.d1.linear.tma.persist.";
  EXPECT_THAT(labels(points),
              ElementsAre(base + "bf16.pdl", base + "fp16.pdl", base + "bf16.pdl.for512x512x512",
                          base + "fp16.pdl.for100x8x16"));
  for (const Shape& shape : shapes) {
    for (const KernelConfig& config : points.valid) {
      const bool same_type = config.dtype == shape.dtype;
      EXPECT_EQ(suits(config, shape), same_type && (!is_fixed(config) || config.m == shape.m) &&
                                          shape.n % 8 == 0 && config.bm < shape.m + kMmaM)
          << label(config) << " at " << to_string(shape);
    }
  }
  EXPECT_EQ(enumerate(space, {}).valid.size(), 2u);
}

// What only odd sizes need is tried on nothing else, and there on what needs it.
TEST_F(SpaceFile, PackingAndStagingAreForOddSizes) {
  const Space space = load_space(
      files_.write("space.yaml",
                   "grids: [{bm: 64, bn: 64, q: 4, consumers: 1, epilogue: [tma, staged], "
                   "pack: [0, 1], dtype: bf16}]"),
      kConfigs);
  const std::vector<KernelConfig> configs = enumerate(space, {}).valid;
  ASSERT_EQ(configs.size(), 4u);
  const auto suiting = [&](const std::string& shape) {
    std::string fields;
    for (const KernelConfig& config : configs) {
      if (!suits(config, load_shapes(shape, kConfigs).front())) continue;
      fields += config.epilogue == Epilogue::kStaged ? " staged" : " tma";
      if (config.pack) fields += "+pack";
    }
    return fields;
  };
  EXPECT_EQ(suiting("64x64x64"), " tma");
  EXPECT_EQ(suiting("64x64x67"), " tma+pack");
  EXPECT_EQ(suiting("64x67x64"), " staged");
  EXPECT_EQ(suiting("67x67x67"), " staged+pack");
  EXPECT_EQ(suiting("64x64x67.lda72.ldb72"), " tma");
  EXPECT_EQ(suiting("64x64x64.ldd65"), " staged");
}

TEST_F(SpaceFile, KernelsForVectorsAreForTheFewestThatFit) {
  const Space space = load_space(
      files_.write(
          "space.yaml",
          "grids: [{bm: [1, 2, 4, 8, 16], bn: 16, schedule: vec, consumers: 2, q: 1, d: 0, "
          "bk: 256, epilogue: direct, walk: single, dtype: bf16}]"),
      kConfigs);
  const std::vector<KernelConfig> configs = enumerate(space, {}).valid;
  ASSERT_EQ(configs.size(), 5u);
  for (const auto& [m, n, expected] :
       {std::tuple{1, 4096, 1}, std::tuple{2, 4096, 2}, std::tuple{3, 4096, 4},
        std::tuple{4096, 5, 8}, std::tuple{4096, 16, 16}, std::tuple{17, 17, 0}}) {
    int found = 0;
    for (const KernelConfig& config : configs) {
      if (suits(config, {.m = m, .n = n, .k = 4097, .tag = ""})) found += config.bm;
    }
    EXPECT_EQ(found, expected) << m << "x" << n;
  }
}

TEST_F(SpaceFile, PointsOfSeveralGridsCountOnce) {
  const Enumeration space = enumerate_text(
      "grids:\n"
      "  - {bm: [64, 100], bn: [8, 16], consumers: 1, q: [max, 4, 16], dtype: bf16}\n"
      "  - {bm: [100, 64], bn: 16, consumers: 1, q: 4, dtype: bf16}\n");
  // max is 16 for both widths.
  EXPECT_EQ(space.valid.size(), 4u);
  EXPECT_EQ(labels(space)[0], "bm64.bn8.bk64.q16.c1x1.coop1.d1.linear.tma.persist.bf16");
  // q 4 and 16, and what max would be: the fewest stages, 3.
  EXPECT_THAT(space.rejected, ElementsAre(std::pair(Rule::kTileM, 6)));
}

TEST_F(SpaceFile, EveryBrokenRuleIsCountedUnderItsName) {
  const auto rule_of = [&](const std::string& grid) {
    const Enumeration space = enumerate_text("grids: [{dtype: bf16, " + grid + "}]");
    EXPECT_TRUE(space.valid.empty()) << grid;
    EXPECT_EQ(space.rejected.size(), 1u) << grid;
    return std::string(rule_text(space.rejected.begin()->first).name);
  };
  EXPECT_EQ(rule_of("bm: 100, bn: 64, consumers: 1"), "tile_m");
  EXPECT_EQ(rule_of("bm: 64, bn: 12, consumers: 1"), "tile_n");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, bk: 48"), "tile_k");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, q: 17"), "stages");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, d: 2"), "mma_depth");
  EXPECT_EQ(rule_of("bm: 256, bn: 64, consumers: 4"), "consumers");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 2"), "consumer_share");
  EXPECT_EQ(rule_of("bm: 64, bn: 72, consumers: 2, schedule: cols"), "consumer_share");
  EXPECT_EQ(rule_of("bm: 64, bn: 72, consumers: 3, schedule: pp"), "consumer_share");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, cluster: 4x1"), "cluster");
  EXPECT_EQ(rule_of("bm: 64, bn: 8, consumers: 1, cluster: 2x1"), "multicast_slice");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, order: group0"), "group");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, order: nsnake65"), "group");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, epilogue: late, walk: single"), "late");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, promotion: 100"), "memory_hint");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, epilogue: direct, d_hint: first"),
            "memory_hint");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, walk: split1"), "splits");
  EXPECT_EQ(rule_of("bm: 64, bn: 64, consumers: 1, ctas: 3"), "ctas_per_sm");
  EXPECT_EQ(rule_of("bm: 128, bn: 256, consumers: 1"), "accumulators");
  EXPECT_EQ(rule_of("bm: 192, bn: 208, consumers: 3"), "operand_registers");
  EXPECT_EQ(rule_of("bm: 128, bn: 256, consumers: 2, q: 5"), "shared_memory");
}

TEST_F(SpaceFile, AxisValuesAreSortedAsNumbersAndOrders) {
  const auto axes = axis_values(
      enumerate_text("grids: [{bm: 64, bn: [104, 8, 16], consumers: 1, q: [10, 9], "
                     "order: [hilbert, nsnake4, group16, snake2, group2, ngroup2, linear], "
                     "promotion: [256, 64]}]")
          .valid);
  EXPECT_THAT(axes.at("bn"), ElementsAre("8", "16", "104"));
  EXPECT_THAT(axes.at("q"), ElementsAre("9", "10"));
  EXPECT_THAT(axes.at("order"), ElementsAre("linear", "group2", "group16", "ngroup2", "snake2",
                                            "nsnake4", "hilbert"));
  EXPECT_THAT(axes.at("promotion"), ElementsAre("64", "256"));
  EXPECT_THAT(axes.at("a_hint"), ElementsAre("none"));
  EXPECT_EQ(axes.size(), 20u);
}

// ---- Bad input ----

TEST_F(SpaceFile, Complaints) {
  EXPECT_THAT(complaint_about("grids:\n  - {bm: 64, bn: 64, consumers: 1, clusters: 2x1}\n"),
              AllOf(StartsWith("2:36: unknown key \"clusters\" in a grid"),
                    EndsWith("did you mean \"cluster\"?")));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, consumers: 1, order: hilbret}]"),
              AllOf(StartsWith("1:47: found \"hilbret\" for order"), EndsWith("\"hilbert\"?")));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, consumers: 1, order: []}]"),
              HasSubstr("an empty list for order"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, consumers: 1, cluster: 2}]"),
              HasSubstr("found \"2\" for cluster; expected 1x1 or 2x1 or 1x2"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, consumers: 1, schedule: {}}]"),
              HasSubstr("found a map for schedule"));
  // What the axis is called that had the name before.
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, consumers: 1, schedule: single}]"),
              HasSubstr("found \"single\" for schedule; expected coop or cols or pp or swap"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, consumers: 1, a_hint: lats}]"),
              AllOf(HasSubstr("found \"lats\" for a_hint"), HasSubstr("none or first or last")));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64, consumers: 1, q: most}]"),
              HasSubstr("found \"most\" for q (or the word max)"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 5000, consumers: 1}]"),
              StartsWith("1:22: found \"5000\" for bn"));
  EXPECT_THAT(complaint_about("grids: [{bm: 64, bn: 64}]"), StartsWith("1:9: no \"consumers\""));
  EXPECT_THAT(complaint_about("grids: []"), HasSubstr("an empty list for grids"));
  EXPECT_THAT(complaint_about("name: mine"), StartsWith("1:1: no \"grids\" in a space file"));
  EXPECT_THAT(complaint_about("grids: [{bm: 1:1024:1, bn: 1:1024:1, consumers: 1}]"),
              HasSubstr("more than 1000000 points"));
}

TEST_F(SpaceFile, MissingSpacesNameTheKnownOnes) {
  try {
    load_space("qick", kConfigs);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("did you mean quick?"), HasSubstr("full, quick, rows, smoke")));
  }
}

TEST_F(SpaceFile, IncludesOtherSpaces) {
  const std::string one =
      files_.write("one.yaml", "grids: [{bm: 64, bn: [64, 72], consumers: 1}]\n");
  const std::string both = files_.write(
      "both.yaml", "include: [smoke, " + one + "]\ngrids: [{bm: 64, bn: 80, consumers: 1}]\n");
  const auto count = [](const std::string& name) {
    return enumerate(load_space(name, kConfigs), {}).valid.size();
  };
  EXPECT_EQ(count(both), count("smoke") + 3 * 2);
  EXPECT_EQ(load_space(both, kConfigs).name, "both");

  EXPECT_THAT(complaint_about("include: qick\ngrids: [{bm: 64, bn: 64, consumers: 1}]"),
              AllOf(StartsWith("1:10: "), HasSubstr("did you mean quick?")));
  // The same twice, by two ways, is no circle; files beside this one are found by their names.
  files_.write("left.yaml", "include: one.yaml");
  files_.write("right.yaml", "include: [one.yaml]");
  EXPECT_EQ(count(files_.write("diamond.yaml", "include: [left.yaml, right.yaml]")), 2u * 2);
  files_.write("a.yaml", "include: b.yaml");
  const std::string circle = files_.write("b.yaml", "include: a.yaml");
  try {
    load_space(circle, kConfigs);
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.yaml:1:10: found include b.yaml, which leads back"));
  }
}

TEST_F(SpaceFile, NameIsTheFilesIfNotGiven) {
  const std::string grids = "grids: [{bm: 64, bn: 64, consumers: 1}]\n";
  EXPECT_EQ(load_space(files_.write("mine.yaml", grids), kConfigs).name, "mine");
  EXPECT_EQ(load_space(files_.write("mine.yaml", grids + "name: other\n"), kConfigs).name, "other");
}

}  // namespace
}  // namespace hgemm
