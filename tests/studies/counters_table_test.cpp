// Counters of several candidates side by side.
#include "studies/counters/table.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "studies/counters/counter_set.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kOurs = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist";

RecordedStudy study(const std::string& label, double hit_rate, double dram_read,
                    double barrier = 0.2) {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.environment.sm_count = 132;
  recorded.environment.driver = "580.1";
  recorded.started_utc = "2026-11-20T10:00:00Z";
  recorded.study.kind = kCountersStudy;
  recorded.study.label = label;
  recorded.study.problem = GemmProblem{.m = 8192, .n = 8192, .k = 8192, .tag = "square"};
  recorded.study.figures = {
      // By name, as the store returns them.
      counter_figure("dram_read", "B", dram_read, "dram__bytes_read.sum"),
      counter_figure("instructions", "instructions", 2.5e6, "smsp__inst_executed.sum"),
      counter_figure("l2_hit_rate", "%", hit_rate, "lts__t_sector_hit_rate.pct"),
      counter_figure("multicast_share", "%", 50, "l2_to_sm_multicast / l2_to_sm_tma"),
      counter_figure("stall_barrier", "% of warp cycles", barrier,
                     "smsp__warp_issue_stalled_barrier_per_warp_active.pct"),
      counter_figure("stall_wait", "% of warp cycles", 30,
                     "smsp__warp_issue_stalled_wait_per_warp_active.pct"),
  };
  return recorded;
}

RecordedStudy failed(const std::string& label) {
  RecordedStudy recorded = study(label, 0, 0);
  recorded.study.figures.clear();
  recorded.study.status = Status::kWrongResult;
  recorded.study.message = "error 0.5 at (1, 2)";
  return recorded;
}

TEST(FormatCounters, PutsCandidatesSideBySideOursFirst) {
  const std::vector<RecordedStudy> studies = {study("cublas", 70.25, 1.9e9),
                                              study(kOurs, 83.5, 0.8e9)};
  const std::string text = format_counters(studies, Format::kTable);
  EXPECT_THAT(text, AllOf(StartsWith("8192x8192x8192 square, NVIDIA H200 (132 SMs)"),
                          HasSubstr("2026-11-20"), HasSubstr(std::string("ours: ") + kOurs)));
  EXPECT_THAT(text, ContainsRegex("counter +unit +ours +cublas"));
  EXPECT_THAT(text, ContainsRegex("L2 hit rate +% +83.50 +70.25"));
  EXPECT_THAT(text, ContainsRegex("DRAM read +GB +0.80 +1.90")) << "one unit in a line";
  EXPECT_THAT(text, ContainsRegex("M instructions +2.50 +2.50"));
}

TEST(FormatCounters, LeavesOutWhatNoWarpWaitsFor) {
  const std::vector<RecordedStudy> quiet = {study(kOurs, 83, 1e9), study("cublas", 70, 1e9)};
  EXPECT_THAT(format_counters(quiet, Format::kTable),
              AllOf(Not(HasSubstr("CTA barrier")), HasSubstr("fixed latency")));
  const std::vector<RecordedStudy> one_waits = {study(kOurs, 83, 1e9), study("cublas", 70, 1e9, 4)};
  EXPECT_THAT(format_counters(one_waits, Format::kTable),
              ContainsRegex("CTA barrier .*0.20 +4.00"));
  EXPECT_THAT(format_counters(quiet, Format::kCsv), HasSubstr("stall_barrier"));
}

TEST(FormatCounters, ShowsReasonsToWaitLast) {
  const std::string text =
      format_counters(std::vector<RecordedStudy>{study(kOurs, 83, 1e9)}, Format::kTable);
  EXPECT_LT(text.find("multicast share"), text.find("fixed latency"));
}

TEST(FormatCounters, ShowsCountersInOurOrderWhateverTheStores) {
  RecordedStudy ours = study(kOurs, 83, 1e9);
  ours.study.figures.insert(ours.study.figures.begin(), counter_figure("a_new_one", "%", 1, "new"));
  ours.study.figures.push_back(counter_figure("tensor_pipe_active", "%", 95, "sm__pipe"));
  const json list = json::parse(format_counters({&ours, 1}, Format::kJson));
  std::vector<std::string> metrics;
  for (const json& counter : list[0]["counters"]) metrics.push_back(counter["metric"]);
  EXPECT_THAT(metrics, ElementsAre("tensor_pipe_active", "instructions", "l2_hit_rate", "dram_read",
                                   "stall_barrier", "stall_wait", "multicast_share", "a_new_one"));

  // The first candidate lacks what the second one has, which stands in its place all the same.
  const std::vector<RecordedStudy> studies = {study("bm64.bn64", 60, 1e9), ours};
  const std::string text = format_counters(studies, Format::kTable);
  EXPECT_LT(text.find("tensor pipe active"), text.find("L2 hit rate"));
  EXPECT_LT(text.find("L2 hit rate"), text.find("DRAM read"));
  EXPECT_LT(text.find("DRAM read"), text.find("multicast share"));
}

TEST(FormatCounters, LettersSeveralOfOurs) {
  const std::vector<RecordedStudy> studies = {study(kOurs, 83, 1e9), study("bm64.bn64", 60, 1e9),
                                              study("cublaslt.2", 71, 1e9)};
  const std::string text = format_counters(studies, Format::kMarkdown);
  EXPECT_THAT(text, AllOf(StartsWith("## 8192x8192x8192"), HasSubstr("- ours A: bm128"),
                          HasSubstr("- ours B: bm64.bn64"), HasSubstr("cublaslt.2")));
}

TEST(FormatCounters, SaysWhatFailedAndWhy) {
  const std::vector<RecordedStudy> studies = {failed(kOurs), study("cublas", 70, 1e9)};
  EXPECT_THAT(format_counters(studies, Format::kTable),
              HasSubstr("wrong_result: error 0.5 at (1, 2)"));
  EXPECT_THAT(format_counters(std::vector<RecordedStudy>{failed(kOurs)}, Format::kTable),
              HasSubstr("wrong_result"));
}

TEST(FormatCounters, SeparatesShapesAndCards) {
  std::vector<RecordedStudy> studies(3, study("cublas", 70, 1e9));
  studies[1].study.problem->m = 4096;
  studies[2].environment.gpu_name = "NVIDIA H100";
  const std::string text = format_counters(studies, Format::kTable);
  EXPECT_THAT(text, AllOf(HasSubstr("\n4096x8192x8192"), HasSubstr("NVIDIA H100")));
}

TEST(FormatCounters, JsonHasEveryCounterWithItsSource) {
  const std::vector<RecordedStudy> studies = {study(kOurs, 83.5, 0.8e9), failed("cublas")};
  const json list = json::parse(format_counters(studies, Format::kJson));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0]["m"], 8192);
  EXPECT_EQ(list[0]["label"], kOurs);
  EXPECT_EQ(list[0]["status"], "ok");
  EXPECT_EQ(list[0]["gpu"], "NVIDIA H200");
  ASSERT_EQ(list[0]["counters"].size(), 6u);
  EXPECT_EQ(list[0]["counters"][2]["value"], 0.8e9) << "in bytes, whatever tables show";
  EXPECT_EQ(list[0]["counters"][2]["source"], "dram__bytes_read.sum");
  EXPECT_EQ(list[1]["status"], "wrong_result");
  EXPECT_TRUE(list[1]["counters"].empty());
}

TEST(FormatCounters, CsvHasALinePerCounter) {
  const std::string text =
      format_counters(std::vector<RecordedStudy>{study("cublas", 70.25, 1e9)}, Format::kCsv);
  EXPECT_THAT(text,
              StartsWith("m,n,k,dtype,layout,epilogue,c_dtype,lda,ldb,ldd,batch,stride_a,"
                         "stride_b,stride_d,products,data,tag,label,status,message,gpu,driver,"
                         "started_utc,metric,unit,value,source\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\n8192,8192,8192,bf16,TN,plain,,8192,8192,8192,1,,,,strided,normal,square,cublas,"
                "ok,,NVIDIA H200,580.1,"
                "2026-11-20T10:00:00Z,l2_hit_rate,%,70.25,"
                "lts__t_sector_hit_rate.pct\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  EXPECT_THAT(format_counters({}, Format::kCsv), StartsWith("m,n,k,")) << "the names in any case";
}

TEST(FormatCounters, CsvHasALineForAStudyWithoutCounters) {
  const std::vector<RecordedStudy> studies = {failed("cublas"), study(kOurs, 83, 1e9)};
  const std::string text = format_counters(studies, Format::kCsv);
  EXPECT_THAT(text,
              HasSubstr("\n8192,8192,8192,bf16,TN,plain,,8192,8192,8192,1,,,,strided,normal,square,"
                        "cublas,wrong_result,"
                        "\"error 0.5 at (1, 2)\",NVIDIA H200,580.1,2026-11-20T10:00:00Z,,,,\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
}

}  // namespace
}  // namespace hgemm
