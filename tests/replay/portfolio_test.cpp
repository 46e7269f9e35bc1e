// Few kernels for many shapes, on made-up truths.
#include "replay/portfolio.h"

#include <gmock/gmock.h>

#include "space/label.h"

namespace hgemm {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const KernelConfig kWide{.bn = 256};
const KernelConfig kMiddle{.bn = 128};
const KernelConfig kNarrow{.bn = 64};

/// A shape with the speeds of the wide, the middle and the narrow one.
Truth truth(std::int64_t n, double wide, double middle, double narrow) {
  return {.shape = {.m = 64, .n = n, .k = 64, .tag = ""},
          .environment = {},
          .entries = {{kWide, wide}, {kMiddle, middle}, {kNarrow, narrow}}};
}

TEST(Portfolio, OneKernelIsTheBestCompromiseAndTwoAreTheTwoWinners) {
  const std::vector<Truth> truths = {truth(64, 0.6, 0.9, 1.0), truth(4096, 1.0, 0.9, 0.6)};
  const Portfolio one = choose_portfolio(truths, 1);
  EXPECT_THAT(one.labels, ElementsAre(label(kMiddle)));
  ASSERT_THAT(one.choices, SizeIs(2));
  EXPECT_NEAR(one.choices[0].fraction, 0.9, 1e-12);

  // The compromise that was taken first is exchanged.
  const Portfolio two = choose_portfolio(truths, 2);
  EXPECT_THAT(two.labels, UnorderedElementsAre(label(kWide), label(kNarrow)));
  for (const Portfolio::Choice& choice : two.choices) EXPECT_NEAR(choice.fraction, 1, 1e-12);
  EXPECT_THAT(choose_portfolio(truths, 9).labels, SizeIs(2)) << "more would not help";
}

TEST(Portfolio, CoversEveryShapeBeforeItMakesAnyFaster) {
  const std::vector<Truth> truths = {truth(64, 1.0, 0.2, 0), truth(128, 1.0, 0.2, 0),
                                     truth(60, 0, 0, 1.0)};
  const Portfolio two = choose_portfolio(truths, 2);
  EXPECT_THAT(two.labels, UnorderedElementsAre(label(kWide), label(kNarrow)));
  EXPECT_THAT(two.uncovered, SizeIs(0));
  const Portfolio one = choose_portfolio(truths, 1);
  EXPECT_THAT(one.labels, ElementsAre(label(kWide)));
  ASSERT_THAT(one.uncovered, SizeIs(1));
  EXPECT_EQ(one.uncovered[0].n, 60);
}

}  // namespace
}  // namespace hgemm
