#include "output/emit.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "families/family.h"

namespace hgemm {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kSafeLabel = label(TiledConfig{.pdl = true});
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Environment environment() {
  Environment e;
  e.gpu_name = "NVIDIA H200";
  e.sm_count = 132;
  e.driver = "580.1";
  e.cuda = "13.0";
  e.cublas = "13.1.0";
  return e;
}

BestRow measured(const GemmProblem& problem, const std::string& label, double cublas,
                 double cublaslt) {
  BestRow row;
  row.problem = problem;
  row.environment = environment();
  row.started_utc = "2026-11-20T10:00:00Z";
  row.label = label;
  row.stage = Stage::kFinal;
  row.time_us = 100.126;
  row.tflops = 687.25;
  row.cublas = Ratio{cublas, {cublas - 0.002, cublas + 0.003}};
  row.cublaslt = Ratio{cublaslt, {cublaslt - 0.002, cublaslt + 0.003}};
  row.sm_mhz = 1605.4;
  row.peak_fraction = 0.7923;
  row.verified = true;
  row.trials = 250;
  return row;
}

/// Each kind of row: measured, tied, only screened, none ok, never recorded.
std::vector<BestRow> every_kind() {
  BestRow qkv =
      measured({.m = 2048, .n = 12288, .k = 4096, .tag = "prefill/qkv"}, "bm128.x", 1.02, 1.0);
  BestRow logits = measured({.m = 2048, .n = 32000, .k = 4096, .tag = "prefill/logits|all"},
                            "bm256.x", 0.98, 0.96);
  logits.ties = {"bm128.y", "bm128.z"};
  logits.cublas_time_us = 98.12;
  logits.cublaslt_time_us = 96.12;
  logits.cublaslt_label = "cublaslt.3";
  BestRow screened =
      measured({.m = 16, .n = 4096, .k = 4096, .tag = "decode/o"}, "bm64.x", 0.5, 0.4);
  screened.stage = Stage::kScreen;
  screened.cublas->interval = {kNaN, kNaN};
  screened.cublaslt.reset();
  BestRow none;
  none.problem = {.m = 3, .n = 5, .k = 7, .tag = "odd, \"one\""};
  none.problem.set_types(DataType::kFp16);
  none.environment = environment();
  none.started_utc = "2026-11-21T09:00:00Z";
  none.trials = 12;
  none.failed = 2;
  BestRow never;
  never.problem = {.m = 64, .n = 64, .k = 64, .tag = ""};
  return {qkv, logits, screened, none, never};
}

TEST(Table, ShowsEveryKindOfRow) {
  EXPECT_EQ(
      format_best(every_kind(), Format::kTable),
      R"(NVIDIA H200 (132 SMs), driver 580.1, CUDA 13.0, cuBLAS 13.1.0, 2026-11-20 to 2026-11-21, sustained
shape            tag                 config                           time us  TFLOP/s              x cuBLAS            x cuBLASLt  % peak or TB/s  SM MHz  ties
---------------  ------------------  -------------------------------  -------  -------  --------------------  --------------------  --------------  ------  ----
2048x12288x4096  prefill/qkv         bm128.x                           100.13    687.2  1.020 [1.018, 1.023]  1.000 [0.998, 1.003]            79.2    1605     0
2048x32000x4096  prefill/logits|all  bm256.x                           100.13    687.2  0.980 [0.978, 0.983]  0.960 [0.958, 0.963]            79.2    1605     2
16x4096x4096     decode/o            bm64.x                            100.13    687.2      0.500 [screened]                     -       0.34 TB/s    1605     -
3x5x7.fp16       odd, "one"          none ok (12 recorded, 2 failed)        -        -                     -                     -               -       -     -
---------------  ------------------  -------------------------------  -------  -------  --------------------  --------------------  --------------  ------  ----
geomean of prefill, 2 shapes, M = 2048                                                                 1.000                 0.980
geomean of all, 3 shapes (1 only screened), M = 16, 2048                                               0.794                 0.980
Never recorded: 64x64x64
)");
}

TEST(Table, KeepsEnvironmentsApart) {
  auto rows = every_kind();
  rows[1].environment.driver = "590.2";
  const std::string text = format_best(rows, Format::kTable);
  EXPECT_THAT(text, HasSubstr("driver 580.1"));
  EXPECT_THAT(text, HasSubstr("\n\nNVIDIA H200 (132 SMs), driver 590.2"));
  EXPECT_THAT(text, Not(HasSubstr("geomean of prefill, 2"))) << "no mean over two drivers";
}

TEST(Table, SaysWhereAKernelWasNotVerifiedOrRoundsWereFew) {
  BestRow row = every_kind()[0];
  row.verified = false;
  row.cublas->interval = {kNaN, kNaN};
  const std::string text = format_best({&row, 1}, Format::kTable);
  EXPECT_THAT(text, HasSubstr("bm128.x (not verified)"));
  EXPECT_THAT(text, HasSubstr("1.020 [few rounds]"));
}

TEST(Table, AlignsTagsOfAnyAlphabet) {
  auto rows = every_kind();
  rows.resize(2);
  rows[0].problem.tag = "größe";
  rows[1].problem.tag = "plain";
  const std::string text = format_best(rows, Format::kTable);
  EXPECT_THAT(text, HasSubstr("  größe  bm128.x"));
  EXPECT_THAT(text, HasSubstr("  plain  bm256.x"));
}

/// One pass of a small model: 3 x 10 us and 1 x 50 us, against cuBLAS' 3 x 20 us and 1 x 40 us.
std::vector<BestRow> one_pass() {
  auto rows = every_kind();
  rows.resize(3);
  rows[0].problem.weight = 3;
  rows[0].time_us = 10;
  rows[0].cublas->value = 2;
  rows[0].cublaslt->value = 1;
  rows[1].time_us = 50;
  rows[1].cublas->value = 0.8;
  rows[1].cublaslt->value = 1;
  return rows;
}

TEST(WeightedTotal, IsTimeAndRatioOfRunningEachShapeAsOftenAsItOccurs) {
  EXPECT_THAT(
      format_best(one_pass(), Format::kMarkdown),
      HasSubstr(
          "| geomean of all, 3 shapes (1 only screened), M = 16, 2048 |  |  |  |  | 0.928 | 1.000 "
          "|  |  |  |\n"
          "| weighted total of prefill, 2 shapes, M = 2048 (cuBLAS 100.00 us) |  |  | 80.00 |  | "
          "1.250 | 1.000 |  |  |  |\n"));
  auto rows = one_pass();
  rows.resize(2);  // one group only
  rows[1].cublaslt.reset();
  EXPECT_THAT(format_best(rows, Format::kMarkdown),
              HasSubstr("M = 2048 (cuBLAS 100.00 us) |  |  | 80.00 |  | 1.250 | - |"));
}

/// A model's prefill at M = 2048 and its decoding at M = 1 and 16, all under one tag or none.
std::vector<BestRow> passes_of_several_m(const std::string& tag) {
  std::vector<BestRow> rows;
  for (const std::int64_t m : {2048, 1, 16}) {
    for (const double weight : {32.0, 1.0}) {
      BestRow row = measured({.m = m, .n = weight > 1 ? 4096 : 32000, .k = 4096, .tag = tag},
                             "bm128.x", m == 1 ? 2 : 1.25, 1.0);
      row.time_us = m == 2048 ? 1000 : 10;
      row.problem.weight = weight;
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(WeightedTotal, NeverAddsUpRowsOfSeveralM) {
  for (const std::string tag : {"", "llama"}) {
    const std::string text = format_best(passes_of_several_m(tag), Format::kMarkdown);
    const std::string of = tag.empty() ? "of " : "of llama, ";
    EXPECT_THAT(text,
                HasSubstr("| weighted total " + of +
                          "2 shapes, M = 2048 (cuBLAS 41250.00 us) |  |  | 33000.00 |  | 1.250"));
    EXPECT_THAT(text, HasSubstr("| weighted total " + of +
                                "2 shapes, M = 1 (cuBLAS 660.00 us) |  |  | 330.00 |  | 2.000 |"));
    EXPECT_THAT(text, HasSubstr("| weighted total " + of +
                                "2 shapes, M = 16 (cuBLAS 412.50 us) |  |  | 330.00 |  | 1.250 |"));
    EXPECT_THAT(text, HasSubstr("| geomean " + of + "6 shapes, M = 1, 16, 2048 |"));
    EXPECT_THAT(text, Not(HasSubstr("33660"))) << "what only makes sense for one phase";
  }
}

TEST(WeightedTotal, KeepsPhasesOfOneMApart) {
  auto rows = passes_of_several_m("prefill/x");
  for (BestRow& row : rows) {
    if (row.problem.m == 2048) continue;
    row.problem.m = 2048;
    row.problem.n += row.problem.weight > 1 ? 8 : 16;
    row.problem.tag = "decode/x";
  }
  rows.resize(4);
  const std::string text = format_best(rows, Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("weighted total of prefill, 2 shapes, M = 2048"));
  EXPECT_THAT(text, HasSubstr("weighted total of decode, 2 shapes, M = 2048"));
}

TEST(WeightedTotal, IsLeftOutWhereItWouldSayNothingOrNotAll) {
  const auto has_none = [](const std::vector<BestRow>& rows, const char* why) {
    EXPECT_THAT(format_best(rows, Format::kTable), Not(HasSubstr("weighted total"))) << why;
  };
  ASSERT_THAT(format_best(one_pass(), Format::kTable), HasSubstr("weighted total"));
  auto rows = one_pass();
  rows[1].problem.weight = 3;
  has_none(rows, "equal weights");
  rows = one_pass();
  rows[1].cublas.reset();
  has_none(rows, "nothing to compare one of them with");
  rows = one_pass();
  rows[1].label.reset();
  rows[1].time_us.reset();
  has_none(rows, "one has no time");
  rows = one_pass();
  rows[1].environment.driver = "590.2";
  has_none(rows, "two drivers");
  rows = one_pass();
  rows.emplace_back().problem = {.m = 2048, .n = 64, .k = 64, .tag = "prefill/ffn"};
  has_none(rows, "one was never recorded");
}

TEST(Table, HasAShareOfPeakOnlyWhereArithmeticCounts) {
  BestRow row = every_kind()[0];
  const auto text = [&row](std::int64_t m) {
    row.problem.m = m;
    return format_best({&row, 1}, Format::kTable);
  };
  for (const std::int64_t m : {1, 16, 32}) EXPECT_THAT(text(m), Not(HasSubstr("79.2"))) << m;
  for (const std::int64_t m : {64, 2048}) EXPECT_THAT(text(m), HasSubstr("79.2")) << m;
}

TEST(Table, HasEnergyColumnsWhereAnyRowHasEnergy) {
  auto rows = every_kind();
  rows.resize(2);
  EXPECT_THAT(format_best(rows, Format::kMarkdown), Not(HasSubstr("J/GEMM")));
  rows[0].joules = 0.5;
  rows[0].cublas_joules = 0.55;
  const std::string text = format_best(rows, Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| SM MHz | J/GEMM | GFLOP/J | x cuBLAS J | ties |"));
  EXPECT_THAT(text, HasSubstr("| 1605 | 0.5 | 412.3 | 1.100 | 0 |"));
  EXPECT_THAT(text, HasSubstr("| 1605 | - | - | - | 2 |"));
  EXPECT_THAT(
      text,
      HasSubstr("| geomean of prefill, 2 shapes, M = 2048 |  |  |  |  | 1.000 | 0.980 |  |  |  "
                "|  | 1.100 |  |"));
}

TEST(Table, SaysWhereAFaultSlowedTheGpu) {
  auto rows = every_kind();
  rows.resize(2);
  rows[0].clock_events = clock_event::kPowerCap;
  EXPECT_THAT(format_best(rows, Format::kTable), Not(HasSubstr("slowed")))
      << "the power cap belongs to the regime";
  rows[1].clock_events = clock_event::kPowerCap | clock_event::kThermal;
  EXPECT_THAT(format_best(rows, Format::kTable),
              EndsWith("not what it can do: 2048x32000x4096 prefill/logits|all in "
                       "sustained (thermal)\n"));
}

/// Two shapes in both regimes, and one in burst only: the first with one winner, the second with a
/// winner for each regime, of which burst's lost clearly in sustained.
std::vector<BestRow> both_regimes() {
  const auto in_burst = [](BestRow row) {
    row.regime = Regime::kBurst;
    row.time_us = 80;
    row.tflops = 860;
    row.sm_mhz = 1905;
    return row;
  };
  auto rows = every_kind();
  BestRow qkv = rows[0], logits = rows[1], small = in_burst(rows[2]);
  logits.finalists = {{"bm256.x", logits.cublas, Ratio{1, {1, 1}}, {}},
                      {"bm192.w", Ratio{0.96, {0.95, 0.97}}, Ratio{0.979, {0.97, 0.98}}, {}}};
  BestRow qkv_burst = in_burst(qkv), logits_burst = in_burst(logits);
  qkv_burst.cublas->value = 1.1;
  logits_burst.label = "bm192.w";
  logits_burst.cublas = Ratio{1.05, {1.04, 1.06}};
  logits_burst.ties = {"bm256.x"};
  logits_burst.finalists = {{"bm192.w", logits_burst.cublas, Ratio{1, {1, 1}}, {}},
                            {"bm256.x", Ratio{1.049, {1.04, 1.05}}, Ratio{0.999, {0.99, 1}}, {}}};
  return {qkv, qkv_burst, logits, logits_burst, small};
}

TEST(BothRegimes, StandSideBySide) {
  EXPECT_EQ(
      format_best(both_regimes(), Format::kMarkdown),
      R"(NVIDIA H200 (132 SMs), driver 580.1, CUDA 13.0, cuBLAS 13.1.0, 2026-11-20, sustained and burst

| shape | tag | sustained: config | time us | TFLOP/s | x cuBLAS | x cuBLASLt | SM MHz | burst: config | time us | TFLOP/s | x cuBLAS | x cuBLASLt | SM MHz |
|---|---|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|
| 2048x12288x4096 | prefill/qkv | bm128.x | 100.13 | 687.2 | 1.020 [1.018, 1.023] | 1.000 [0.998, 1.003] | 1605 | same | 80.00 | 860.0 | 1.100 [1.018, 1.023] | 1.000 [0.998, 1.003] | 1905 |
| 2048x32000x4096 | prefill/logits\|all | bm256.x | 100.13 | 687.2 | 0.980 [0.978, 0.983] | 0.960 [0.958, 0.963] | 1605 | bm192.w | 80.00 | 860.0 | 1.050 [1.040, 1.060] | 0.960 [0.958, 0.963] | 1905 |
| 16x4096x4096 | decode/o | - | - | - | - | - | - | bm64.x | 80.00 | 860.0 | 0.500 [screened] | - | 1905 |
| geomean of prefill, 2 shapes, M = 2048 |  |  |  |  | 1.000 | 0.980 |  |  |  |  | 1.075 | 0.980 |  |
| geomean of all, sustained 2 shapes, burst 3 shapes (1 only screened), M = 16, 2048 |  |  |  |  | 1.000 | 0.980 |  |  |  |  | 0.833 | 0.980 |  |

The winner differs between regimes at 1 of 2 shapes:

- 2048x32000x4096 prefill/logits|all: sustained bm256.x (0.999x the winner in burst, a tie); burst bm192.w (0.979x the winner in sustained)
)");
}

TEST(BothRegimes, SayHowWinnersDoInTheOthersRegime) {
  auto rows = both_regimes();
  const auto note = [&rows] { return format_best(rows, Format::kTable); };
  EXPECT_THAT(note(), HasSubstr("\nThe winner differs between regimes at 1 of 2 shapes:\n- 2048"));
  rows[2].ties = {"bm192.w"};
  EXPECT_THAT(note(), HasSubstr("(at 1 of them each is in the other's tie set):\n"));
  rows[2].finalists.pop_back();
  rows[2].ties.clear();
  EXPECT_THAT(note(), HasSubstr("burst bm192.w (not measured to the end in sustained)"));
  rows[3].finalists[1].winner.reset();
  EXPECT_THAT(note(), HasSubstr("in another race than the winner in burst, by cuBLAS 0.999x it"));
  rows[3].label = rows[2].label;
  EXPECT_THAT(note(), HasSubstr("The winner is the same in both regimes at 2 of 2 shapes."));
}

TEST(Table, CountsCardsAndStatesOfTheSourcesWhereSeveralAnswer) {
  std::vector<BestRow> rows = {every_kind()[0], every_kind()[0]};
  const auto context = [&rows] {
    const std::string text = format_best(rows, Format::kTable);
    return text.substr(0, text.find('\n'));
  };
  for (BestRow& row : rows) {
    row.run.gpu_uuid = "GPU-05fd";
    row.run.kernel_sources = "k1";
  }
  EXPECT_THAT(context(), EndsWith("cuBLAS 13.1.0, 2026-11-20, sustained"));
  rows[1].run.gpu_uuid = "GPU-7693";
  EXPECT_THAT(context(), EndsWith("cuBLAS 13.1.0, 2 cards, 2026-11-20, sustained"))
      << "one table: they are of one model";
  rows[1].run.kernel_sources = "k2";
  EXPECT_THAT(context(),
              EndsWith("2 cards, 2026-11-20, sustained, 2 states of the kernel sources"));
}

TEST(BothRegimes, OfOneEnvironmentOnlyShareATable) {
  auto rows = both_regimes();
  for (BestRow& row : rows) {
    if (row.regime == Regime::kBurst) row.environment.driver = "590.2";
  }
  const std::string text = format_best(rows, Format::kTable);
  EXPECT_THAT(text, HasSubstr("2026-11-20, sustained\n"));
  EXPECT_THAT(text, HasSubstr("driver 590.2, CUDA 13.0, cuBLAS 13.1.0, 2026-11-20, burst\n"));
  EXPECT_THAT(text, Not(HasSubstr("differs")));
}

TEST(BothRegimes, HaveAWeightedTotalEachAndEnergyWhereItWasMeasured) {
  auto rows = both_regimes();
  rows[0].problem.weight = rows[1].problem.weight = 3;
  rows[0].joules = 0.5;
  rows[0].cublas_joules = 0.55;
  std::string text = format_best(rows, Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| SM MHz | J/GEMM | GFLOP/J | x cuBLAS J | burst: config |"));
  EXPECT_THAT(text,
              ::testing::ContainsRegex("weighted total of prefill, 2 shapes, M = 2048 .cuBLAS "
                                       "404.51 us, 348.00 us. .* 400.50 .* 320.00 "));
  rows[3].time_us.reset();
  text = format_best(rows, Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("| weighted total of prefill, sustained 2 shapes, M = 2048 (cuBLAS "
                              "404.51 us) |  |  | 400.50 |"));
  EXPECT_THAT(text, Not(HasSubstr("320.00"))) << "one of burst's has no time";
}

TEST(Markdown, ShowsEveryKindOfRow) {
  EXPECT_EQ(
      format_best(every_kind(), Format::kMarkdown),
      R"(NVIDIA H200 (132 SMs), driver 580.1, CUDA 13.0, cuBLAS 13.1.0, 2026-11-20 to 2026-11-21, sustained

| shape | tag | config | time us | TFLOP/s | x cuBLAS | x cuBLASLt | % peak or TB/s | SM MHz | ties |
|---|---|---|---:|---:|---:|---:|---:|---:|---:|
| 2048x12288x4096 | prefill/qkv | bm128.x | 100.13 | 687.2 | 1.020 [1.018, 1.023] | 1.000 [0.998, 1.003] | 79.2 | 1605 | 0 |
| 2048x32000x4096 | prefill/logits\|all | bm256.x | 100.13 | 687.2 | 0.980 [0.978, 0.983] | 0.960 [0.958, 0.963] | 79.2 | 1605 | 2 |
| 16x4096x4096 | decode/o | bm64.x | 100.13 | 687.2 | 0.500 [screened] | - | 0.34 TB/s | 1605 | - |
| 3x5x7.fp16 | odd, "one" | none ok (12 recorded, 2 failed) | - | - | - | - | - | - | - |
| geomean of prefill, 2 shapes, M = 2048 |  |  |  |  | 1.000 | 0.980 |  |  |  |
| geomean of all, 3 shapes (1 only screened), M = 16, 2048 |  |  |  |  | 0.794 | 0.980 |  |  |  |

Never recorded: 64x64x64
)");
}

TEST(ForPeople, NothingRecordedSaysWhatToRun) {
  for (const Format format : {Format::kTable, Format::kMarkdown}) {
    EXPECT_THAT(format_best({}, format), HasSubstr("hgemm-tune --shapes"));
  }
}

/// The same with labels that are configs': programs are told the kind of their PDL.
std::vector<BestRow> for_programs() {
  auto rows = every_kind();
  rows[0].label = label(TiledConfig{});
  rows[0].kernel_id = "c0de";
  rows[1].label = kSafeLabel;
  rows[2].label = label(SwapAbConfig{.pdl = true});
  return rows;
}

TEST(JsonOutput, HasTheseKeysInThisOrder) {
  const auto list = nlohmann::ordered_json::parse(format_best(for_programs(), Format::kJson));
  ASSERT_EQ(list.size(), 5u);
  const std::string expected =
      "m n k dtype layout lda ldb ldd data tag regime label time_us tflops ratio_cublas "
      "ratio_cublas_low ratio_cublas_high ratio_cublaslt ratio_cublaslt_low ratio_cublaslt_high "
      "sm_mhz peak_fraction memory_tbps joules gflops_per_joule verified ties cublas_time_us "
      "cublaslt_time_us cublaslt_label ratio_cublas_cycles cublas_joules cublaslt_joules "
      "clock_events effort problem a_dtype b_dtype d_dtype batch scaling epilogue c_dtype pdl "
      "kernel_id gpu driver cuda cublas date ratio_cublas_joules pdl_off_label pdl_off_time_us "
      "pdl_off_ratio_cublas pdl_off_ratio_cublas_low pdl_off_ratio_cublas_high "
      "pdl_off_ratio_cublaslt pdl_off_ratio_cublaslt_low pdl_off_ratio_cublaslt_high host_us "
      "kernel_us cublas_host_us cublas_kernel_us cublaslt_host_us cublaslt_kernel_us card "
      "confirmed second_card second_card_label neighbours cublaslt_epilogue stride_a stride_b "
      "stride_d products accumulator d_scaling price any_kind_label error cublas_error";
  for (const auto& object : list) {
    std::string keys;
    for (const auto& [key, value] : object.items()) keys += (keys.empty() ? "" : " ") + key;
    EXPECT_EQ(keys, expected);
  }
}

TEST(JsonOutput, HasFullNumbersAndNullWhereNothingWasMeasured) {
  const std::string text = format_best(for_programs(), Format::kJson);
  const json list = json::parse(text);
  EXPECT_EQ(list[1]["m"], 2048);
  EXPECT_EQ(list[1]["dtype"], "bf16");
  EXPECT_EQ(list[1]["layout"], "TN");
  EXPECT_EQ(list[1]["tag"], "prefill/logits|all");
  EXPECT_EQ(list[1]["regime"], "sustained");
  EXPECT_EQ(list[1]["label"], kSafeLabel);
  EXPECT_EQ(list[1]["time_us"], 100.126);
  EXPECT_EQ(list[1]["ratio_cublas"], 0.98);
  EXPECT_EQ(list[1]["ratio_cublaslt_high"], 0.96 + 0.003);
  EXPECT_EQ(list[1]["peak_fraction"], 0.7923);
  EXPECT_EQ(list[1]["verified"], true);
  EXPECT_EQ(list[1]["ties"], json::array({"bm128.y", "bm128.z"}));
  EXPECT_TRUE(list[1]["joules"].is_null());
  EXPECT_EQ(list[1]["cublas_time_us"], 98.12);
  EXPECT_EQ(list[1]["cublaslt_time_us"], 96.12);
  EXPECT_EQ(list[1]["cublaslt_label"], "cublaslt.3");

  EXPECT_EQ(list[2]["ratio_cublas"], 0.5);
  EXPECT_TRUE(list[2]["ratio_cublas_low"].is_null()) << "screened: no interval";
  EXPECT_TRUE(list[2]["ratio_cublaslt"].is_null());
  EXPECT_EQ(list[2]["peak_fraction"], 0.7923) << "left out for people only";
  for (const char* key : {"label", "time_us", "tflops", "ratio_cublas", "sm_mhz", "cublas_time_us",
                          "cublaslt_label"}) {
    EXPECT_TRUE(list[3][key].is_null()) << key;
    EXPECT_TRUE(list[4][key].is_null()) << key;
  }
  EXPECT_EQ(list[4]["ties"], json::array());
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("NaN")));
  EXPECT_EQ(json::parse(format_best({}, Format::kJson)), json::array());
}

TEST(JsonOutput, SaysWhatWasComputedByWhichKernelAndWhere) {
  auto rows = for_programs();
  rows[0].problem.d_type = DataType::kFp32;
  rows[0].problem.lda = 4104;
  rows[2].problem.batch = 3;
  rows[2].problem.stride_b = 0;
  const json list = json::parse(format_best(rows, Format::kJson));
  EXPECT_EQ(list[0]["problem"], "2048x12288x4096.dfp32.lda4104");
  EXPECT_EQ(list[0]["dtype"], "bf16.dfp32");
  EXPECT_EQ(list[0]["a_dtype"], "bf16");
  EXPECT_EQ(list[0]["b_dtype"], "bf16");
  EXPECT_EQ(list[0]["d_dtype"], "fp32");
  EXPECT_EQ(list[0]["lda"], 4104);
  EXPECT_EQ(list[0]["ldb"], 4096);
  EXPECT_EQ(list[0]["batch"], 1);
  EXPECT_EQ(list[2]["stride_b"], 0);
  EXPECT_EQ(list[2]["stride_d"], rows[2].problem.m * rows[2].problem.n);
  EXPECT_EQ(list[0]["scaling"], "none");
  EXPECT_EQ(list[0]["epilogue"], "plain");
  EXPECT_EQ(list[0]["kernel_id"], "c0de");
  EXPECT_EQ(list[0]["gpu"], "NVIDIA H200");
  EXPECT_EQ(list[0]["driver"], "580.1");
  EXPECT_EQ(list[0]["cuda"], "13.0");
  EXPECT_EQ(list[0]["cublas"], "13.1.0");
  EXPECT_EQ(list[0]["date"], "2026-11-20");
  EXPECT_EQ(list[0]["pdl"], "off");
  EXPECT_EQ(list[1]["pdl"], "safe");
  EXPECT_EQ(list[2]["pdl"], "weights") << "it reads B before the kernel in front of it is done";
  EXPECT_EQ(list[3]["problem"], "3x5x7.fp16");
  EXPECT_EQ(list[3]["gpu"], "NVIDIA H200");
  EXPECT_EQ(list[4]["problem"], "64x64x64");
  for (const char* key : {"pdl", "kernel_id"}) EXPECT_TRUE(list[3][key].is_null()) << key;
  for (const char* key : {"pdl", "kernel_id", "gpu", "driver", "cuda", "cublas", "date"}) {
    EXPECT_TRUE(list[4][key].is_null()) << key;
  }
}

TEST(JsonOutput, HasEnergyCyclesAndClockEventsWhereTheyWereSeen) {
  BestRow row = for_programs()[0];
  row.joules = 0.5;
  row.cublas_joules = 0.55;
  row.cublaslt_joules = 0.525;
  row.cublas_cycles = 1.031;
  row.clock_events = clock_event::kPowerCap | clock_event::kThermal;
  const json object = json::parse(format_best({&row, 1}, Format::kJson))[0];
  EXPECT_EQ(object["joules"], 0.5);
  EXPECT_NEAR(object["gflops_per_joule"], 2.0 * 2048 * 12288 * 4096 / 0.5 / 1e9, 1e-9);
  EXPECT_EQ(object["cublas_joules"], 0.55);
  EXPECT_EQ(object["cublaslt_joules"], 0.525);
  EXPECT_EQ(object["ratio_cublas_cycles"], 1.031);
  EXPECT_EQ(object["clock_events"], 0x24);
  const json list = json::parse(format_best(for_programs(), Format::kJson));
  EXPECT_EQ(list[0]["clock_events"], 0);
  for (const char* key : {"gflops_per_joule", "ratio_cublas_cycles", "cublas_joules"}) {
    EXPECT_TRUE(list[0][key].is_null()) << key;
  }
  EXPECT_TRUE(list[3]["clock_events"].is_null()) << "nothing was timed";
}

TEST(JsonOutput, SurvivesATagThatIsNotUtf8) {
  BestRow row = for_programs()[0];
  row.problem.tag = "a\xff";
  EXPECT_NO_THROW({
    const json list = json::parse(format_best({&row, 1}, Format::kJson));
    EXPECT_THAT(list[0]["tag"].get<std::string>(), HasSubstr("a"));
  });
}

TEST(Csv, HasTheSameColumnsQuotedWhereNeeded) {
  const auto rows = for_programs();
  EXPECT_EQ(
      format_best(std::vector{rows[1], rows[3]}, Format::kCsv),
      "m,n,k,dtype,layout,lda,ldb,ldd,data,tag,regime,label,time_us,tflops,ratio_cublas,"
      "ratio_cublas_low,ratio_cublas_high,ratio_cublaslt,ratio_cublaslt_low,ratio_cublaslt_high,"
      "sm_mhz,peak_fraction,memory_tbps,joules,gflops_per_joule,verified,ties,cublas_time_us,"
      "cublaslt_time_us,cublaslt_label,ratio_cublas_cycles,cublas_joules,cublaslt_joules,"
      "clock_events,effort,problem,a_dtype,b_dtype,d_dtype,batch,scaling,epilogue,c_dtype,pdl,"
      "kernel_id,gpu,driver,cuda,cublas,date,ratio_cublas_joules,pdl_off_label,pdl_off_time_us,"
      "pdl_off_ratio_cublas,pdl_off_ratio_cublas_low,pdl_off_ratio_cublas_high,"
      "pdl_off_ratio_cublaslt,pdl_off_ratio_cublaslt_low,pdl_off_ratio_cublaslt_high,"
      "host_us,kernel_us,cublas_host_us,cublas_kernel_us,cublaslt_host_us,cublaslt_kernel_us,card,"
      "confirmed,second_card,second_card_label,neighbours,cublaslt_epilogue,stride_a,stride_b,"
      "stride_d,products,accumulator,d_scaling,price,any_kind_label,error,cublas_error\n"
      "2048,32000,4096,bf16,TN,4096,4096,32000,normal,prefill/logits|all,sustained," +
          kSafeLabel +
          ",100.126,687.25,0.98,0.978,0.983,0.96,0.958,0.963,1605.4,0.7923,4.094772746339611,,,"
          "true,bm128.y bm128.z,98.12,96.12,cublaslt.3,,,,0,full,2048x32000x4096,bf16,bf16,bf16,"
          "1,none,plain,,safe,,NVIDIA H200,580.1,13.0,13.1.0,2026-11-20,,,,,,,,,,,,,,,,,,,,,,,,,"
          "strided,fp32,given,,,,\n3,5,7,fp16,TN,7,7,5,normal,\"odd, \"\"one\"\"\",sustained"
          ",,,,,,,,,,,,,,,false,,,,,,,,,,3x5x7.fp16,fp16,fp16,fp16,1,none,plain,,,,NVIDIA "
          "H200,580.1,13.0,13.1.0,2026-11-21,,,,,,,,,,,,,,,,,,,,,,,,,strided,fp32,given,,,,\n");
  EXPECT_THAT(format_best({}, Format::kCsv),
              ::testing::MatchesRegex("m,n,k[^\n]*,date,ratio_cublas_joules[^\n]*cublas_error\n"));
}

TEST(MachineJson, NamesEveryField) {
  Machine machine{.environment = environment(), .run = {}};
  machine.run.gpu_uuid = "GPU-1";
  machine.run.git_revision = "abc";
  machine.run.kernel_sources = "k1";
  machine.environment.l2_bytes = 62914560;
  machine.environment.power_limit_w = 700;
  const json object = json::parse(format_machine(machine));
  EXPECT_EQ(object["gpu_name"], "NVIDIA H200");
  EXPECT_EQ(object["gpu_uuid"], "GPU-1");
  EXPECT_EQ(object["sm_count"], 132);
  EXPECT_EQ(object["l2_bytes"], 62914560);
  EXPECT_EQ(object["power_limit_w"], 700.0);
  EXPECT_EQ(object["driver"], "580.1");
  EXPECT_EQ(object["git_revision"], "abc");
  EXPECT_EQ(object["kernel_sources"], "k1");
  EXPECT_EQ(object.size(), 14u);
}

/// A database that somebody else wrote may hold such texts.
std::vector<BestRow> hostile_rows() {
  const std::string hostile = "a\nb\x1b[2J|c<d>\xff,\"e\"";
  BestRow row = measured({.m = 2048, .n = 4096, .k = 4096, .tag = hostile}, kSafeLabel, 1.02, 1.0);
  row.environment.gpu_name = row.environment.driver = hostile;
  row.started_utc = row.kernel_id = hostile;
  row.clock_events = clock_event::kFault;
  BestRow other = row;
  other.regime = Regime::kBurst;
  other.label = label(TiledConfig{});
  return {row, other};
}

TEST(BestFormats, TextsOfOthersStayInTheirPlace) {
  std::vector<BestRow> tame = hostile_rows();
  for (BestRow& row : tame) {
    row.problem.tag = row.environment.gpu_name = row.environment.driver = row.started_utc = "tame";
  }
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kCsv}) {
    const std::string text = format_best(hostile_rows(), format);
    EXPECT_THAT(text, Not(::testing::ContainsRegex("[\x1b\xff\r\t]")));
    EXPECT_EQ(std::ranges::count(text, '\n'), std::ranges::count(format_best(tame, format), '\n'))
        << text;
  }
  EXPECT_THAT(format_best(hostile_rows(), Format::kMarkdown),
              Not(::testing::ContainsRegex("[^\\]<d>")));
  EXPECT_EQ(json::parse(format_best(hostile_rows(), Format::kJson)).at(0).at("tag"),
            "a\nb\x1b[2J|c<d>\xef\xbf\xbd,\"e\"")
      << "programs get all of it";
}

}  // namespace
}  // namespace hgemm
