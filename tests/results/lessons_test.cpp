// What recorded races teach a search at another problem.
#include "results/lessons.h"

#include <gmock/gmock.h>

#include <cmath>

#include "recordings.h"

namespace hgemm {
namespace {

using namespace hgemm::test;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

GemmProblem of_rows(std::int64_t rows) { return {.m = rows, .n = 4096, .k = 4096, .tag = ""}; }

/// A race in which cublas takes 100 us. A takes 50 and B 80 us, C failed.
RecordedRace race_of(const GemmProblem& problem, double a_us = 50) {
  return race({ok("cublas", samples(100, 0, 9)), ok(kA, samples(a_us, 0, 9)),
               ok(kB, samples(80, 0, 9)), failed(kC, Status::kWrongResult)},
              "580", problem);
}

/// The model takes all configs for equal, and a larger problem for slower.
double predicted_us(const KernelConfig&, const GemmProblem& problem) {
  return static_cast<double>(problem.m);
}

Lessons lessons_of(std::span<const RecordedRace> races) {
  return {races, Regime::kSustained, [](const Trial&, const GemmProblem&) { return true; },
          predicted_us};
}

TEST(Lessons, AreResidualsWithoutWhatARaceHasInCommon) {
  const std::vector<RecordedRace> races = {race_of(of_rows(64))};
  const Elsewhere elsewhere = lessons_of(races).for_search_at(of_rows(128));
  ASSERT_THAT(elsewhere.lessons, SizeIs(2)) << "a failure teaches nothing";
  std::map<std::string, double> residuals;
  for (const Lesson& lesson : elsewhere.lessons) residuals[label(lesson.config)] = lesson.residual;
  EXPECT_NEAR(residuals.at(kB) - residuals.at(kA), std::log(80.0 / 50), 0.01);
  EXPECT_NEAR(residuals.at(kA) + residuals.at(kB), 0, 1e-9);
  ASSERT_THAT(elsewhere.fastest, SizeIs(2));
  EXPECT_EQ(label(elsewhere.fastest.front()), kA);
}

TEST(Lessons, NearerProblemsWeighMoreAndFarOnesAreLeftOut) {
  std::vector<RecordedRace> races;
  for (const std::int64_t rows : {1, 16, 100, 128, 256, 512, 1024, 2048, 4096}) {
    races.push_back(race_of(of_rows(rows)));
  }
  const Elsewhere elsewhere = lessons_of(races).for_search_at(of_rows(128));
  std::vector<double> distances;
  for (std::size_t i = 0; i < elsewhere.lessons.size(); i += 2) {
    distances.push_back(elsewhere.lessons[i].distance);
  }
  ASSERT_THAT(distances, SizeIs(6)) << "of problems";
  EXPECT_TRUE(std::ranges::is_sorted(distances));
  EXPECT_GT(distances.front(), 0) << "the problem itself is not among them";
  EXPECT_LT(distances.front(), 0.5 * distances[1]);
  EXPECT_NEAR(distances[1], distances[2] / 2, 1e-9) << "256 and 512 rows";
}

TEST(Lessons, OnlyTheSameTypesRegimeAndKernelsTeach) {
  GemmProblem fp32 = of_rows(64);
  fp32.d_type = DataType::kFp32;
  std::vector<RecordedRace> races = {race_of(fp32), race_of(of_rows(256))};
  races[1].race.regime = Regime::kBurst;
  EXPECT_THAT(lessons_of(races).for_search_at(of_rows(128)).lessons, IsEmpty());

  races = {race_of(of_rows(64))};
  const Lessons old{races, Regime::kSustained,
                    [](const Trial& trial, const GemmProblem&) { return trial.label == kB; },
                    predicted_us};
  const Elsewhere elsewhere = old.for_search_at(of_rows(128));
  ASSERT_THAT(elsewhere.fastest, SizeIs(1)) << "kernel A was edited";
  EXPECT_EQ(label(elsewhere.fastest.front()), kB);
}

TEST(Lessons, SpeedsAtAProblemAreThoseOfAllItsRaces) {
  const std::vector<RecordedRace> races = {race_of(of_rows(64)), race_of(of_rows(64), 40)};
  const auto speeds = lessons_of(races).speeds_at(of_rows(64));
  EXPECT_NEAR(speeds.at(kA), 2.5, 0.01) << "the newest";
  EXPECT_EQ(speeds.at(kC), 0);
  EXPECT_THAT(lessons_of(races).speeds_at(of_rows(65)), IsEmpty());
}

}  // namespace
}  // namespace hgemm
