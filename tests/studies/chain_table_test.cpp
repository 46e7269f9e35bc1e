#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "studies/chain/table.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// 8 links whose weights are 180 MB: more than 3x the L2 of 50 MB, less than that of 60 MiB.
RecordedStudy chain(std::int64_t m, const std::string& driver = "580") {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.environment.sm_count = 132;
  recorded.environment.driver = driver;
  recorded.environment.cuda = "13.0";
  recorded.environment.cublas = "13.1.0";
  recorded.environment.l2_bytes = 50'000'000;
  recorded.started_utc = "2026-11-22T10:00:00Z";
  Study& study = recorded.study;
  study.kind = kChainStudy;
  study.label = "chain.m" + std::to_string(m) + ".test";
  std::vector<ChainLink> links;
  for (int i = 0; i < 8; ++i) {
    const bool even = i % 2 == 0;
    links.push_back({GemmProblem{.m = m, .n = even ? 4000 : 5000, .k = 2500, .tag = ""},
                     even ? "plain_a" : "plain_b", even ? "pdl_a" : "pdl_b"});
  }
  study.parts = parts_of(links);
  study.verdict.correct = true;
  for (int round = 0; round < 9; ++round) {
    Sample sample;
    sample.round = round;
    sample.time_us = 60 + round % 3;  // the clock moves from round to round: all slow down
    study.samples(kCublasLabel).push_back(sample);
    sample.time_us /= 1.2;
    study.samples(kPdlOff).push_back(sample);
    sample.time_us /= 1.25;
    study.samples(kPdlOn).push_back(sample);
  }
  return recorded;
}

std::vector<Device> devices() {
  Device device;
  device.name = "H200";
  device.gpu_names = {"NVIDIA H200"};
  device.read_tbps = KnownFigure{4.5, "measured, by a test"};
  return {device};
}

RecordedStudy wrong(std::int64_t m) {
  RecordedStudy recorded = chain(m);
  recorded.study.status = Status::kWrongResult;
  recorded.study.message = "pdl_on: link 3 of 8, 16x4000x2500 by pdl_a: a NaN\nand more";
  recorded.study.series.clear();
  return recorded;
}

TEST(ChainTable, RatiosAreTakenWithinRounds) {
  const auto rows = chain_rows(std::vector{chain(1)}, devices());
  ASSERT_THAT(rows, SizeIs(1));
  const ChainRow& row = rows[0];
  EXPECT_EQ(row.weight_bytes, 180e6);
  EXPECT_TRUE(row.cold);
  ASSERT_THAT(row.timings, SizeIs(3));
  const auto& [off, on, cublas] = std::tie(row.timings[0], row.timings[1], row.timings[2]);
  EXPECT_NEAR(*cublas.time_us, 61, 1e-9);
  EXPECT_NEAR(off.cublas->value, 1.2, 1e-9);
  EXPECT_NEAR(off.cublas->interval.low, 1.2, 1e-9) << "the moving clock cancels";
  EXPECT_NEAR(on.cublas->value, 1.5, 1e-9);
  EXPECT_NEAR(on.pdl->value, 1.25, 1e-9);
  EXPECT_EQ(on.pdl->rounds, 9);
  EXPECT_FALSE(off.pdl);
  EXPECT_FALSE(cublas.cublas);
  EXPECT_NEAR(*row.tbps(on), 180e6 / (61 / 1.5) * 1e-6, 1e-9);
  EXPECT_NEAR(*row.of_ceiling(on), *row.tbps(on) / 4.5, 1e-9);
}

TEST(ChainTable, TheWholeTextOfAChain) {
  EXPECT_EQ(format_chain(chain_rows(std::vector{chain(1)}, devices()), Format::kTable),
            R"(Chains on NVIDIA H200 (132 SMs), driver 580, CUDA 13.0, cuBLAS 13.1.0, 2026-11-22
M  GEMMs  weights GB  kernels          us  TB/s  % of read              x cuBLAS             x PDL off
-  -----  ----------  -------------  ----  ----  ---------  --------------------  --------------------
1      8        0.18  ours, PDL off  50.8  3.54       78.7  1.200 [1.200, 1.200]                     -
1      8        0.18  ours, PDL on   40.7  4.43       98.4  1.500 [1.500, 1.500]  1.250 [1.250, 1.250]
1      8        0.18  cuBLAS         61.0  2.95       65.6                     -            has no PDL
chain.m1.test, 0.18 GB:
- 4 of 1x4000x2500: plain_a; with PDL pdl_a
- 4 of 1x5000x2500: plain_b; with PDL pdl_b
Notes:
- TB/s: the bytes of the weights, each link's its own, by the time of the whole chain
- x PDL off: what programmatic dependent launch (PDL) gains; the API of cuBLAS does not offer it
- % of read: of 4.5 TB/s (measured, by a test)
)");
}

TEST(ChainTable, MarkdownIsATable) {
  EXPECT_THAT(format_chain(chain_rows(std::vector{chain(1)}, devices()), Format::kMarkdown),
              AllOf(HasSubstr("### Chains on NVIDIA H200"), HasSubstr("| M | GEMMs | weights GB |"),
                    HasSubstr("\nNotes:\n\n- TB/s")));
}

TEST(ChainTable, WarmWeightsAndUnknownCeilingsAreSaid) {
  RecordedStudy warm = chain(1);
  warm.environment.l2_bytes = 60 << 20;
  const std::string text = format_chain(chain_rows(std::vector{warm}, {}), Format::kTable);
  EXPECT_THAT(text, AllOf(HasSubstr("M = 1: the weights are less than 3x L2"),
                          HasSubstr("no ceiling of this GPU is in configs/devices.yaml")));
}

TEST(ChainTable, AWrongResultHasNoTimesAndSaysWhy) {
  const auto rows = chain_rows(std::vector{chain(1), wrong(16)}, devices());
  EXPECT_FALSE(rows[1].timings[0].time_us);
  EXPECT_THAT(format_chain(rows, Format::kTable),
              AllOf(HasSubstr("- M = 16: wrong_result: pdl_on: link 3 of 8, 16x4000x2500 by pdl_a: "
                              "a NaN\n"),
                    Not(HasSubstr("and more"))));
}

TEST(ChainTable, ProgramsReadObjectsWithNullForWhatIsNotKnown) {
  const auto rows = chain_rows(std::vector{chain(1), wrong(16)}, devices());
  const json objects = json::parse(format_chain(rows, Format::kJson));
  ASSERT_THAT(objects, SizeIs(6));
  EXPECT_EQ(objects[1]["chain"], "chain.m1.test");
  EXPECT_EQ(objects[1]["kernels"], "pdl_on");
  EXPECT_EQ(objects[1]["length"], 8);
  EXPECT_EQ(objects[1]["weight_bytes"], 180e6);
  EXPECT_EQ(objects[1]["cold"], true);
  EXPECT_EQ(objects[1]["read_tbps"], 4.5);
  EXPECT_NEAR(objects[1]["ratio_cublas"].get<double>(), 1.5, 1e-9);
  EXPECT_NEAR(objects[1]["pdl_gain_low"].get<double>(), 1.25, 1e-9);
  EXPECT_EQ(objects[1]["links"][1]["n"], 5000);
  EXPECT_EQ(objects[1]["links"][1]["label"], "pdl_b");
  EXPECT_EQ(objects[0]["links"][1]["label"], "plain_b");
  EXPECT_EQ(objects[2]["links"][1]["label"], "cublas");
  EXPECT_TRUE(objects[2]["ratio_cublas"].is_null());
  EXPECT_TRUE(objects[0]["pdl_gain"].is_null());
  EXPECT_EQ(objects[4]["status"], "wrong_result");
  EXPECT_TRUE(objects[4]["time_us"].is_null());
  EXPECT_TRUE(objects[4]["of_read"].is_null());

  const std::string csv = format_chain(rows, Format::kCsv);
  EXPECT_THAT(
      csv, testing::StartsWith("chain,m,length,weight_bytes,cold,kernels,status,message,time_us,"
                               "weight_tbps,read_tbps,of_read,ratio_cublas,ratio_cublas_low,"
                               "ratio_cublas_high,pdl_gain,pdl_gain_low,pdl_gain_high,rounds,gpu,"
                               "started_utc\nchain.m1.test,1,8,"));
}

TEST(ChainTable, EnvironmentsAreNotMixed) {
  const auto rows = chain_rows(std::vector{chain(1), chain(1, "590"), chain(16)}, devices());
  const std::string text = format_chain(rows, Format::kTable);
  const auto first = text.find("driver 580");
  const auto second = text.find("driver 590");
  const auto sixteen = text.find("chain.m16.test, ");
  EXPECT_LT(first, sixteen);
  EXPECT_LT(sixteen, second);
  EXPECT_THAT(format_chain({}, Format::kTable), IsEmpty());
  EXPECT_EQ(format_chain({}, Format::kJson), "[]\n");
}

}  // namespace
}  // namespace hgemm
