// What tables say of rows that were measured in brief, and of 8-bit operands: sums and errors.
#include <gmock/gmock.h>

#include "output/emit.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

BestRow measured(std::int64_t m) {
  BestRow row;
  row.problem = {.m = m, .n = 4096, .k = 4096, .tag = ""};
  row.environment.gpu_name = "NVIDIA H200";
  row.started_utc = "2026-11-20T10:00:00Z";
  row.label = "bm128.x";
  row.stage = Stage::kFinal;
  row.time_us = 100;
  row.tflops = 600;
  row.verified = true;
  row.trials = 250;
  return row;
}

TEST(BestInBrief, SaysHowFarRowsMayBeOff) {
  std::vector<BestRow> rows = {measured(128), measured(2048)};
  const auto text = [&rows] { return format_best(rows, Format::kTable); };
  EXPECT_THAT(text(), Not(HasSubstr("in brief")));
  rows[1].brief = true;
  EXPECT_THAT(text(), AllOf(HasSubstr("1 of 2 were measured in brief"),
                            HasSubstr("Sustained times of large shapes are too short")));
  for (BestRow& row : rows) row.regime = Regime::kBurst;
  EXPECT_THAT(text(), AllOf(HasSubstr("1 of 2 were measured in brief"), Not(HasSubstr("15 %"))));
}

TEST(BestOf8Bits, HasErrorsBesideSpeed) {
  std::vector<BestRow> rows = {measured(128)};
  rows[0].error = 0.0032;
  rows[0].cublas_error = 0.0041;
  const auto text = [&rows] { return format_best(rows, Format::kTable); };
  EXPECT_THAT(text(), Not(HasSubstr("error")));
  rows[0].problem.set_types(DataType::kE4m3);
  EXPECT_THAT(text(),
              AllOf(HasSubstr("cuBLAS error"), HasSubstr(" 0.0032 "), HasSubstr(" 0.0041 ")));
}

TEST(BestOf8Bits, SaysWhichSumsRowsHave) {
  std::vector<BestRow> rows = {measured(128), measured(2048), measured(4096)};
  const auto text = [&rows] { return format_best(rows, Format::kTable); };
  EXPECT_THAT(text(), Not(HasSubstr("8-bit operands")));
  for (BestRow& row : rows) row.problem.set_types(DataType::kE4m3);
  rows[2].problem.accumulator = Accumulator::kFast;
  EXPECT_THAT(text(), AllOf(HasSubstr("2 rows have fp32 sums, and 1 (accfast)"),
                            HasSubstr("4096x4096x4096.e4m3.accfast")));
}

}  // namespace
}  // namespace hgemm
