#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "search/space.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/figure.h"
#include "studies/ladder/table.h"
#include "studies/probe/cycles.h"

namespace hgemm {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

const GemmProblem kShape{.m = 8192, .n = 8192, .k = 8192, .tag = ""};

std::vector<LadderPoint> points() {
  std::vector<LadderPoint> points;
  for (const auto& step : chosen_ladder_steps("hopper.02,hopper.03,hopper.04,hopper.06")) {
    points.push_back({step, DataType::kBf16});
  }
  return points;
}

RecordedStudy study(std::string_view kind, const LadderPoint& point,
                    const std::string& driver = "580") {
  RecordedStudy recorded;
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.environment.driver = driver;
  recorded.started_utc = "2026-11-20T10:00:00Z";
  recorded.study.kind = kind;
  recorded.study.label = ladder_label(point);
  recorded.study.problem = kShape;
  return recorded;
}

/// Rounds in which cublas takes 1374 us and the step `slower` times that.
RecordedStudy timed(const LadderPoint& point, double slower) {
  RecordedStudy recorded = study(kLadderStudy, point);
  recorded.study.verdict.correct = true;
  for (int round = 0; round < 15; ++round) {
    Sample sample;
    sample.round = round;
    sample.time_us = 1374 + round % 3;  // the clock moves from round to round: both slow down
    recorded.study.samples(kCublasLabel).push_back(sample);
    sample.time_us *= slower;
    recorded.study.samples(kStepSeries).push_back(sample);
  }
  return recorded;
}

/// 02 and 03 timed, 03 with cycles and counters, 04 with a wrong result, 06 not measured.
std::vector<RecordedStudy> some() {
  const auto all = points();
  std::vector<RecordedStudy> studies{timed(all[0], 2.6), timed(all[1], 1.9)};
  studies.push_back(study(kProbeStudy, all[1]));
  studies.back().study.figures = recorded_cycles(
      {{.role = "cta", .phase = "load", .unit = "k_block", .count = 4, .cycles = 5872},
       {.role = "cta", .phase = "mma", .unit = "k_block", .count = 4, .cycles = 2880},
       {.role = "cta", .phase = "store", .unit = "tile", .count = 1, .cycles = 4404}});
  studies.push_back(study(kCountersStudy, all[1]));
  studies.back().study.figures = {counter_figure("tensor_pipe_active", "%", 43.21, "sm__"),
                                  counter_figure("l2_hit_rate", "%", 83.14, "lts__")};
  studies.push_back(study(kLadderStudy, all[2]));
  studies.back().study.status = Status::kWrongResult;
  studies.back().study.message = "element (3, 4) is NaN\nand more";
  return studies;
}

TEST(LadderTable, RatiosAreTakenWithinRoundsAndGainsFromTheStepBefore) {
  const auto rows = ladder_rows(points(), kShape, some());
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_NEAR(*rows[0].ratio, 1 / 2.6, 1e-9);
  EXPECT_NEAR(rows[0].ratio_interval.low, 1 / 2.6, 1e-9) << "the moving clock cancels";
  EXPECT_EQ(rows[0].rounds, 15);
  EXPECT_FALSE(rows[0].gain) << "there is no step before";
  EXPECT_NEAR(*rows[1].gain, 2.6 / 1.9, 1e-9);
  EXPECT_NEAR(*rows[1].tflops(), kShape.flops() / (1375 * 1.9) * 1e-6, 1e-6);
  EXPECT_FALSE(rows[2].time_us) << "a wrong result has no time";
  EXPECT_FALSE(rows[3].gain) << "nor has what was not measured a gain";
  EXPECT_FALSE(rows[3].status);
}

TEST(LadderTable, TheTableHasCyclesCountersAndWhatWasPublished) {
  const std::string table = format_ladder(ladder_rows(points(), kShape, some()), Format::kTable);
  EXPECT_THAT(table, HasSubstr("8192x8192x8192 on NVIDIA H200"));
  EXPECT_THAT(table, HasSubstr("2026-11-20: cublas 799.6 TFLOP/s"));
  EXPECT_THAT(table, ContainsRegex("hopper.03 larger_tile +tile 128x128 +420.9 +0.526 \\[0.526, "
                                   "0.526\\] +1.368 +1468 +720 +4404 +43.2 +83.1 +423\n"));
  EXPECT_THAT(table, ContainsRegex("hopper.04 [^\n]* wrong_result +- +- +- +- +- +- +- +498\n"));
  EXPECT_THAT(table, ContainsRegex("hopper.06 [^\n]*( +-){9}\n"));
  EXPECT_THAT(table, HasSubstr("- hopper.04 specialised: wrong_result: element (3, 4) is NaN\n"));
  EXPECT_THAT(table, HasSubstr("published: TFLOP/s, Shankhdhar 2024"));
}

constexpr const char* kTunedConfig = "bm128.bn256.bk64.q4.c2x1.coop2.d0.hilbert.tma.persist";
constexpr const char* kEightBitConfig =
    "bm128.bn192.bk128.q4.c2x1.coop2.d1.acc256.group8.tma.persist.pdl.hold.fixed";

/// The last step of the ladder's own, and those that are tuned.
std::vector<LadderPoint> last_points() {
  std::vector<LadderPoint> points;
  for (const auto& step : chosen_ladder_steps("hopper.12,hopper.13,hopper.14")) {
    points.push_back({step, operand_type(step, DataType::kBf16), {}});
  }
  points[1].config = kTunedConfig;
  points[2].config = kEightBitConfig;
  return points;
}

/// The tuned step takes as long as cublas, and with 8 bits half of that; cuBLASLt takes 5 % longer.
std::vector<RecordedStudy> last_studies() {
  const auto all = last_points();
  std::vector<RecordedStudy> studies{timed(all[0], 1.25), timed(all[1], 1), timed(all[2], 0.5)};
  studies[2].study.problem->set_types(DataType::kE4m3);
  for (Sample& sample : studies[2].study.samples(kCublasLabel)) sample.time_us *= 0.525;
  studies.push_back(study(kCountersStudy, all[1]));
  studies.back().study.figures = {counter_figure("tensor_pipe_active", "%", 97.5, "sm__")};
  return studies;
}

TEST(LadderTable, TunedStepsAreMeasuredAtTheirOwnTypes) {
  const auto rows = ladder_rows(last_points(), kShape, last_studies());
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_NEAR(*rows[1].gain, 1.25, 1e-9);
  EXPECT_NEAR(*rows[1].ratio, 1, 1e-9);
  EXPECT_EQ(rows[1].tensor_active, 97.5);
  EXPECT_NEAR(*rows[2].gain, 2, 1e-9) << "what 8 bits bring";
  EXPECT_NEAR(*rows[2].ratio, 1.05, 1e-9) << "to cuBLASLt with the same types";
  const json objects = json::parse(format_ladder(rows, Format::kJson));
  EXPECT_EQ(objects[1]["label"], kTunedConfig);
  EXPECT_EQ(objects[1]["dtype"], "bf16");
  EXPECT_EQ(objects[2]["label"], kEightBitConfig);
  EXPECT_THAT(objects[2]["dtype"].get<std::string>(), testing::StartsWith("e4m3"));
  EXPECT_EQ(objects[2]["k"], 8192);

  const std::string table = format_ladder(rows, Format::kTable);
  EXPECT_THAT(table, HasSubstr("cublas 799.6 TFLOP/s\n")) << "with the ladder's own type";
  EXPECT_THAT(table, HasSubstr(std::string("hopper.13 tuned: ") + kTunedConfig));
  EXPECT_THAT(table, HasSubstr(std::string("hopper.14 e4m3: ") + kEightBitConfig +
                               " at 8192x8192x8192.e4m3. "));
  EXPECT_THAT(table, AllOf(HasSubstr("sums other errors"), HasSubstr("peak is twice as high"),
                           HasSubstr("the same types, 1523.1 TFLOP/s")));
}

TEST(LadderFigure, EndsWithTunedStepsBesideTheCublasOfTheLaddersType) {
  const auto studies = last_studies();
  const Space none;
  const auto ladders_of = [&](std::span<const RecordedStudy> known) {
    return ladder_section({{}, {}, {}, known, {}, none}).at("ladders");
  };
  const Json ladders = ladders_of(studies);
  ASSERT_THAT(ladders, SizeIs(1));
  EXPECT_NEAR(ladders[0].at("cublas_tflops").get<double>(), 799.6, 0.1);
  const Json& steps = ladders[0].at("steps");
  ASSERT_THAT(steps, SizeIs(3));
  EXPECT_EQ(steps[1].at("label"), kTunedConfig);
  EXPECT_EQ(steps[2].at("label"), kEightBitConfig);
  EXPECT_NE(steps[2].at("dtype"), ladders[0].at("dtype"));

  const Json before = ladders_of(std::span(studies).first(1));
  EXPECT_THAT(before[0].at("steps"), SizeIs(1)) << "a database without tuned steps";
}

// A database from before these steps: they are lines that were not measured.
TEST(LadderTable, WithoutTunedStepsInTheRecordsTheOthersAreThere) {
  const std::vector<RecordedStudy> before{last_studies().front()};
  const std::string table =
      format_ladder(ladder_rows(last_points(), kShape, before), Format::kTable);
  EXPECT_THAT(table, ContainsRegex("hopper.12 tma_store [^\n]* 639.7 "));
  EXPECT_THAT(table, ContainsRegex("hopper.14 [^\n]*( +-){9}\n"));
  EXPECT_THAT(table, Not(HasSubstr(kEightBitConfig)));
}

TEST(LadderTable, ATimingOfAConfigIsThatOfATunedStepAtItsProblemOnly) {
  const auto studies = last_studies();
  GemmProblem of_8_bits = kShape;
  of_8_bits.set_types(DataType::kE4m3);
  EXPECT_TRUE(is_of_tuned_step(studies[1].study, kShape));
  EXPECT_FALSE(is_of_tuned_step(studies[1].study, of_8_bits));
  EXPECT_TRUE(is_of_tuned_step(studies[2].study, of_8_bits));
  EXPECT_FALSE(is_of_tuned_step(studies[0].study, kShape)) << "a step of the ladder's own";
  EXPECT_FALSE(is_of_tuned_step(studies[3].study, kShape)) << "counters";
}

TEST(LadderTable, MarkdownIsATable) {
  const std::string text = format_ladder(ladder_rows(points(), kShape, some()), Format::kMarkdown);
  EXPECT_THAT(text, AllOf(HasSubstr("### 8192x8192x8192 on"), HasSubstr("| step | what changed |"),
                          HasSubstr("\nNotes:\n\n- load, MMA, store")));
}

TEST(LadderTable, ProgramsReadObjectsWithNullForWhatIsNotKnown) {
  const auto rows = ladder_rows(points(), kShape, some());
  const json objects = json::parse(format_ladder(rows, Format::kJson));
  ASSERT_THAT(objects, SizeIs(4));
  EXPECT_EQ(objects[1]["label"], "ladder.hopper.03_larger_tile.bf16");
  EXPECT_EQ(objects[1]["load_cycles"], 1468);
  EXPECT_EQ(objects[1]["published_tflops"], 423);
  EXPECT_EQ(objects[2]["status"], "wrong_result");
  EXPECT_TRUE(objects[2]["tflops"].is_null());
  EXPECT_TRUE(objects[3]["status"].is_null());
  EXPECT_TRUE(objects[3]["published_tflops"].is_null());

  const std::string csv = format_ladder(rows, Format::kCsv);
  EXPECT_THAT(csv, testing::StartsWith("family,step,name,title,label,m,n,k,dtype,status,"));
  int lines = 0;
  for (auto at = csv.find("\nhopper,"); at != csv.npos; at = csv.find("\nhopper,", at + 1)) ++lines;
  EXPECT_EQ(lines, 4);
}

TEST(LadderTable, EnvironmentsAreNotMixed) {
  auto studies = some();
  studies.push_back(study(kProbeStudy, points()[0], "590"));
  studies.back().study.figures = recorded_cycles(
      {{.role = "cta", .phase = "load", .unit = "k_block", .count = 1, .cycles = 700}});
  const auto rows = ladder_rows(points(), kShape, studies);
  ASSERT_THAT(rows, SizeIs(8));
  EXPECT_FALSE(rows[0].cycles_per("load"));
  EXPECT_EQ(rows[4].cycles_per("load"), 700);
  EXPECT_FALSE(rows[4].time_us);
  EXPECT_THAT(format_ladder(rows, Format::kTable),
              AllOf(HasSubstr("driver 580"), HasSubstr("driver 590")));
}

TEST(LadderTable, OfASpecialisedStepLoadIsWhatTheConsumerWaits) {
  std::vector<RecordedStudy> studies{study(kProbeStudy, points()[2])};
  studies.back().study.figures = recorded_cycles(
      {{.role = "producer", .phase = "wait_empty", .unit = "k_block", .count = 2, .cycles = 600},
       {.role = "consumer", .phase = "wait_full", .unit = "k_block", .count = 2, .cycles = 84},
       {.role = "consumer", .phase = "mma", .unit = "k_block", .count = 2, .cycles = 1200}});
  const auto rows = ladder_rows(points(), kShape, studies);
  EXPECT_THAT(format_ladder(rows, Format::kTable),
              ContainsRegex("hopper.04 [^\n]* - +- +- +42 +600 +- +- +- +498\n"));
  const json object = json::parse(format_ladder(rows, Format::kJson))[2];
  EXPECT_TRUE(object["load_cycles"].is_null());
  EXPECT_EQ(object["wait_full_cycles"], 42);
  EXPECT_EQ(object["wait_empty_cycles"], 300);
}

TEST(LadderTable, NothingMeasuredIsAnEmptyLadder) {
  const std::string table = format_ladder(ladder_rows(points(), kShape, {}), Format::kTable);
  EXPECT_THAT(table, AllOf(HasSubstr("hopper.03 larger_tile"), Not(HasSubstr("cublas "))));
}

}  // namespace
}  // namespace hgemm
