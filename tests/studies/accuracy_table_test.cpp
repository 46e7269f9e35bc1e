// What is recorded of the accuracy of sums, and how it is shown.
#include "studies/accuracy/table.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "families/family.h"
#include "gemm/codec.h"
#include "studies/accuracy/accuracy.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kPromoted = "bm128.bn128.bk128.q4.c2x1.coop2.d0.acc128.group8.tma.persist";

RecordedStudy recorded(const std::string& problem, const std::string& label, double scale) {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H100";
  recorded.environment.sm_count = 132;
  recorded.started_utc = "2026-11-28T04:00:00Z";
  recorded.study.kind = kAccuracyStudy;
  recorded.study.label = label;
  recorded.study.problem = parse_problem(problem);
  for (const AccuracyKind& kind : accuracy_kinds()) {
    add_figures(
        recorded.study.figures, kind.name,
        {.worst = 8 * scale, .rms = scale, .bias = -scale / 2, .exact_rms = 1, .outputs = 4096});
  }
  return recorded;
}

std::vector<std::string> labels(const std::string& config, const std::string& problem) {
  std::vector<std::string> found;
  for (const KernelConfig& one : with_each_interval(parse_label(config), parse_problem(problem))) {
    found.push_back(label(one));
  }
  return found;
}

TEST(AccuracyFigures, AreReadAsTheyWereWritten) {
  const Study study = recorded("64x64x128.e4m3.dfp32", kPromoted, 0.5).study;
  const SumErrors errors = errors_of(study, "one_sign");
  EXPECT_EQ(errors.worst, 4);
  EXPECT_EQ(errors.rms, 0.5);
  EXPECT_EQ(errors.bias, -0.25);
  EXPECT_EQ(errors.exact_rms, 1);
  EXPECT_EQ(errors.outputs, 4096);
  EXPECT_EQ(errors_of(study, "another").outputs, 0);
}

TEST(AccuracyConfigs, HaveEachIntervalThatTheKernelAllows) {
  const std::string at = "bm128.bn128.bk128.q4.c2x1.coop2";
  const std::string rest = ".group8.tma.persist";
  EXPECT_THAT(labels(kPromoted, "256x256x512.e4m3.dfp32"),
              ElementsAre(HasSubstr(".acc128"), HasSubstr(".acc256"), HasSubstr(".acc512")));
  EXPECT_THAT(labels(kPromoted, "256x256x512.e4m3.accfast"), ElementsAre(at + ".d0" + rest))
      << "the same kernel without promotion";
  EXPECT_THAT(
      labels(at + ".d1" + rest, "256x256x512.e4m3"),
      ElementsAre(HasSubstr(".d1.acc128."), HasSubstr(".d1.acc256."), HasSubstr(".d1.acc512.")));
  EXPECT_THAT(
      labels("bm128.bn200.bk128.q4.c2x1.coop2.d1" + rest, "256x256x512.e4m3"),
      ElementsAre(HasSubstr(".d0.acc128."), HasSubstr(".d1.acc256."), HasSubstr(".d1.acc512.")))
      << "a stage in flight whose sums are promoted would take too many registers";
  EXPECT_THAT(labels(kPromoted, "256x256x512.e4m3.scaling-blocks"),
              ElementsAre(HasSubstr(".acc128")));
  EXPECT_THAT(labels("bm128.bn128.bk64.q4.c1x1.coop2.d1.group8.tma.persist", "256x256x512"),
              SizeIs(1));
  EXPECT_THAT(labels("bm128.bn128.bk64.q4.c1x1.coop2.d1.group8.tma.persist", "256x256x512.fp32"),
              IsEmpty());
}

TEST(AccuracyProblems, AreSumsAlone) {
  EXPECT_EQ(why_no_accuracy(parse_problem("64x64x64.e4m3.scaling-rows")), nullptr);
  EXPECT_EQ(why_no_accuracy(parse_problem("64x64x64.layoutNT")), nullptr);
  EXPECT_THAT(why_no_accuracy(parse_problem("64x64x64.bias")), HasSubstr("epilogue"));
  EXPECT_THAT(why_no_accuracy(parse_problem("64x64x64.scaled")), HasSubstr("factors"));
  EXPECT_THAT(why_no_accuracy(parse_problem("64x64x64.batch2")), HasSubstr("batch"));
  EXPECT_THAT(why_no_accuracy(parse_problem("64x64x64.zeros")), HasSubstr("--data"));
}

std::vector<RecordedStudy> both_sums() {
  RecordedStudy failed = recorded("64x64x4096.e4m3.dfp32", "cublas", 1);
  failed.study.status = Status::kLaunchFailed;
  failed.study.message = "cuBLASLt has no algorithm\nmore";
  return {recorded("64x64x4096.e4m3.dfp32", kPromoted, 1e-5),
          recorded("64x64x4096.e4m3.dfp32.accfast", "cublas", 2e-2), failed,
          recorded("64x64x512.dfp32", "cublas", 3e-8)};
}

TEST(AccuracyTable, PutsPromotedAndFastSumsOfAShapeTogether) {
  const std::string text = format_accuracy(both_sums(), Format::kTable);
  EXPECT_THAT(text, AllOf(HasSubstr("NVIDIA H100"), HasSubstr("\n64x64x4096.e4m3.dfp32\n"),
                          HasSubstr("\n64x64x512.dfp32\n"), Not(HasSubstr("accfast"))));
  EXPECT_THAT(text, AllOf(HasSubstr("promoted, 128"), HasSubstr("8.0e-05"), HasSubstr("-5.0e-06")));
  EXPECT_THAT(text, AllOf(HasSubstr("fast"), HasSubstr("-1.0e-02"), HasSubstr("one large block")));
  EXPECT_THAT(text, HasSubstr("cublas, promoted: launch_failed: cuBLASLt has no algorithm\n"));
  EXPECT_THAT(format_accuracy({}, Format::kTable), HasSubstr("No sums"));
  EXPECT_THAT(format_accuracy(both_sums(), Format::kMarkdown), HasSubstr("**64x64x512.dfp32**"));
}

TEST(AccuracyTable, HasARowForEachKindOfDataForPrograms) {
  const json rows = json::parse(format_accuracy(both_sums(), Format::kJson));
  ASSERT_THAT(rows, SizeIs(5 + 5 + 1 + 5));
  EXPECT_EQ(rows[1]["problem"], "64x64x4096.e4m3.dfp32");
  EXPECT_EQ(rows[1]["data"], "one_sign");
  EXPECT_EQ(rows[1]["sums"], "promoted");
  EXPECT_EQ(rows[1]["promote"], 128);
  EXPECT_EQ(rows[1]["bias"], -5e-6);
  EXPECT_EQ(rows[5]["sums"], "fast");
  EXPECT_TRUE(rows[5]["promote"].is_null()) << "of a library nobody knows";
  EXPECT_EQ(rows[10]["status"], "launch_failed");
  EXPECT_TRUE(rows[10]["data"].is_null());
  EXPECT_EQ(rows[11]["sums"], "fp32");
  const std::string csv = format_accuracy(both_sums(), Format::kCsv);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 17);
  EXPECT_THAT(csv, testing::StartsWith("problem,m,n,k,sums,promote,label,data,worst,rms,bias,"));
}

}  // namespace
}  // namespace hgemm
