// The checksums of races and studies stand in databases: how they are made may not change without a
// new schema version, or every database of before would count as damaged.
#include "store/checksum.h"

#include <gtest/gtest.h>

#include <limits>

namespace hgemm {
namespace {

RecordedRace a_race() {
  RecordedRace recorded;
  recorded.uid = "0123456789abcdef0123456789abcdef";
  recorded.environment.gpu_name = "NVIDIA H200";
  recorded.environment.sm_count = 132;
  recorded.environment.driver = "580.1";
  recorded.run.gpu_uuid = "GPU-1";
  recorded.started_utc = "2026-11-23T12:00:00Z";
  recorded.race.problem = {.m = 64, .n = 128, .k = 256, .tag = "a tag"};
  Trial trial;
  trial.label = "cublas";
  trial.verdict = {.correct = true, .error = 0.25, .tolerance = 0.5, .message = ""};
  trial.samples.resize(2);
  for (int round = 0; round < 2; ++round) {
    Sample& sample = trial.samples[static_cast<std::size_t>(round)];
    sample.round = round;
    sample.launches = 20;
    sample.time_us = 10 + round;
    sample.sm_mhz = 1500;
  }
  trial.energy = Energy{.window_s = 2, .power_w = 600, .time_us = 10};
  recorded.race.trials = {trial};
  return recorded;
}

RecordedStudy a_study() {
  RecordedStudy recorded;
  recorded.uid = "0123456789abcdef0123456789abcdef";
  recorded.started_utc = "2026-11-23T12:00:00Z";
  Study& study = recorded.study;
  study.kind = "probe";
  study.label = "a label";
  study.problem = GemmProblem{.m = 64, .n = 128, .k = 256, .tag = ""};
  study.figures = {{.point = "p", .metric = "m", .unit = "us", .value = 1, .low = 0, .high = 2}};
  study.spans = {{.sm = 1, .cta = 2, .role = "producer", .phase = "issue", .start_ns = 3}};
  study.parts = {{.position = 1, .variant = "v", .problem = *study.problem, .label = "l"}};
  Sample sample;
  sample.launches = 1;
  sample.time_us = 5;
  study.series = {{.name = "step", .samples = {sample}}};
  return recorded;
}

TEST(Checksum, IsThatOfTheDatabasesThatThereAre) {
  EXPECT_EQ(sql::checksum(a_race()), 16011644227139553985u);
  EXPECT_EQ(sql::checksum(a_study()), 9819606964478575745u);
}

TEST(Checksum, CoversTheTimeOfCalls) {
  RecordedRace with = a_race();
  with.race.trials[0].calls = CallTime{.calls = 25, .host_us = 3, .kernels = 1, .kernel_us = 9};
  const std::uint64_t sum = sql::checksum(with);
  EXPECT_NE(sum, sql::checksum(a_race()));
  with.race.trials[0].calls->kernel_us.reset();
  EXPECT_NE(sum, sql::checksum(with));
}

TEST(Checksum, DoesNotLookAtTheOrderOfRows) {
  RecordedRace turned = a_race();
  std::swap(turned.race.trials[0].samples[0], turned.race.trials[0].samples[1]);
  EXPECT_EQ(sql::checksum(turned), sql::checksum(a_race()));
}

TEST(Checksum, TellsNothingApartThatADatabaseGivesBackOtherwise) {
  RecordedRace race = a_race();
  race.race.problem.weight = 0.0;
  const auto with_zero = sql::checksum(race);
  race.race.problem.weight = -0.0;
  EXPECT_EQ(sql::checksum(race), with_zero);
  race.race.trials[0].verdict.error = std::numeric_limits<double>::quiet_NaN();
  const auto with_nan = sql::checksum(race);
  race.race.trials[0].verdict.error = -std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(sql::checksum(race), with_nan);
}

}  // namespace
}  // namespace hgemm
