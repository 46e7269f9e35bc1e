// Space files in the words of the time before kernels had families.
#include "search/legacy_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "search/space.h"
#include "tests/support/scratch_files.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class LegacyGrids : public ::testing::Test {
 protected:
  std::vector<std::string> labels(const std::string& text) {
    const Enumeration space =
        enumerate(load_space(files_.write("space.yaml", "grids:\n" + text), ""));
    EXPECT_THAT(space.rejected, IsEmpty()) << text;
    std::vector<std::string> result;
    for (const KernelConfig& config : space.valid) result.push_back(label(config));
    return result;
  }
  void expect_same(const std::string& was, const std::string& is) {
    const auto configs = labels(is);
    EXPECT_FALSE(configs.empty()) << is;
    EXPECT_EQ(labels(was), configs) << was;
  }
  /// The complaint about a file, without the file's name.
  std::string complaint_about(const std::string& text) {
    const std::string path = files_.write("space.yaml", "grids:\n" + text);
    try {
      load_space(path, "");
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), StartsWith(path + ":"));
      return std::string(error.what()).substr(path.size() + 1);
    }
    return "accepted";
  }

  ScratchFiles files_;
};

TEST_F(LegacyGrids, OfTiledKernelsHaveScheduleAndConsumersTogether) {
  expect_same("  - {bm: 128, bn: 256, consumers: 2}", "  - {bm: 128, bn: 256, schedule: coop2}");
  expect_same("  - {bm: 192, bn: [96, 144], consumers: [2, 3], schedule: cols}",
              "  - {bm: 192, bn: [96, 144], schedule: [cols2, cols3]}");
  expect_same("  - {bm: 128, bn: 128, schedule: [coop, pp], consumers: 2, q: [3, max]}",
              "  - {bm: 128, bn: 128, schedule: [coop2, pp2], q: [3, max]}");
}

TEST_F(LegacyGrids, SayEpilogueForStoreAndWalkForScheduler) {
  expect_same("  - {bm: 128, bn: 128, consumers: 2, epilogue: [direct, tma, staged, late]}",
              "  - {bm: 128, bn: 128, schedule: coop2, store: [direct, tma, staged, overlap]}");
  expect_same("  - {bm: 128, bn: 128, consumers: 2, epilogue: late, walk: dynamic}",
              "  - {bm: 128, bn: 128, schedule: coop2, store: overlap, scheduler: dynamic}");
  expect_same(
      "  - {bm: 64, bn: 64, consumers: 1,\n"
      "     walk: [persist, dynamic, single, csplit4, stream]}",
      "  - {bm: 64, bn: 64, schedule: coop1,\n"
      "     scheduler: [persist, dynamic, single, csplit4, stream]}");
}

// A problem has types, a config has none.
TEST_F(LegacyGrids, OfEitherTypeAreTheSame) {
  for (const char* type : {"bf16", "fp16", "[bf16, fp16]"}) {
    expect_same(std::string("  - {bm: 64, bn: 64, consumers: 1, dtype: ") + type + "}",
                "  - {bm: 64, bn: 64, schedule: coop1}");
  }
}

TEST_F(LegacyGrids, KeepEveryOtherAxis) {
  expect_same(
      "  - {bm: \"64:128:64\", bn: [\"8:24:8\", 40], bk: [32, 64], q: \"3:5:1\", consumers: 1,\n"
      "     cluster: [1x1, 1x2], d: [0, 1], order: [hilbert, nsnake4], a_hint: [none, last],\n"
      "     b_hint: first, d_hint: last, promotion: [64, 128], pdl: 1, fixed: [0, 1]}",
      "  - {bm: \"64:128:64\", bn: [\"8:24:8\", 40], bk: [32, 64], q: \"3:5:1\", schedule: coop1,\n"
      "     cluster: [1x1, 1x2], d: [0, 1], order: [hilbert, nsnake4], a_hint: [none, last],\n"
      "     b_hint: first, d_hint: last, promotion: [64, 128], pdl: 1, fixed: [0, 1]}");
  expect_same(
      "  - {bm: 64, bn: 32, consumers: 1, bk: 128, q: 3, ctas: [1, 2], epilogue: staged, pack: "
      "1}",
      "  - {bm: 64, bn: 32, schedule: coop1, bk: 128, q: 3, ctas: [1, 2], store: staged, pack: 1}");
}

TEST_F(LegacyGrids, OfScheduleSwapAreSwapAb) {
  expect_same(
      "  - {bm: [8, 16], bn: 64, schedule: swap, consumers: 1, bk: 128, q: [3, 5],\n"
      "     walk: [single, csplit2], promotion: 128, pdl: 1}",
      "  - {family: swap_ab, bm: [8, 16], bn: 64, bk: 128, q: [3, 5],\n"
      "     scheduler: [single, csplit2], promotion: 128, pdl: 1}");
  expect_same("  - {bm: \"8:88:8\", bn: 192, schedule: swap, consumers: 3, d: 0, walk: csplit3}",
              "  - {family: swap_ab, bm: \"8:88:8\", bn: 192, d: 0, scheduler: csplit3}");
  expect_same(
      "  - {bm: 16, bn: 128, schedule: swap, consumers: 2, cluster: 1x1, order: linear,\n"
      "     epilogue: [tma, staged], walk: single, pack: 1, b_hint: first, ctas: 2, q: 4}",
      "  - {family: swap_ab, bm: 16, bn: 128, store: [tma, staged], scheduler: single, pack: 1,\n"
      "     b_hint: first, ctas: 2, q: 4}");
  // The depth of a stage was 64 where it was left out, of all kernels.
  EXPECT_THAT(labels("  - {bm: 8, bn: 128, schedule: swap, consumers: 2, walk: csplit8, q: 4}"),
              ElementsAre("swap_ab.bm8.bn128.bk64.q4.d1.tma.csplit8"));
}

TEST_F(LegacyGrids, OfScheduleVecAreGemv) {
  expect_same(
      "  - {bm: [1, 2], bn: [8, 16], schedule: vec, consumers: 2, bk: 1024, q: 2, d: 0,\n"
      "     epilogue: direct, walk: single, ctas: [1, 2]}",
      "  - {family: gemv, vectors: [1, 2], rows: [8, 16], warps: 8, step: 1024, depth: 2,\n"
      "     scheduler: single, ctas: [1, 2]}");
  expect_same(
      "  - {bm: [1, 16], bn: 1, schedule: vec, consumers: [2, 3], bk: [256, 1024], q: 1,\n"
      "     d: 0, epilogue: direct, walk: csplit8, pdl: [0, 1], fixed: 1, dtype: bf16}",
      "  - {family: gemv, vectors: [1, 16], rows: 1, warps: [8, 12], step: [256, 1024],\n"
      "     depth: 1, scheduler: csplit8, pdl: [0, 1], fixed: 1}");
}

TEST_F(LegacyGrids, OfSeveralSchedulesAreGridsOfSeveralFamilies) {
  expect_same("  - {bm: 64, bn: 64, schedule: [coop, swap], consumers: 1, q: 4, walk: single}",
              "  - {bm: 64, bn: 64, schedule: coop1, q: 4, scheduler: single}\n"
              "  - {family: swap_ab, bm: 64, bn: 64, q: 4, scheduler: single}");
}

TEST_F(LegacyGrids, StandBesideThoseOfToday) {
  EXPECT_THAT(labels("  - {bm: 64, bn: 64, consumers: 1, q: 4, epilogue: late}\n"
                     "  - {bm: 64, bn: 64, schedule: coop1, q: 4, store: overlap}\n"
                     "  - {bm: 64, bn: 72, schedule: coop1, q: 4, store: overlap}\n"),
              ElementsAre("bm64.bn64.bk64.q4.c1x1.coop1.d1.linear.overlap.persist",
                          "bm64.bn72.bk64.q4.c1x1.coop1.d1.linear.overlap.persist"));
}

TEST_F(LegacyGrids, MayGiveConsumersAsARange) {
  expect_same("  - {bm: 384, bn: 64, consumers: \"2:3:1\"}",
              "  - {bm: 384, bn: 64, schedule: [coop2, coop3]}");
}

TEST(LegacyGrid, IsToldByTheAxesThatAreNoMore) {
  for (const char* text : {"{consumers: 1}", "{walk: single}", "{epilogue: tma}", "{dtype: bf16}"})
    EXPECT_TRUE(is_legacy_grid(YAML::Load(text))) << text;
  for (const char* text : {"{bm: 64, bn: 64, schedule: coop1}", "{scheduler: single, store: tma}",
                           "{family: gemv, vectors: 1}", "{}", "[consumers]", "consumers"})
    EXPECT_FALSE(is_legacy_grid(YAML::Load(text))) << text;
}

TEST_F(LegacyGrids, AreComplainedAboutWhereTheirValuesStand) {
  EXPECT_THAT(complaint_about("  - {bm: 64, bn: 64, consumers: 1, order: hilbret}"),
              StartsWith("2:43: found \"hilbret\" for order"));
  EXPECT_THAT(complaint_about("  - {bm: 64, bn: 64, consumers: 1, walk: persits}"),
              StartsWith("2:42: found \"persits\" for"));
  EXPECT_THAT(complaint_about("  - {bm: 64, bn: 64, consumers: 1, epilogue: [late, tmb]}"),
              StartsWith("2:53: found \"tmb\" for"));
}

TEST_F(LegacyGrids, AreComplainedAboutByTheirOwnKeys) {
  EXPECT_THAT(complaint_about("  - {bm: 64, bn: 64, consumers: 1, clusters: 2x1}"),
              AllOf(StartsWith("2:36: unknown key \"clusters\""), HasSubstr("\"cluster\"?")));
  EXPECT_THAT(complaint_about("  - {bm: 64, consumers: 1}"), StartsWith("2:5: no \"bn\""));
  EXPECT_THAT(complaint_about("  - {bm: 64, bn: 64, consumers: few}"), StartsWith("2:33: found"));
  EXPECT_THAT(complaint_about("  - {bm: 64, bn: 64, consumers: 1, schedule: rows}"),
              AllOf(StartsWith("2:46: found"),
                    HasSubstr("expected coop or cols or pp or swap or vec; did you mean")));
  EXPECT_THAT(complaint_about("  - {bm: 64, bn: 64, consumers: 1, bn: 72}"),
              StartsWith("2:36: a second \"bn\""));
  EXPECT_THAT(complaint_about("  - {bm: 1, bn: 8, schedule: vec, consumers: few, bk: 256}"),
              StartsWith("2:46: found"));
}

}  // namespace
}  // namespace hgemm
