#include "statistics/statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace hgemm {
namespace {

using ::testing::DoubleNear;

TEST(Median, OfOddEvenAndUnorderedValues) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2.0);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 3.0, 2.0}), 2.5);
  EXPECT_EQ(median(std::vector{7.0}), 7.0);
}

TEST(Median, IsNotMovedByAnOutlier) {
  EXPECT_EQ(median(std::vector{1.0, 2.0, 3.0, 4.0, 1e9}), 3.0);
}

TEST(Median, OfNothingOrOfANaNIsNaN) {
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_TRUE(std::isnan(median(std::vector{1.0, std::nan(""), 2.0})));
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItSays) {
  std::mt19937_64 generator(7);
  // Skewed, as times are; its median is 1.
  std::lognormal_distribution<double> times(0.0, 0.05);
  constexpr int kExperiments = 600;
  int covered_95 = 0, covered_50 = 0;
  for (int experiment = 0; experiment < kExperiments; ++experiment) {
    std::vector<double> values(25);
    for (double& value : values) value = times(generator);
    const auto seed = static_cast<std::uint64_t>(experiment);
    const Interval at_95 = median_interval(values, 0.95, seed, 500);
    const Interval at_50 = median_interval(values, 0.50, seed, 500);
    covered_95 += at_95.low <= 1 && 1 <= at_95.high;
    covered_50 += at_50.low <= 1 && 1 <= at_50.high;
  }
  // Standard error of the shares: 0.009 and 0.02. The percentile interval is a little off by
  // nature.
  EXPECT_THAT(covered_95 / double{kExperiments}, DoubleNear(0.95, 0.035));
  EXPECT_THAT(covered_50 / double{kExperiments}, DoubleNear(0.50, 0.12));
}

TEST(MedianInterval, NarrowsWithMoreValues) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> noise(100, 1);
  std::vector<double> values(400);
  for (double& value : values) value = noise(generator);
  const Interval few = median_interval(std::span(values).first(25));
  const Interval many = median_interval(values);
  // Four times narrower in expectation.
  EXPECT_LT(many.high - many.low, (few.high - few.low) / 2);
  EXPECT_LE(many.low, median(values));
  EXPECT_GE(many.high, median(values));
}

TEST(MedianInterval, IsTheSameForTheSameSeedOnly) {
  std::vector<double> values;
  for (int i = 0; i < 31; ++i) values.push_back(std::sin(i) + 2);
  const Interval a = median_interval(values, 0.95, 5, 50);
  const Interval b = median_interval(values, 0.95, 5, 50);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  bool any_differs = false;
  for (std::uint64_t seed = 6; seed < 12; ++seed) {
    const Interval c = median_interval(values, 0.95, seed, 50);
    any_differs |= c.low != a.low || c.high != a.high;
  }
  EXPECT_TRUE(any_differs);
}

TEST(MedianInterval, OfOneValueIsThatValueAndOfNoneIsNaN) {
  const Interval one = median_interval(std::vector{4.25});
  EXPECT_EQ(one.low, 4.25);
  EXPECT_EQ(one.high, 4.25);
  EXPECT_TRUE(std::isnan(median_interval({}).low));
  EXPECT_TRUE(std::isnan(median_interval({}).high));
}

TEST(Geomean, IsTheExpOfTheMeanLog) {
  EXPECT_DOUBLE_EQ(geomean(std::vector{2.0, 8.0}), 4.0);
  EXPECT_DOUBLE_EQ(geomean(std::vector{2.0, 2.0, 16.0}), 4.0);
}

TEST(Geomean, HasNoneOfNothingZeroOrNegative) {
  EXPECT_TRUE(std::isnan(geomean({})));
  EXPECT_TRUE(std::isnan(geomean(std::vector{1.0, 0.0})));
  EXPECT_TRUE(std::isnan(geomean(std::vector{1.0, -1.0})));
  EXPECT_TRUE(std::isnan(geomean(std::vector{1.0, std::nan("")})));
}

}  // namespace
}  // namespace hgemm
