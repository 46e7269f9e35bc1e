// Microbenchmarks as people and programs read them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "studies/micro/points.h"
#include "studies/micro/table.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

RecordedStudy recorded(const std::string& label, std::vector<Figure> figures,
                       const std::string& driver = "580.1") {
  RecordedStudy study;
  study.environment.gpu_name = "NVIDIA H200";
  study.environment.sm_count = 132;
  study.environment.driver = driver;
  study.started_utc = "2026-11-20T10:00:00Z";
  study.study.kind = kMicroStudy;
  study.study.label = label;
  study.study.figures = std::move(figures);
  return study;
}
Figure cycles(double value) { return {"", "cycles", "clk", value, value - 1, value + 1, 9}; }

TEST(MicroTable, HasNDownAndTypesAcross) {
  const std::vector<RecordedStudy> studies = {
      recorded("wgmma.m64n64k16.f32.bf16.ss.random.issue.wg1", {cycles(32)}),
      recorded("wgmma.m64n256k16.f32.bf16.ss.random.issue.wg1", {cycles(128)}),
      recorded("wgmma.m64n256k32.f32.e4m3.rs.random.issue.wg1", {cycles(160)})};
  const std::string text = format_micro(studies, Format::kTable);
  EXPECT_THAT(text, HasSubstr("N    f32.bf16.ss  f32.e4m3.rs\n"));
  EXPECT_THAT(text, HasSubstr("64          32.0            -\n"));
  EXPECT_THAT(text, HasSubstr("256        128.0        160.0\n"));
  EXPECT_THAT(text, HasSubstr("4096 (100.0 %)"));
  EXPECT_THAT(text, HasSubstr("6554 (80.0 %)"));
  EXPECT_THAT(text, HasSubstr("NVIDIA H200 (132 SMs)"));
}

TEST(MicroTable, HasOneOfEachFamily) {
  const std::vector<RecordedStudy> studies = {
      recorded("mma.m16n8k16.f32.bf16.random.issue.w4", {cycles(1.6)}),
      recorded("mma.m16n8k16.f32.bf16.random.latency.w1", {cycles(33)}),
      recorded("promoted.m64n128k32.never.wg1", {cycles(64)}),
      recorded("promoted.m64n128k32.every128.wg1", {cycles(80)}),
      recorded("tma.box64x64.sw128.mc2.hbm.issue.q4",
               {{"", "bytes_per_clk", "B/clk/SM", 36, 35, 37, 9},
                {"", "bandwidth", "TB/s", 4.5, 4, 5, 9}}),
      recorded("tma.box64x64.sw128.mc1.l2.latency.q1", {{"", "latency", "clk", 700, 690, 710, 9}}),
      recorded("read.l2.t512.u4", {{"", "bytes_per_clk", "B/clk/SM", 50, 49, 51, 9},
                                   {"", "bandwidth", "TB/s", 9, 8, 10, 9}}),
      recorded("mbarrier.peer.test", {{"", "round_trip", "clk", 900, 890, 910, 9}}),
      recorded("smem.peer.latency.t32", {{"", "latency", "clk", 200, 199, 201, 9}}),
      recorded("stmatrix.x4.plain.w4", {cycles(32)}),
      recorded("accumulator.f32.e4m3", {{"", "bits_beside_products", "bits", 14, 14, 27, 30},
                                        {"", "rest_of_product", "last bits", 0, 0, 0, 1},
                                        {"", "rest_of_negative_product", "last bits", 0, 0, 0, 1},
                                        {"", "rest_of_many_products", "last bits", 3, 3, 3, 1}}),
      recorded("contention.m64n256k16.wg2.fill48.one",
               {cycles(128), {"", "fill_bytes_per_clk", "B/clk/SM", 47.5, 47, 48, 9}})};
  for (const Format format : {Format::kTable, Format::kMarkdown}) {
    const std::string text = format_micro(studies, format);
    for (const char* cell : {"64.0 (100.0 %)", "80.0 (80.0 %)", "1.60 (62.5 %)", "33.0",
                             "36.0 (4.50)", "700", "50.0 (9.00)", "900", "14 to 27", "cut off",
                             "3 of 22.5 last bits", "200.0", "32.00", "128.0 @ 47.5"}) {
      EXPECT_THAT(text, HasSubstr(cell));
    }
  }
}

TEST(MicroTable, ListsWhatFailedAndKeepsEnvironmentsApart) {
  RecordedStudy failed = recorded("mbarrier.own.test", {});
  failed.study.status = Status::kTimedOut;
  failed.study.message = "no answer";
  const std::vector<RecordedStudy> studies = {
      failed,
      recorded("mbarrier.peer.test", {{"", "round_trip", "clk", 900, 890, 910, 9}}, "580.1"),
      recorded("mbarrier.peer.test", {{"", "round_trip", "clk", 1, 1, 1, 9}}, "580.1"),  // older
      recorded("mbarrier.peer.test", {{"", "round_trip", "clk", 800, 790, 810, 9}}, "570.2")};
  const std::string text = format_micro(studies, Format::kTable);
  EXPECT_THAT(text, HasSubstr("- mbarrier.own.test: timed_out (no answer)"));
  EXPECT_THAT(text, HasSubstr("driver 580.1"));
  EXPECT_THAT(text, HasSubstr("driver 570.2"));
  EXPECT_THAT(text, HasSubstr("       900\n"));
  EXPECT_THAT(text, HasSubstr("       800\n"));
  EXPECT_THAT(text, Not(HasSubstr("         1\n")));
}

TEST(MicroTable, SaysSoWhereThereIsNothing) {
  EXPECT_THAT(format_micro({}, Format::kTable), HasSubstr("None of these"));
  EXPECT_EQ(format_micro({}, Format::kJson), "[]\n");
}

TEST(MicroJson, HasARowPerFigureWithWhatFollowsFromIt) {
  RecordedStudy failed = recorded("mbarrier.own.test", {});
  failed.study.status = Status::kCrashed;
  const std::vector<RecordedStudy> studies = {
      recorded("wgmma.m64n128k16.f32.bf16.ss.random.issue.wg1", {cycles(64)}),
      recorded("wgmma.m64n128k16.f32.bf16.ss.random.latency.wg1", {cycles(130)}), failed};
  const auto json = nlohmann::json::parse(format_micro(studies, Format::kJson));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["value"], 64);
  EXPECT_EQ(json[0]["low"], 63);
  EXPECT_EQ(json[0]["flops_per_clk"], 4096);
  EXPECT_EQ(json[0]["peak_fraction"], 1);
  EXPECT_TRUE(json[1]["flops_per_clk"].is_null()) << "of one alone there is no rate";
  EXPECT_EQ(json[2]["status"], "crashed");
  EXPECT_TRUE(json[2]["metric"].is_null());
  const std::string csv = format_micro(studies, Format::kCsv);
  EXPECT_THAT(csv, testing::StartsWith("label,family,status,message,metric,unit,value,low,high,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
}

}  // namespace
}  // namespace hgemm
