// The advice as people and programs read it.
#include "studies/advise/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "gemm/codec.h"

namespace hgemm {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<Device> devices() { return load_devices(HGEMM_SOURCE_DIR "/configs/devices.yaml"); }
Device device(const std::string& name) { return choose_devices(devices(), name)[0]; }

std::vector<DeviceAdvice> one_shape(const std::string& name, bool measured) {
  GemmProblem problem;
  problem.m = 32;
  problem.n = problem.k = 4096;
  problem.tag = "decode/qkv";
  AdvisedShape advised{.advice = advise(device(name), problem), .measured = {}};
  if (measured) {
    BestRow row;
    row.problem = problem;
    row.environment.gpu_name = "NVIDIA H200";
    row.started_utc = "2026-11-20T10:00:00Z";
    row.label = "bm64";
    row.time_us = 14.2;
    row.cublas_time_us = 12;
    advised.measured = row;
    advised.swap = MeasuredSwap{.swapped = "bm32.swap", .as_is = "bm64", .speedup = 1.25};
  }
  return {{.device = device(name), .problems = {advised}}};
}

TEST(AdviceForPrograms, HasEveryFieldMeasuredOrNot) {
  const auto with = json::parse(format_advice(one_shape("H200", true), Format::kJson)).at(0);
  const auto without = json::parse(format_advice(one_shape("H20", false), Format::kJson)).at(0);
  std::set<std::string> names, other_names;
  for (const auto& item : with.items()) names.insert(item.key());
  for (const auto& item : without.items()) other_names.insert(item.key());
  EXPECT_EQ(names, other_names);
  for (const char* name : {"device",
                           "m",
                           "n",
                           "k",
                           "dtype",
                           "tag",
                           "bound",
                           "intensity",
                           "ridge",
                           "floor_us",
                           "swap_ab",
                           "swap_speedup",
                           "swap_why",
                           "swap_measured",
                           "swap_measured_label",
                           "as_is_measured_label",
                           "kernel",
                           "kernel_why",
                           "epilogue",
                           "separate_epilogue_us",
                           "tile",
                           "waves",
                           "split_us",
                           "measured_gpu",
                           "time_us",
                           "floor_fraction",
                           "cublas_floor_fraction"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(with.at("bound"), "memory");
  EXPECT_EQ(with.at("time_us"), 14.2);
  EXPECT_NEAR(with.at("floor_fraction"), with.at("floor_us").get<double>() / 14.2, 1e-9);
  EXPECT_NEAR(with.at("cublas_floor_fraction"), with.at("floor_us").get<double>() / 12, 1e-9);
  EXPECT_EQ(with.at("measured_date"), "2026-11-20");
  EXPECT_EQ(with.at("swap_measured"), 1.25);
  EXPECT_TRUE(without.at("swap_measured").is_null());
  EXPECT_EQ(without.at("swap_ab"), "pays");
  EXPECT_EQ(without.at("kernel"), "thin");
  EXPECT_TRUE(without.at("time_us").is_null());
  EXPECT_TRUE(without.at("floor_fraction").is_null());
}

TEST(AdviceForPrograms, CsvHasTheSameColumns) {
  const auto object = json::parse(format_advice(one_shape("H200", true), Format::kJson)).at(0);
  const std::string csv = format_advice(one_shape("H200", true), Format::kCsv);
  const std::string header = csv.substr(0, csv.find('\n'));
  EXPECT_THAT(header, StartsWith("device,m,n,k,dtype,tag,bound"));
  EXPECT_EQ(std::count(header.begin(), header.end(), ',') + 1,
            static_cast<std::ptrdiff_t>(object.size()));
  EXPECT_THAT(format_advice({}, Format::kCsv), StartsWith(header)) << "also with nothing below it";
}

TEST(AdviceForPeople, HasTheMeasuredAnswerBesideIt) {
  const std::string text = format_advice(one_shape("H200", true), Format::kTable);
  EXPECT_THAT(text, AllOf(StartsWith("H200: 132 SMs, 989.4 TFLOP/s, 4.8 TB/s: ridge 206 FLOP/B\n"),
                          HasSubstr("32x4096x4096 decode/qkv  memory"), HasSubstr("14.20"),
                          HasSubstr("50.0"), HasSubstr("does not matter"), HasSubstr("Why:"),
                          HasSubstr("fits in L2"), HasSubstr("fastest of ours here: bm64"),
                          HasSubstr("measured 1.25x: bm32.swap against bm64")));
  EXPECT_THAT(format_advice(one_shape("H20", false), Format::kMarkdown),
              AllOf(StartsWith("## H20: "), HasSubstr("pays 1.70x"), HasSubstr("| - |")));
}

TEST(AdviceForPeople, NamesThePeakOfEachTypeOfOperandsThatIsThere) {
  const Device h200 = device("H200");
  const auto text_of = [&h200](std::initializer_list<const char*> keys) {
    DeviceAdvice block{.device = h200, .problems = {}};
    for (const char* key : keys) {
      block.problems.push_back({.advice = advise(h200, parse_problem(key)), .measured = {}});
    }
    return format_advice(std::vector{block}, Format::kTable);
  };
  EXPECT_THAT(text_of({"4096x4096x4096.e4m3"}),
              StartsWith("H200: 132 SMs, 1978.9 (8 bits) TFLOP/s, 4.8 TB/s: ridge 412 (8 bits)"));
  EXPECT_THAT(text_of({"4096x4096x4096", "4096x4096x4096.e4m3"}),
              StartsWith("H200: 132 SMs, 989.4 and 1978.9 (8 bits) TFLOP/s, 4.8 TB/s: ridge 206 "
                         "and 412 (8 bits) FLOP/B\n"));
}

TEST(AdviceForPeople, SaysWhatAFusedEpilogueSaves) {
  const AdvisedShape gated{
      .advice = advise(device("H200"), parse_problem("2048x22016x4096.swiglu")), .measured = {}};
  const std::vector<DeviceAdvice> advice = {{.device = device("H200"), .problems = {gated}}};
  EXPECT_THAT(format_advice(advice, Format::kTable),
              HasSubstr("2048x22016x4096.swiglu: fused, its epilogue saves a launch that moves "
                        "135.3 MB, 28.18 us at the memory's speed, 7.5 % of the floor"));
  const auto json = json::parse(format_advice(advice, Format::kJson)).at(0);
  EXPECT_EQ(json.at("epilogue"), "swiglu");
  EXPECT_NEAR(json.at("separate_epilogue_us"), 28.18, 0.01);
}

std::vector<MeasuredWgmma> measured(double cycles_n256) {
  return {
      {.form = {}, .n = 64, .cycles = 32, .gpu_name = "NVIDIA H200", .started_utc = ""},
      {.form = {}, .n = 256, .cycles = cycles_n256, .gpu_name = "NVIDIA H200", .started_utc = ""}};
}

TEST(WgmmaTable, ComparesTheModelWithWhatWasMeasured) {
  const std::vector<Device> h200 = {device("H200")};
  const std::string text = format_wgmma(h200, measured(133), Format::kTable);
  EXPECT_THAT(text, StartsWith("H200: m64nNk16 f32 <- bf16, A in shared memory"));
  EXPECT_THAT(text, HasSubstr("\n 64    32       32         32      32.0     +0.0\n"));
  EXPECT_THAT(text, HasSubstr("\n256    80      128        128     133.0     -3.8\n"));
  EXPECT_THAT(text,
              HasSubstr("Bound by the tensor cores from N = 64 on (model), N = 64 (measured)"));
  EXPECT_THAT(text, HasSubstr("largest error of the model -3.8 % at N = 256"));
  EXPECT_THAT(text, Not(HasSubstr("registers"))) << "not measured, so no table of its own";
}

TEST(WgmmaTable, SaysWhereNothingWasMeasured) {
  const std::vector<Device> h20 = {device("H20")};
  const std::string text = format_wgmma(h20, measured(128), Format::kTable);
  EXPECT_THAT(text, AllOf(HasSubstr("from N = 16 on (model); nothing measured on this GPU"),
                          Not(HasSubstr("133"))));
}

TEST(WgmmaTable, ForProgramsHasEveryFormOfEveryDevice) {
  const auto all = devices();
  const auto rows = json::parse(format_wgmma(all, measured(160), Format::kJson));
  EXPECT_EQ(rows.size(), all.size() * wgmma_forms().size() * 32);
  int with_measurement = 0;
  for (const auto& row : rows) {
    if (row.at("measured_cycles").is_null()) continue;
    ++with_measurement;
    EXPECT_EQ(row.at("device"), "H200");
    EXPECT_NEAR(row.at("error"), row.at("n") == 256 ? -0.2 : 0, 1e-9);
  }
  EXPECT_EQ(with_measurement, 2);
}

TEST(DevicesTable, ShowsWhatFollowsAndFromWhere) {
  const auto all = devices();
  const std::string text = format_devices(all, Format::kTable);
  EXPECT_THAT(text, AllOf(HasSubstr("239.6"), HasSubstr("1024"),
                          HasSubstr("- H20 peak_tflops 148: h20-launch, FP16 tensor core, dense")));
  const auto rows = json::parse(format_devices(all, Format::kJson));
  ASSERT_EQ(rows.size(), all.size());
  EXPECT_EQ(rows.at(0).at("flops_per_tc_clk"), 256);
  EXPECT_NEAR(rows.at(0).at("fp8_ridge"), 74, 0.1);
  EXPECT_EQ(rows.at(0).at("compute_bound_from_n"), 16);
  EXPECT_TRUE(rows.at(0).at("tensor_mhz").is_null());
  EXPECT_THAT(rows.at(1).at("sources").at("sms"), "whitepaper, table 3");
}

}  // namespace
}  // namespace hgemm
