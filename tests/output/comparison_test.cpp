#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "output/emit.h"

namespace hgemm {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

BestRow winner(const std::string& label, double cublas, const std::string& driver) {
  BestRow row;
  row.problem = {.m = 2048, .n = 4096, .k = 4096, .tag = "prefill/o"};
  row.environment.gpu_name = "NVIDIA H200";
  row.environment.sm_count = 132;
  row.environment.driver = driver;
  row.environment.cuda = "13.0";
  row.environment.cublas = "13.1.0";
  row.started_utc = "2026-11-20T10:00:00Z";
  row.label = label;
  row.stage = Stage::kFinal;
  row.time_us = 100;
  row.cublas = Ratio{cublas, {cublas - 0.002, cublas + 0.002}};
  return row;
}

/// A regression, what was only screened, and a shape that cublas failed at.
Comparison every_kind() {
  ComparedRow slower;
  slower.a = winner("bm128.x", 1.02, "580.1");
  slower.b = winner("bm256.y", 1.0, "590.2");
  slower.b.started_utc = "2026-11-25T10:00:00Z";
  slower.ratio = Change{1.0 / 1.02, {0.978, 0.983}};
  slower.time = Change{0.9, {0.89, 0.91}};
  slower.cycles = Change{0.985, {0.98, 0.99}};
  slower.verdict = ComparedRow::Verdict::kSlower;

  ComparedRow open = slower;
  open.a.problem = open.b.problem = {.m = 16, .n = 4096, .k = 4096, .tag = ""};
  open.a.regime = open.b.regime = Regime::kBurst;
  open.b.label = open.a.label;
  open.b.stage = Stage::kScreen;
  open.same_winner = open.tied = true;
  open.ratio->interval = {kNaN, kNaN};
  open.cycles.reset();
  open.verdict = ComparedRow::Verdict::kUnknown;

  ComparedRow by_time = slower;
  by_time.a.cublas.reset();
  by_time.b.cublas.reset();
  by_time.ratio.reset();
  by_time.time = Change{1.001, {0.999, 1.002}};
  by_time.verdict = ComparedRow::Verdict::kSame;

  Comparison comparison;
  comparison.rows = {slower, open, by_time};
  comparison.repeatability = {{.regime = Regime::kSustained,
                               .problems = 31,
                               .same_winner = 25,
                               .agreeing = 30,
                               .candidates = 214,
                               .median_moved = 0.0014,
                               .largest_moved = 0.012,
                               .median_winner_moved = 0.001,
                               .largest_winner_moved = 0.0196},
                              {.regime = Regime::kBurst,
                               .problems = 1,
                               .same_winner = 1,
                               .agreeing = 1,
                               .candidates = 0,
                               .median_moved = kNaN,
                               .largest_moved = kNaN,
                               .median_winner_moved = kNaN,
                               .largest_winner_moved = kNaN}};
  comparison.only_in_a = {{.m = 64, .n = 64, .k = 64, .tag = ""}};
  comparison.only_in_b = {{.m = 8, .n = 16, .k = 24, .tag = ""},
                          {.m = 8, .n = 16, .k = 32, .tag = ""}};
  comparison.environment_changes = {"driver 580.1 -> 590.2", "revision abc -> def"};
  return comparison;
}

TEST(ComparisonTable, ShowsEveryKindOfRowAndHowResultsRepeat) {
  EXPECT_EQ(format_comparison(every_kind(), Format::kTable),
            R"(A: NVIDIA H200 (132 SMs), driver 580.1, CUDA 13.0, cuBLAS 13.1.0, 2026-11-20
B: NVIDIA H200 (132 SMs), driver 590.2, CUDA 13.0, cuBLAS 13.1.0, 2026-11-25
Different: driver 580.1 -> 590.2, revision abc -> def
shape           tag        regime     config A  config B  time A/B  cycles A/B  A x cuBLAS  B x cuBLAS                       change  verdict
--------------  ---------  ---------  --------  --------  --------  ----------  ----------  ----------  ---------------------------  -------
2048x4096x4096  prefill/o  sustained  bm128.x   bm256.y      0.900       0.985       1.020       1.000         0.980 [0.978, 0.983]  slower
16x4096x4096               burst      bm128.x   same         0.900           -       1.020       1.000             0.980 [screened]  unknown
2048x4096x4096  prefill/o  sustained  bm128.x   bm256.y      1.001       0.985           -           -  1.001 [0.999, 1.002] (time)  same
B against A: 1 slower, 1 unknown, 1 same. Above 1, B is faster; the change is of the ratio to cuBLAS.
sustained: 31 shapes; same winner 25, agreeing (same or each in the other's tie set) 30 (97 %); 214 candidates measured to the end in both: ratio to cuBLAS moved by 0.14 % (median), 1.20 % (largest); the winner's by 0.10 % (median), 1.96 % (largest)
burst: 1 shape; same winner 1, agreeing (same or each in the other's tie set) 1 (100 %)
Only in A: 64x64x64
Only in B: 8x16x24, 8x16x32
)");
}

TEST(ComparisonMarkdown, HasTheSame) {
  const std::string text = format_comparison(every_kind(), Format::kMarkdown);
  EXPECT_THAT(text, StartsWith("A: NVIDIA H200"));
  EXPECT_THAT(text, HasSubstr("\n\n| shape | tag | regime | config A | config B |"));
  EXPECT_THAT(text, HasSubstr("| bm128.x | bm256.y | 0.900 | 0.985 | 1.020 | 1.000 | 0.980 [0.978, "
                              "0.983] | slower |\n"));
  EXPECT_THAT(text, HasSubstr("| bm128.x | same |"));
  EXPECT_THAT(text, HasSubstr("\n\nsustained: 31 shapes;"));
  EXPECT_THAT(text, HasSubstr("\n\nOnly in A: 64x64x64\n\n"));
}

TEST(ComparisonTable, SaysWhenEnvironmentsAreTheSameAndWhenThereIsNothing) {
  Comparison comparison = every_kind();
  comparison.environment_changes.clear();
  EXPECT_THAT(format_comparison(comparison, Format::kTable),
              HasSubstr("The environments are the same.\n"));
  comparison.rows.clear();
  comparison.repeatability.clear();
  const std::string text = format_comparison(comparison, Format::kTable);
  EXPECT_THAT(text, StartsWith("Nothing to compare"));
  EXPECT_THAT(text, HasSubstr("Only in A: 64x64x64"));
}

TEST(ComparisonJson, IsAnObjectOfRowsAndWhatTheyAddUpTo) {
  const std::string text = format_comparison(every_kind(), Format::kJson);
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  const json object = json::parse(text);
  EXPECT_EQ(object.size(), 6u);
  ASSERT_EQ(object["rows"].size(), 3u);
  const json& slower = object["rows"][0];
  EXPECT_EQ(slower["m"], 2048);
  EXPECT_EQ(slower["regime"], "sustained");
  EXPECT_EQ(slower["label_a"], "bm128.x");
  EXPECT_EQ(slower["label_b"], "bm256.y");
  EXPECT_EQ(slower["same_winner"], false);
  EXPECT_EQ(slower["ratio_cublas_a"], 1.02);
  EXPECT_EQ(slower["change"], 1.0 / 1.02);
  EXPECT_EQ(slower["change_low"], 0.978);
  EXPECT_EQ(slower["time_change"], 0.9);
  EXPECT_EQ(slower["cycles_change_high"], 0.99);
  EXPECT_EQ(slower["verdict"], "slower");
  EXPECT_TRUE(object["rows"][1]["change_low"].is_null());
  EXPECT_TRUE(object["rows"][1]["cycles_change"].is_null());
  EXPECT_TRUE(object["rows"][2]["change"].is_null());
  EXPECT_EQ(object["repeatability"][0]["agreeing"], 30);
  EXPECT_EQ(object["repeatability"][0]["largest_moved"], 0.012);
  EXPECT_TRUE(object["repeatability"][1]["median_moved"].is_null());
  EXPECT_EQ(object["only_in_b"], json::array({"8x16x24", "8x16x32"}));
  EXPECT_EQ(object["environment_changes"][0], "driver 580.1 -> 590.2");

  BestRow gone;
  gone.problem = {.m = 8, .n = 16, .k = 40, .tag = ""};
  gone.trials = 3;
  Comparison worse;
  worse.lost = {gone};
  EXPECT_EQ(json::parse(format_comparison(worse, Format::kJson))["lost"],
            json::parse(R"([{"shape": "8x16x40", "regime": "sustained"}])"));
  EXPECT_THAT(format_comparison(worse, Format::kTable),
              testing::HasSubstr("Lost in B: 8x16x40 sustained: none of 3 configs is ok any more"));

  const json nothing = json::parse(format_comparison({}, Format::kJson));
  for (const auto& [key, value] : nothing.items()) EXPECT_EQ(value, json::array()) << key;
}

TEST(ComparisonCsv, HasTheRows) {
  const std::string text = format_comparison(every_kind(), Format::kCsv);
  EXPECT_THAT(text,
              StartsWith("m,n,k,dtype,layout,lda,ldb,ldd,data,tag,regime,label_a,label_b,same_"
                         "winner,tied,time_us_a,"
                         "time_us_b,ratio_cublas_a,ratio_cublas_b,change,change_low,change_high,"
                         "time_change,time_change_low,time_change_high,cycles_change,"
                         "cycles_change_low,cycles_change_high,verdict,problem\n"
                         "2048,4096,4096,bf16,TN,4096,4096,4096,normal,prefill/"
                         "o,sustained,bm128.x,bm256.y,false,false,"
                         "100.0,100.0,1.02,1.0,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

}  // namespace
}  // namespace hgemm
