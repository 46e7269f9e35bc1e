// Predictions for shapes that were left out, on made-up truths.
#include "results/prediction.h"

#include <gmock/gmock.h>

#include "families/family.h"

namespace hgemm {
namespace {

using testing::SizeIs;

const KernelConfig kWide = TiledConfig{.bn = 256};
const KernelConfig kNarrow = TiledConfig{.bn = 64};
const std::vector<KernelConfig> kBoth = {kWide, kNarrow};

GemmProblem problem(std::int64_t m) { return {.m = m, .n = 4096, .k = 4096, .tag = ""}; }

Truth truth(std::int64_t m, double wide, double narrow) {
  Truth truth{
      .problem = problem(m), .environment = {}, .entries = {{kWide, wide}, {kNarrow, narrow}}};
  truth.environment.gpu_name = "H200";
  return truth;
}

int bn_of(const KernelConfig& config) { return std::get<TiledConfig>(config).bn; }

/// A model that likes wide tiles a little, whatever the shape.
double wide_is_better(const KernelConfig& config, const GemmProblem&) {
  return bn_of(config) == 256 ? 10 : 11;
}

std::string predicted(const std::vector<Truth>& truths, std::int64_t m,
                      Regime regime = Regime::kSustained) {
  return predict_best(truths, kBoth, problem(m), regime, "H200", wide_is_better).label;
}

TEST(Predictions, TheNearerShapeCounts) {
  const std::vector<Truth> truths = {truth(64, 0.5, 1.2), truth(8192, 1.1, 0.6)};
  EXPECT_EQ(predicted(truths, 128), label(kNarrow));
  EXPECT_EQ(predicted(truths, 4096), label(kWide));
  const PredictedBest best =
      predict_best(truths, kBoth, problem(128), Regime::kSustained, "H200", wide_is_better);
  EXPECT_NEAR(best.expected_ratio, 1.2, 0.01);
  ASSERT_THAT(best.measured, SizeIs(2));
  EXPECT_EQ(best.measured[0].m, 64);
}

TEST(Predictions, WhatWasMeasuredNowhereIsLikeItsLike) {
  const std::vector<Truth> truths = {truth(64, 0.5, 1.2)};
  const std::vector<KernelConfig> candidates = {TiledConfig{.bn = 248}, TiledConfig{.bn = 72}};
  const PredictedBest best =
      predict_best(truths, candidates, problem(128), Regime::kSustained, "H200",
                   [](const KernelConfig& config, const GemmProblem&) {
                     return bn_of(config) > 128 ? 10.0 : 11.0;
                   });
  EXPECT_EQ(best.label, label(candidates[1]));
}

TEST(Predictions, OtherRegimesTypesAndGpusSayNothing) {
  const std::vector<Truth> truths = {truth(64, 0.5, 1.2)};
  EXPECT_EQ(predicted(truths, 128, Regime::kBurst), "");
  EXPECT_EQ(
      predict_best(truths, kBoth, problem(128), Regime::kSustained, "H20", wide_is_better).label,
      "");
  GemmProblem fp16 = problem(128);
  fp16.set_types(DataType::kFp16);
  EXPECT_EQ(predict_best(truths, kBoth, fp16, Regime::kSustained, "H200", wide_is_better).label,
            "");
  GemmProblem fp32_out = problem(128);
  fp32_out.d_type = DataType::kFp32;
  EXPECT_EQ(predict_best(truths, kBoth, fp32_out, Regime::kSustained, "H200", wide_is_better).label,
            "");
  EXPECT_EQ(predicted(truths, 64), "") << "the shape itself does not count";
}

TEST(Predictions, LeavingOneOutSaysWhatIsLost) {
  const std::vector<Truth> truths = {truth(64, 0.5, 1.0), truth(128, 0.5, 1.0),
                                     truth(256, 1.0, 0.5)};
  const auto all = leave_one_out(truths, wide_is_better);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_DOUBLE_EQ(all[0].fraction, 1);
  EXPECT_DOUBLE_EQ(all[2].fraction, 0.5) << "its neighbours like narrow ones";
  EXPECT_THAT(leave_one_out({truths.data(), 1}, wide_is_better), SizeIs(0));
}

}  // namespace
}  // namespace hgemm
