#include "studies/probe/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "studies/probe/cycles.h"

namespace hgemm {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RecordedStudy study_of_test() {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.environment.sm_count = 132;
  recorded.started_utc = "2026-11-20T10:00:00Z";
  Study& study = recorded.study;
  study.kind = kProbeStudy;
  study.label = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.probe1";
  study.problem = GemmProblem{.m = 8192, .n = 8192, .k = 512, .tag = ""};
  study.message = "1755 MHz";
  // 10 tiles of 8 k blocks by 2 consumers of one CTA.
  study.figures = recorded_cycles({
      {"producer", "order", "tile", 10, 800},
      {"producer", "wait_empty", "k_block", 80, 8000},
      {"producer", "total", "cta", 1, 10000},
      {"consumer", "wait_full", "k_block", 160, 3200},
      {"consumer", "mma_wait", "k_block", 160, 12000},
      {"consumer", "store", "tile", 20, 4600},
      {"consumer", "drain", "cta", 2, 900},
      {"consumer", "total", "cta", 2, 20000},
      {"article", "load", "k_block", 160, 3200},
      {"article", "mma", "k_block", 160, 12000},
      {"article", "store", "tile", 20, 4600},
      {"cluster", "skew", "tile", 10, 420},
      {"sm", "start_spread", "launch", 1, 600},
      {"sm", "finish_spread", "launch", 1, 2100},
      {"kernel", "total", "cta", 1, 11000},
      {"kernel", "launch", "launch", 1, 12500},
      {"kernel", "plain", "launch", 1, 10000},
      {"kernel", "probed", "launch", 1, 10250},
  });
  return recorded;
}

TEST(ProbeTable, SaysWhereTheCyclesWent) {
  const RecordedStudy study = study_of_test();
  const std::string text = format_probe({&study, 1}, Format::kTable);
  EXPECT_THAT(text, HasSubstr("8192x8192x512, NVIDIA H200 (132 SMs)"));
  EXPECT_THAT(text, ContainsRegex("consumer +wait_full +20.0 +160 +1600 +16.0 %"));
  EXPECT_THAT(text, ContainsRegex("consumer +store +- +230 +2300 +23.0 %"));
  EXPECT_THAT(text, ContainsRegex("consumer +drain +- +- +450 +-"));
  EXPECT_THAT(text, HasSubstr("load 20 and MMA 75 cycles a k block, store 230 a tile"));
  EXPECT_THAT(text, HasSubstr("phases are 99.0 % of its time"));
  EXPECT_THAT(text, HasSubstr("started within 600 cycles of one another and finished within 2100"));
  EXPECT_THAT(text, HasSubstr("within 42 cycles"));
  EXPECT_THAT(text, HasSubstr("10000 cycles a launch, with them 10250 (+2.5 %)"));
  EXPECT_THAT(text, Not(HasSubstr("article")));
}

TEST(ProbeTable, MarkdownHasATable) {
  const RecordedStudy study = study_of_test();
  EXPECT_THAT(format_probe({&study, 1}, Format::kMarkdown),
              AllOf(HasSubstr("| consumer | wait_full | 20.0 | 160 | 1600 | 16.0 % |"),
                    HasSubstr("\n\n- as a consumer sees it")));
}

TEST(ProbeTable, PhasesComeAsTheyHappenWhateverTheStoresOrder) {
  const RecordedStudy as_it_happens = study_of_test();
  RecordedStudy stored = as_it_happens;
  std::ranges::sort(stored.study.figures, {}, &Figure::point);
  ASSERT_TRUE(stored.study.figures.front().point.starts_with("article."));
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kJson, Format::kCsv}) {
    EXPECT_EQ(format_probe({&stored, 1}, format), format_probe({&as_it_happens, 1}, format));
  }

  // All phases of a consumer, and one that nobody knows.
  std::vector<CycleFigure> cycles;
  for (const char* phase : {"a_new_one", "drain", "epilogue", "mma_issue", "mma_wait", "prologue",
                            "promote", "release", "setmaxnreg", "store", "total", "wait_full"}) {
    cycles.push_back({"consumer", phase, "cta", 1, 100});
  }
  cycles.push_back({"producer", "issue", "k_block", 1, 100});
  stored.study.figures = recorded_cycles(cycles);
  const auto json = nlohmann::json::parse(format_probe({&stored, 1}, Format::kJson));
  std::vector<std::string> phases;
  for (const auto& figure : json.at(0).at("figures")) phases.push_back(figure.at("phase"));
  EXPECT_THAT(phases, ElementsAre("issue", "prologue", "setmaxnreg", "wait_full", "mma_issue",
                                  "mma_wait", "release", "promote", "epilogue", "store", "drain",
                                  "total", "a_new_one"));
}

TEST(ProbeTable, PromotionHasARowAndARemark) {
  RecordedStudy study = study_of_test();
  EXPECT_THAT(format_probe({&study, 1}, Format::kTable), Not(HasSubstr("fp32 ones")));
  std::vector<CycleFigure> cycles = cycles_of(study.study);
  cycles.push_back({"consumer", "promote", "k_block", 160, 4000});
  study.study.figures = recorded_cycles(cycles);
  const std::string text = format_probe({&study, 1}, Format::kTable);
  EXPECT_THAT(text, ContainsRegex("consumer +promote +25.0 +200 +2000 +20.0 %"));
  EXPECT_THAT(text,
              HasSubstr("adding the tensor cores' sums to fp32 ones takes 25 cycles a k block"));
  EXPECT_THAT(text, HasSubstr("phases are 119.0 % of its time")) << "the promotion is one of them";
}

TEST(ProbeTable, AFailureSaysWhy) {
  RecordedStudy study = study_of_test();
  study.study.status = Status::kCompileFailed;
  study.study.message = "spills registers (8 bytes)\nptxas info";
  study.study.figures.clear();
  const std::string text = format_probe({&study, 1}, Format::kTable);
  EXPECT_THAT(text, HasSubstr("compile_failed: spills registers (8 bytes)\n"));
  const auto json = nlohmann::json::parse(format_probe({&study, 1}, Format::kJson));
  EXPECT_EQ(json.at(0).at("status"), "compile_failed");
  const std::string csv = format_probe({&study, 1}, Format::kCsv);
  EXPECT_THAT(csv, HasSubstr("compile_failed,,,,,,"));
}

TEST(ProbeTable, ProgramsGetEveryFigure) {
  const RecordedStudy study = study_of_test();
  const auto json = nlohmann::json::parse(format_probe({&study, 1}, Format::kJson));
  ASSERT_EQ(json.at(0).at("figures").size(), study.study.figures.size());
  const auto& figure = json.at(0).at("figures").at(3);
  EXPECT_EQ(figure.at("phase"), "wait_full");
  EXPECT_DOUBLE_EQ(figure.at("mean"), 20);
  EXPECT_DOUBLE_EQ(figure.at("share"), 0.16);
  EXPECT_TRUE(json.at(0).at("figures").back().at("share").is_null());
  const std::string csv = format_probe({&study, 1}, Format::kCsv);
  EXPECT_THAT(csv, HasSubstr("m,n,k,dtype,label,gpu,started_utc,status,role,phase,unit,count,"
                             "cycles,mean,share\n"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 18);
}

TEST(Cycles, AreRecordedAsFiguresAndReadBack) {
  Study study;
  study.figures = recorded_cycles({{"consumer", "mma_wait", "k_block", 160, 12000}});
  study.figures.push_back({"", "clock", "MHz", 1755, 1755, 1755, 1});
  ASSERT_EQ(study.figures.front().point, "consumer.mma_wait");
  EXPECT_EQ(study.figures.front().metric, "cycles");
  EXPECT_EQ(study.figures.front().unit, "clk/k_block");
  EXPECT_DOUBLE_EQ(study.figures.front().value, 75);
  EXPECT_EQ(study.figures.front().samples, 160);
  const std::vector<CycleFigure> cycles = cycles_of(study);
  ASSERT_EQ(cycles.size(), 1u) << "what is no phase of a role is none of them";
  EXPECT_EQ(cycles[0].role, "consumer");
  EXPECT_EQ(cycles[0].phase, "mma_wait");
  EXPECT_EQ(cycles[0].unit, "k_block");
  EXPECT_EQ(cycles[0].count, 160);
  EXPECT_DOUBLE_EQ(cycles[0].cycles, 12000);
}

}  // namespace
}  // namespace hgemm
