// Predictions for shapes that were left out: on made-up truths, and on the recorded ones.
#include "results/prediction.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "families/family.h"
#include "program/devices.h"
#include "search/calibration.h"
#include "store/store.h"

namespace hgemm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const KernelConfig kWide = TiledConfig{.bn = 256};
const KernelConfig kNarrow = TiledConfig{.bn = 64};

GemmProblem problem(std::int64_t m, std::int64_t n = 16384) {
  return {.m = m, .n = n, .k = 4096, .tag = ""};
}

Truth truth(std::int64_t m, double wide, double narrow) {
  return {.problem = problem(m), .environment = {}, .entries = {{kWide, wide}, {kNarrow, narrow}}};
}

int bn_of(const KernelConfig& config) { return std::get<TiledConfig>(config).bn; }

/// A model that likes wide tiles a little, whatever the shape.
double wide_is_better(const KernelConfig& config, const GemmProblem&) {
  return bn_of(config) == 256 ? 10 : 11;
}

/// Narrow tiles are the best up to 512 rows, wide ones from there on.
std::vector<Truth> many_rows() {
  return {truth(256, 0.5, 1.2), truth(512, 0.6, 1.1), truth(1024, 1.1, 0.6), truth(2048, 1.0, 0.5),
          truth(4096, 1.2, 0.5)};
}

TEST(Predictions, TheNearerShapeCounts) {
  const Predictions predictions(many_rows(), wide_is_better);
  EXPECT_EQ(predictions.of(problem(300)).label, label(kNarrow));
  const Prediction wide = predictions.of(problem(3000));
  EXPECT_EQ(wide.label, label(kWide));
  EXPECT_THAT(wide.refusal, IsEmpty());
  ASSERT_THAT(wide.from, SizeIs(3));
  EXPECT_EQ(wide.from[0].m, 4096);
  EXPECT_NEAR(wide.ratio, 1.1, 0.05) << "what the best had near this shape";
  EXPECT_LT(wide.interval.low, wide.ratio);
  EXPECT_GT(wide.interval.high, wide.ratio);
}

TEST(Predictions, NothingIsSaidOfOtherClasses) {
  const Predictions predictions(many_rows(), wide_is_better);
  GemmProblem fp16 = problem(1000), fp32_output = problem(1000), odd = problem(1000);
  fp16.set_types(DataType::kFp16);
  fp32_output.d_type = DataType::kFp32;
  odd.k = 4097;
  for (const GemmProblem& other :
       {problem(1), problem(128), problem(4096, 64), problem(256, 512), fp16, fp32_output, odd}) {
    const Prediction prediction = predictions.of(other);
    EXPECT_THAT(prediction.label, IsEmpty()) << class_name(other);
    EXPECT_THAT(prediction.refusal, HasSubstr(std::string(class_name(other)))) << other.m;
    EXPECT_THAT(prediction.refusal, HasSubstr("tune it"));
  }
  EXPECT_THAT(predictions.of(problem(1 << 20)).refusal, HasSubstr("the nearest shape measured"))
      << "of the class, but farther than its rows are from one another";
}

TEST(Predictions, TheShapeItselfDoesNotCount) {
  std::vector<Truth> truths = many_rows();
  truths[2] = truth(1024, 0.1, 9.0);
  const Prediction prediction = Predictions(truths, wide_is_better).of(problem(1024));
  EXPECT_LT(prediction.ratio, 2);
  for (const GemmProblem& from : prediction.from) EXPECT_NE(from.m, 1024);
}

TEST(Predictions, TooFewRowsGiveNone) {
  std::vector<Truth> truths = many_rows();
  truths.resize(3);
  const Prediction prediction = Predictions(truths, wide_is_better).of(problem(300));
  EXPECT_THAT(prediction.label, IsEmpty());
  EXPECT_THAT(prediction.refusal,
              HasSubstr("(more than 128 rows, bf16): 3, and an interval needs 4"));
}

TEST(Predictions, TheIntervalComesFromTheErrors) {
  const auto row = [](double predicted, double measured) {
    LeftOut one;
    one.ratio = predicted;
    one.measured = measured;
    return one;
  };
  const std::vector<LeftOut> rows = {row(1, 1.02), row(1, 1 / 1.05), row(2, 2.02), row(1, 1.3)};
  EXPECT_NEAR(half_width(rows), std::log(1.3), 1e-12) << "4 of 4 hold 4/5 of those to come";
  std::vector<LeftOut> nine(5, row(1, 1.01));
  nine.insert(nine.end(), rows.begin(), rows.end());
  EXPECT_NEAR(half_width(nine), std::log(1.05), 1e-12) << "8 of 9";
  EXPECT_TRUE(std::isinf(half_width({rows.data(), 3})));
  nine[0] = nine[1] = row(1, 0);
  EXPECT_TRUE(std::isinf(half_width(nine))) << "configs that failed are no small errors";
}

TEST(Predictions, LeavingOneOutSaysWhatIsLost) {
  const auto errors = Predictions(many_rows(), wide_is_better).errors();
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_EQ(errors[0].name, "more than 128 rows");
  ASSERT_THAT(errors[0].rows, SizeIs(5));
  EXPECT_DOUBLE_EQ(errors[0].rows[4].fraction, 1);
  EXPECT_DOUBLE_EQ(errors[0].rows[4].measured, 1.2);
  std::vector<Truth> one_differs;
  for (const std::int64_t m : {256, 512, 1024, 2048, 4096}) {
    one_differs.push_back(m == 1024 ? truth(m, 0.5, 1) : truth(m, 1, 0.5));
  }
  EXPECT_DOUBLE_EQ(Predictions(one_differs, wide_is_better).errors()[0].rows[2].fraction, 0.5);
}

// What the interval promises, on rows that neither the prediction nor its interval has seen.
TEST(Predictions, IntervalsHoldWhatWasRecorded) {
  const Store store =
      Store::open(HGEMM_SOURCE_DIR "/results/h200/truth.db", Store::Mode::kReadOnly);
  std::map<Regime, std::vector<Truth>> by_regime;
  for (Truth& one : truths(store.races())) by_regime[one.regime].push_back(std::move(one));
  int predicted = 0, held = 0;
  double widest = 0;
  for (const auto& [regime, known] : by_regime) {
    const CostFigures figures =
        calibrated_figures(cli::known_devices(), known.front().environment, regime, {});
    const Predictor predictor = [&figures](const KernelConfig& config, const GemmProblem& at) {
      return predict_cost(figures, config, at).us();
    };
    for (const Truth& row : known) {
      std::vector<Truth> others;
      std::ranges::copy_if(known, std::back_inserter(others), [&row](const Truth& other) {
        return !other.problem.same_problem(row.problem) && same_class(other.problem, row.problem);
      });
      const Prediction prediction = Predictions(others, predictor).of(row.problem);
      if (prediction.label.empty()) continue;
      const auto entry =
          std::ranges::find(row.entries, parse_label(prediction.label), &Truth::Entry::config);
      if (entry == row.entries.end()) continue;  // not recorded here
      ++predicted;
      widest = std::max(widest, prediction.interval.high / prediction.ratio);
      held += entry->speed >= prediction.interval.low && entry->speed <= prediction.interval.high;
    }
  }
  EXPECT_GE(predicted, 25);
  EXPECT_GE(held, kCoverage * predicted) << "of " << predicted;
  EXPECT_LE(widest, 1.5) << "an interval that holds everything says nothing";
}

}  // namespace
}  // namespace hgemm
