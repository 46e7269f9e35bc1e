// Predictions for shapes that were left out, on made-up truths.
#include "replay/prediction.h"

#include <gmock/gmock.h>

#include "space/label.h"

namespace hgemm {
namespace {

using testing::SizeIs;

const KernelConfig kWide{.bn = 256};
const KernelConfig kNarrow{.bn = 64};
const std::vector<KernelConfig> kBoth = {kWide, kNarrow};

Shape shape(std::int64_t m) { return {.m = m, .n = 4096, .k = 4096, .tag = ""}; }

Truth truth(std::int64_t m, double wide, double narrow) {
  Truth truth{.shape = shape(m), .environment = {}, .entries = {{kWide, wide}, {kNarrow, narrow}}};
  truth.environment.gpu_name = "H200";
  return truth;
}

/// A model that likes wide tiles a little, whatever the shape.
double wide_is_better(const KernelConfig& config, const Shape&) {
  return config.bn == 256 ? 10 : 11;
}

std::string predicted(const std::vector<Truth>& truths, std::int64_t m,
                      Regime regime = Regime::kSustained) {
  return predict_best(truths, kBoth, shape(m), regime, "H200", wide_is_better).label;
}

TEST(Predictions, TheNearerShapeCounts) {
  const std::vector<Truth> truths = {truth(64, 0.5, 1.2), truth(8192, 1.1, 0.6)};
  EXPECT_EQ(predicted(truths, 128), label(kNarrow));
  EXPECT_EQ(predicted(truths, 4096), label(kWide));
  const PredictedBest best =
      predict_best(truths, kBoth, shape(128), Regime::kSustained, "H200", wide_is_better);
  EXPECT_NEAR(best.expected_ratio, 1.2, 0.01);
  ASSERT_THAT(best.measured, SizeIs(2));
  EXPECT_EQ(best.measured[0].m, 64);
}

TEST(Predictions, WhatWasMeasuredNowhereIsLikeItsLike) {
  const std::vector<Truth> truths = {truth(64, 0.5, 1.2)};
  const std::vector<KernelConfig> candidates = {{.bn = 248}, {.bn = 72}};
  const PredictedBest best = predict_best(
      truths, candidates, shape(128), Regime::kSustained, "H200",
      [](const KernelConfig& config, const Shape&) { return config.bn > 128 ? 10.0 : 11.0; });
  EXPECT_EQ(best.label, label(candidates[1]));
}

TEST(Predictions, OtherRegimesTypesAndGpusSayNothing) {
  const std::vector<Truth> truths = {truth(64, 0.5, 1.2)};
  EXPECT_EQ(predicted(truths, 128, Regime::kBurst), "");
  EXPECT_EQ(
      predict_best(truths, kBoth, shape(128), Regime::kSustained, "H20", wide_is_better).label, "");
  Shape fp16 = shape(128);
  fp16.dtype = Dtype::kFp16;
  EXPECT_EQ(predict_best(truths, kBoth, fp16, Regime::kSustained, "H200", wide_is_better).label,
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
