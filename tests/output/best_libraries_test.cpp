// best --with-libraries: rows whose fastest is a library.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "families/family.h"
#include "output/emit.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kConfig = label(TiledConfig{});

BestRow measured(std::int64_t m, double cublas, double cublaslt) {
  BestRow row;
  row.problem = {.m = m, .n = 4096, .k = 4096, .tag = ""};
  row.environment.gpu_name = "NVIDIA H200";
  row.environment.sm_count = 132;
  row.started_utc = "2026-11-20T10:00:00Z";
  row.label = kConfig;
  row.stage = Stage::kFinal;
  row.time_us = 100;
  row.tflops = 600;
  row.cublas = Ratio{cublas, {cublas - 0.002, cublas + 0.003}};
  row.cublaslt = Ratio{cublaslt, {cublaslt - 0.002, cublaslt + 0.003}};
  row.cublaslt_label = "cublaslt.3";
  row.cublaslt_algorithm = "algo 66";
  row.verified = true;
  row.trials = 250;
  return row;
}

std::vector<BestRow> three() {
  return {measured(128, 1.02, 1.01), measured(256, 1.02, 0.96), measured(512, 0.95, 0.96)};
}

TEST(BestLibraries, WithoutTheOptionNothingNamesThem) {
  const auto rows = three();
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kCsv, Format::kJson}) {
    const std::string text = format_best(rows, format);
    EXPECT_THAT(text, Not(HasSubstr("before")));
    EXPECT_THAT(text, Not(HasSubstr("cublaslt_algorithm")));
    EXPECT_THAT(text, Not(HasSubstr("algo 66")));
  }
}

TEST(BestLibraries, ATableNamesThemBeforeTheConfig) {
  auto rows = three();
  name_libraries(rows);
  const std::string text = format_best(rows, Format::kMarkdown);
  EXPECT_THAT(text, HasSubstr("cublaslt.3 (before " + kConfig + ")"));
  EXPECT_THAT(text, HasSubstr("cublas (before " + kConfig + ")"));
  EXPECT_THAT(text, HasSubstr("| " + kConfig));
}

TEST(BestLibraries, JsonHasTheAlgorithmAndTheConfig) {
  auto rows = three();
  name_libraries(rows);
  const auto json = nlohmann::json::parse(format_best(rows, Format::kJson));
  EXPECT_EQ(json.at(0).at("label"), kConfig);
  EXPECT_TRUE(json.at(0).at("cublaslt_algorithm").is_null());
  EXPECT_EQ(json.at(1).at("label"), "cublaslt.3");
  EXPECT_EQ(json.at(1).at("config"), kConfig);
  EXPECT_EQ(json.at(1).at("cublaslt_algorithm"), "algo 66");
  EXPECT_EQ(json.at(2).at("label"), "cublas");
  EXPECT_TRUE(json.at(2).at("cublaslt_algorithm").is_null());
}

}  // namespace
}  // namespace hgemm
