// 8-bit operands in a report: what the tensor cores can do by the types of operands, and groups.
#include <gmock/gmock.h>

#include <vector>

#include "gemm/codec.h"
#include "output/json.h"
#include "output/report.h"
#include "search/devices.h"
#include "tests/results/recordings.h"

namespace hgemm {
namespace {

using testing::SizeIs;

RecordedRace race(const GemmProblem& problem) {
  return test::race(
      {test::ok(test::kC, test::samples(9, 3, 9)), test::ok("cublas", test::samples(10, 3, 9))},
      "580", problem);
}

TEST(ReportCeilings, EightBitOperandsHaveACeilingOfTheirOwn) {
  ReportInput from;
  from.devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  from.databases = {"made-up.db"};
  // 819 FLOP per byte: the tensor cores bound 16-bit operands from 206 on, and 8-bit ones from 412.
  RecordedRace large = race({.m = 8192,
                             .n = 8192,
                             .k = 8192,
                             .a_type = DataType::kE4m3,
                             .b_type = DataType::kE4m3,
                             .tag = "square"});
  // 337 FLOP per byte: above the ridge of 16-bit operands only
  RecordedRace memory = race({.m = 192,
                              .n = 4096,
                              .k = 4096,
                              .a_type = DataType::kE4m3,
                              .b_type = DataType::kE4m3,
                              .tag = "prefill"});
  for (Trial& trial : memory.race.trials) {
    for (Sample& sample : trial.samples) sample.sm_mhz = 1980;
  }
  from.races = {race({.m = 8192, .n = 8192, .k = 8192, .tag = "square"}), large, memory};
  const Json json = Json::parse(
      report_data(from, [](const report::Known&) { return std::vector<report::Section>(); }));
  const Json& ceilings = json.at("best").at("ceilings");
  ASSERT_THAT(ceilings, SizeIs(2));
  EXPECT_EQ(ceilings[0].at("operand_bits"), 16);
  EXPECT_EQ(ceilings[1].at("operand_bits"), 8);
  EXPECT_EQ(ceilings[1].at("sm_mhz"), 1500) << "not the clock of the shape that memory bounds";
  EXPECT_NEAR(ceilings[1].at("tflops"), 132 * 8192 * 1500e6 * 1e-12, 1e-9);
  EXPECT_NEAR(json.at("device").at("peak_fp8_tflops"), 1978.9, 1e-9);
  for (const Json& row : json.at("best").at("rows")) {
    const bool has_8_bits = row.at("dtype") != "bf16";
    EXPECT_EQ(row.at("operand_bits"), has_8_bits ? 8 : 16) << row.at("shape");
  }
}

TEST(ReportGroups, EightBitProblemsWithoutATagAreGroupedByTheirKind) {
  ReportInput from;
  from.devices = load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml");
  from.databases = {"made-up.db"};
  from.races = {race(parse_problem("512x512x1024.e4m3.scaling-rows.lda1040"))};
  const Json json = Json::parse(
      report_data(from, [](const report::Known&) { return std::vector<report::Section>(); }));
  EXPECT_EQ(json.at("best").at("rows")[0].at("group"), "e4m3.scaling-rows");
}

}  // namespace
}  // namespace hgemm
