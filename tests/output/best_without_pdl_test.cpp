// The columns and the note of the best config without PDL.
#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "families/family.h"
#include "output/emit.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kOff = label(TiledConfig{});
const std::string kPdl = label(TiledConfig{.pdl = true});
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Ratio ratio(double value) { return {value, {value - 0.002, value + 0.003}}; }

BestRow measured(std::int64_t m, const std::string& label, double cublas, double cublaslt) {
  BestRow row;
  row.problem = {.m = m, .n = 4096, .k = 4096, .tag = ""};
  row.environment.gpu_name = "NVIDIA H200";
  row.environment.sm_count = 132;
  row.started_utc = "2026-11-20T10:00:00Z";
  row.label = label;
  row.stage = Stage::kFinal;
  row.time_us = 100;
  row.tflops = 600;
  row.cublas = ratio(cublas);
  row.cublaslt = ratio(cublaslt);
  row.verified = true;
  row.trials = 250;
  return row;
}

BestRow with(BestRow row, double cublas, double cublaslt, Stage stage = Stage::kFinal) {
  row.without_pdl = WithoutPdl{.label = kOff,
                               .stage = stage,
                               .time_us = 125,
                               .cublas = ratio(cublas),
                               .cublaslt = ratio(cublaslt)};
  if (stage == Stage::kFinal) return row;
  row.without_pdl->time_us.reset();
  row.without_pdl->cublas->interval = row.without_pdl->cublaslt->interval = {kNaN, kNaN};
  return row;
}

/// A winner without PDL, two leads by PDL of which one is only screened without it, and a lead that
/// does not need PDL.
std::vector<BestRow> four() {
  return {with(measured(128, kOff, 1.02, 1.01), 1.02, 1.01),
          with(measured(256, kPdl, 1.2, 1.1), 1.05, 0.95),
          with(measured(512, kPdl, 1.2, 1.1), 0.9, 0.92, Stage::kScreen),
          with(measured(1024, kPdl, 1.3, 1.2), 1.1, 1.05)};
}

TEST(BestWithoutPdl, HasColumnsBesideThoseOfTheWinner) {
  const std::string text = format_best(four(), Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| x cuBLAS | x cuBLASLt | x cuBLAS no PDL | x cuBLASLt no PDL | %"));
  EXPECT_THAT(text, HasSubstr("| 1.020 [1.018, 1.023] | 1.010 [1.008, 1.013] "
                              "| 1.020 [1.018, 1.023] | 1.010 [1.008, 1.013] |"));
  EXPECT_THAT(text, HasSubstr("| 1.200 [1.198, 1.203] | 1.100 [1.098, 1.103] "
                              "| 1.050 [1.048, 1.053] | 0.950 [0.948, 0.953] |"));
  EXPECT_THAT(text, HasSubstr("| 0.900 [screened] | 0.920 [screened] |"));
  EXPECT_THAT(text, HasSubstr("| 1.176 | 1.100 | 1.015 | 0.981 |")) << "the geomeans";
}

TEST(BestWithoutPdl, ALeadByPdlIsCalledThat) {
  const char* note =
      "At 2 of 4 shapes the lead is by PDL: without it the best library is ahead (1 only screened "
      "without it).\n";
  EXPECT_THAT(format_best(four(), Format::kTable), HasSubstr(note));
  auto rows = four();
  for (BestRow& row : rows) row.cublaslt->value = 0.99;
  EXPECT_THAT(format_best(rows, Format::kTable), Not(HasSubstr("by PDL")))
      << "who is behind the best library has no lead";
}

TEST(BestWithoutPdl, SaysWhereALeadIsOfUnknownKind) {
  auto rows = four();
  rows[1].without_pdl.reset();
  const std::string text = format_best(rows, Format::kTable);
  EXPECT_THAT(text, HasSubstr("At 1 of 4 shapes the lead is by PDL"));
  EXPECT_THAT(text, HasSubstr("At 1 of 4 shapes the winner has PDL and no config without PDL was "
                              "measured, so it is not known whether the lead is by PDL.\n"));
}

TEST(BestWithoutPdl, HasNoColumnsWhereAllWinnersAreWithout) {
  auto rows = four();
  rows.resize(1);
  std::string text = format_best(rows, Format::kTable);
  EXPECT_THAT(text, Not(HasSubstr("no PDL")));
  EXPECT_THAT(text, Not(HasSubstr("by PDL")));
  Style style;
  style.columns = {"shape", "pdl_off_label", "x cuBLAS no PDL"};
  text = format_best(rows, style);
  EXPECT_THAT(text, HasSubstr("x cuBLAS no PDL")) << "unless they are asked for";
  EXPECT_THAT(text, HasSubstr(kOff));
}

TEST(BestWithoutPdl, EachRegimeHasItsOwn) {
  auto rows = four();
  rows[1].problem = rows[0].problem;
  rows[1].regime = Regime::kBurst;
  rows.resize(2);
  const std::string text = format_best(rows, Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| x cuBLASLt | SM MHz | burst: config |")) << "no winner with PDL";
  EXPECT_THAT(text, HasSubstr("| x cuBLASLt | x cuBLAS no PDL | x cuBLASLt no PDL | SM MHz |\n"));
  EXPECT_THAT(text, HasSubstr("At 1 of 1 shapes in burst the lead is by PDL"));
}

TEST(BestWithoutPdl, HasAWeightedTotalOfItsOwnTimes) {
  auto rows = four();
  rows.resize(2);
  rows[1].problem.m = rows[0].problem.m;
  rows[1].problem.n = 8192;
  rows[1].problem.weight = 4;
  // (125 x 1.02 + 4 x 125 x 1.05) / (5 x 125); the winners': (1.02 + 4 x 1.2) / 5.
  EXPECT_THAT(format_best(rows, Format::kMarkdown),
              HasSubstr("| 500.00 |  | 1.164 | 1.082 | 1.044 | 0.962 |"));
  rows[1].without_pdl->time_us.reset();
  EXPECT_THAT(format_best(rows, Format::kMarkdown), HasSubstr("| 1.164 | 1.082 | - | - |"));
}

TEST(BestWithoutPdl, ProgramsGetItsLabelTimeAndRatios) {
  auto rows = four();
  rows.push_back(measured(2048, kPdl, 1.1, 1.1));
  const auto json = nlohmann::json::parse(format_best(rows, Format::kJson));
  EXPECT_EQ(json[0]["pdl_off_label"], json[0]["label"]);
  EXPECT_EQ(json[1]["label"], kPdl);
  EXPECT_EQ(json[1]["pdl_off_label"], kOff);
  EXPECT_EQ(json[1]["pdl_off_time_us"], 125);
  EXPECT_EQ(json[1]["pdl_off_ratio_cublas"], 1.05);
  EXPECT_EQ(json[1]["pdl_off_ratio_cublas_low"], 1.05 - 0.002);
  EXPECT_EQ(json[1]["pdl_off_ratio_cublas_high"], 1.05 + 0.003);
  EXPECT_EQ(json[1]["pdl_off_ratio_cublaslt"], 0.95);
  EXPECT_EQ(json[2]["pdl_off_ratio_cublas"], 0.9);
  EXPECT_TRUE(json[2]["pdl_off_ratio_cublas_low"].is_null()) << "screened: no interval";
  EXPECT_TRUE(json[2]["pdl_off_time_us"].is_null());
  for (const char* key : {"pdl_off_label", "pdl_off_time_us", "pdl_off_ratio_cublas"}) {
    EXPECT_TRUE(json[4][key].is_null()) << key;
  }
}

}  // namespace
}  // namespace hgemm
