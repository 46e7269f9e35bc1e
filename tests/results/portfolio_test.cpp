// Few kernels for many shapes, on made-up truths.
#include "results/portfolio.h"

#include <gmock/gmock.h>

#include "families/family.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const KernelConfig kWide = TiledConfig{.bn = 256};
const KernelConfig kMiddle = TiledConfig{.bn = 128};
const KernelConfig kNarrow = TiledConfig{.bn = 64};

/// A problem with the speeds of the wide, the middle and the narrow one.
Truth truth(std::int64_t n, double wide, double middle, double narrow) {
  return {.problem = {.m = 64, .n = n, .k = 64, .tag = ""},
          .environment = {},
          .entries = {{kWide, wide}, {kMiddle, middle}, {kNarrow, narrow}}};
}

TEST(Portfolio, OneKernelIsTheBestCompromiseAndTwoAreTheTwoWinners) {
  const std::vector<Truth> truths = {truth(64, 0.6, 0.9, 1.0), truth(4096, 1.0, 0.9, 0.6)};
  const Portfolio one = choose_portfolio(truths, 1);
  EXPECT_THAT(one.kernels, ElementsAre(label(kMiddle)));
  ASSERT_THAT(one.choices, SizeIs(2));
  EXPECT_NEAR(one.choices[0].fraction, 0.9, 1e-12);

  // The compromise that was taken first is exchanged.
  const Portfolio two = choose_portfolio(truths, 2);
  EXPECT_THAT(two.kernels, UnorderedElementsAre(label(kWide), label(kNarrow)));
  for (const Portfolio::Choice& choice : two.choices) EXPECT_NEAR(choice.fraction, 1, 1e-12);
  EXPECT_THAT(choose_portfolio(truths, 9).kernels, SizeIs(2)) << "more would not help";
}

TEST(Portfolio, CoversEveryProblemBeforeItMakesAnyFaster) {
  const std::vector<Truth> truths = {truth(64, 1.0, 0.2, 0), truth(128, 1.0, 0.2, 0),
                                     truth(60, 0, 0, 1.0)};
  const Portfolio two = choose_portfolio(truths, 2);
  EXPECT_THAT(two.kernels, UnorderedElementsAre(label(kWide), label(kNarrow)));
  EXPECT_THAT(two.uncovered, SizeIs(0));
  const Portfolio one = choose_portfolio(truths, 1);
  EXPECT_THAT(one.kernels, ElementsAre(label(kWide)));
  ASSERT_THAT(one.uncovered, SizeIs(1));
  EXPECT_EQ(one.uncovered[0].n, 60);
}

TEST(Portfolio, OneThatIsMadeForAProblemIsAnotherKernelAtEach) {
  const KernelConfig fixed = TiledConfig{.bn = 256, .fixed = true};
  std::vector<Truth> truths = {truth(64, 0.5, 0.9, 0.5), truth(4096, 0.5, 0.9, 0.5)};
  for (Truth& truth : truths) truth.entries.push_back({fixed, 1.0});
  const Portfolio one = choose_portfolio(truths, 1);
  EXPECT_THAT(one.kernels, ElementsAre(label(kMiddle)));
  const Portfolio two = choose_portfolio(truths, 2);
  EXPECT_THAT(two.kernels, UnorderedElementsAre(label(fixed) + " for 64x64x64",
                                                label(fixed) + " for 64x4096x64"));
  ASSERT_THAT(two.choices, SizeIs(2));
  for (const Portfolio::Choice& choice : two.choices) {
    EXPECT_EQ(choice.label, label(fixed));
    EXPECT_NEAR(choice.fraction, 1, 1e-12);
  }
}

// A config is compiled for each type that it computes.
TEST(Portfolio, OfEachTypeThereIsAKernelOfItsOwn) {
  std::vector<Truth> truths = {truth(64, 1.0, 0.5, 0.5), truth(64, 1.0, 0.5, 0.5),
                               truth(64, 1.0, 0.5, 0.5)};
  truths[1].problem.set_types(DataType::kFp16);
  truths[2].problem.d_type = DataType::kFp32;
  EXPECT_THAT(choose_portfolio(truths, 1).uncovered, SizeIs(2));
  const Portfolio three = choose_portfolio(truths, 3);
  EXPECT_THAT(three.kernels, SizeIs(3));
  EXPECT_THAT(three.uncovered, SizeIs(0));
}

}  // namespace
}  // namespace hgemm
