#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "gemm/codec.h"
#include "studies/quantise/series.h"
#include "studies/quantise/table.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// Times in microseconds: ours 10, the library's 12, quantising 5, and 14 and 17 with it.
RecordedStudy study_at(const char* key, const std::string& driver = "580") {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.environment.sm_count = 132;
  recorded.environment.driver = driver;
  recorded.environment.cuda = "13.0";
  recorded.environment.cublas = "13.1.0";
  recorded.started_utc = "2026-11-22T10:00:00Z";
  Study& study = recorded.study;
  study.kind = kQuantiseStudy;
  study.label = "bm128.a";
  study.problem = parse_problem(key);
  study.verdict.correct = true;
  for (int round = 0; round < 9; ++round) {
    const auto add = [&](std::string_view name, double time_us) {
      Sample sample;
      sample.round = round;
      sample.time_us = time_us * (1 + 0.1 * (round % 3));  // the clock moves, for all alike
      study.samples(name).push_back(sample);
    };
    add(kOurGemm, 10);
    add(kOurGemmAfter, 14);
    add(kCublasLabel, 12);
    add(kCublasAfter, 17.5);
    add(kQuantisingAlone, 5);
  }
  return recorded;
}
RecordedStudy wrong_at(const char* key) {
  RecordedStudy recorded = study_at(key);
  recorded.study.status = Status::kWrongResult;
  recorded.study.message = "gemm_quantised: a NaN\nand more";
  recorded.study.series.clear();
  return recorded;
}

std::vector<Device> devices() {
  Device device;
  device.name = "H200";
  device.gpu_names = {"NVIDIA H200"};
  device.read_tbps = KnownFigure{4.5, "measured, by a test"};
  return {device};
}

constexpr const char* kBlocks = "64x512x1024.e4m3.scaling-blocks";

TEST(QuantiseTable, RatiosAreTakenWithinRounds) {
  const auto rows = quantise_rows(std::vector{study_at(kBlocks)}, devices());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_NEAR(*rows[0].gemm_us, 11, 1e-9);
  EXPECT_NEAR(*rows[0].quantise_us, 5.5, 1e-9);
  EXPECT_NEAR(rows[0].alone->value, 1.2, 1e-9);
  EXPECT_NEAR(rows[0].alone->interval.low, 1.2, 1e-9) << "the moving clock cancels";
  EXPECT_NEAR(rows[0].after->value, 1.25, 1e-9);
  // Two bytes are read and one is written of each element, and a scale for each 128.
  EXPECT_NEAR(*rows[0].tbps(), (3 * 64 * 1024 + 4 * 64 * 8) / 5.5e-6 * 1e-12, 1e-9);
}

TEST(QuantiseTable, SaysWhatWasTimed) {
  const auto rows = quantise_rows(std::vector{study_at(kBlocks)}, devices());
  EXPECT_THAT(format_quantise(rows, Format::kTable),
              AllOf(StartsWith("Quantising on NVIDIA H200 (132 SMs), driver 580"),
                    HasSubstr("quantise + ours us"), HasSubstr("1.250 [1.250, 1.250]"),
                    HasSubstr("Kernels:\n- 64x512x1024.e4m3.scaling-blocks: bm128.a\n"),
                    HasSubstr("the same kernel, then the GEMM, timed as one"),
                    HasSubstr("memory reads at 4.5 TB/s (measured, by a test)")));
  EXPECT_THAT(format_quantise(rows, Format::kMarkdown),
              AllOf(HasSubstr("### Quantising on"), HasSubstr("| shape | ours us |")));
}

TEST(QuantiseTable, AWrongResultHasNoTimesAndSaysWhy) {
  const auto rows = quantise_rows(std::vector{study_at(kBlocks), wrong_at("64x64x64.e4m3")}, {});
  EXPECT_FALSE(rows[1].gemm_us);
  EXPECT_FALSE(rows[1].tbps());
  EXPECT_THAT(format_quantise(rows, Format::kTable),
              AllOf(HasSubstr("- 64x64x64.e4m3: wrong_result: gemm_quantised: a NaN\n"),
                    Not(HasSubstr("and more")), Not(HasSubstr("memory reads at"))));
}

TEST(QuantiseTable, ProgramsReadObjectsWithNullForWhatIsNotKnown) {
  const auto rows =
      quantise_rows(std::vector{study_at(kBlocks), wrong_at("64x64x64.e4m3")}, devices());
  const json objects = json::parse(format_quantise(rows, Format::kJson));
  ASSERT_THAT(objects, SizeIs(2));
  EXPECT_EQ(objects[0]["problem"], kBlocks);
  EXPECT_EQ(objects[0]["label"], "bm128.a");
  EXPECT_NEAR(objects[0]["gemm_quantised_us"].get<double>(), 15.4, 1e-9);
  EXPECT_NEAR(objects[0]["ratio_quantised"].get<double>(), 1.25, 1e-9);
  EXPECT_EQ(objects[1]["status"], "wrong_result");
  EXPECT_TRUE(objects[1]["gemm_us"].is_null());
  EXPECT_THAT(format_quantise(rows, Format::kCsv),
              StartsWith("problem,label,status,message,gemm_us,gemm_quantised_us,cublas_us,"
                         "cublas_quantised_us,quantise_us,quantise_tbps,read_tbps,ratio_cublas,"
                         "ratio_cublas_low,ratio_cublas_high,ratio_quantised,"));
}

TEST(QuantiseTable, EnvironmentsAreNotMixed) {
  const auto rows = quantise_rows(
      std::vector{study_at(kBlocks), study_at(kBlocks, "590"), study_at("64x64x64.e4m3")}, {});
  const std::string text = format_quantise(rows, Format::kTable);
  EXPECT_LT(text.find("driver 580"), text.find("- 64x64x64.e4m3"));
  EXPECT_LT(text.find("- 64x64x64.e4m3"), text.find("driver 590"));
  EXPECT_THAT(format_quantise({}, Format::kTable), IsEmpty());
}

}  // namespace
}  // namespace hgemm
