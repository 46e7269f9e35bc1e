#include "search/racing.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "simulated_race.h"

namespace hgemm {
namespace {

/// Candidates of different speed over rounds that drift.
std::vector<std::vector<double>> draw_times(std::size_t candidates, std::size_t rounds,
                                            const Noise& noise, std::mt19937_64& random) {
  std::vector<std::vector<double>> times(candidates, std::vector<double>(rounds));
  for (std::size_t round = 0; round < rounds; ++round) {
    const double drift = std::exp(0.03 * gauss(random));
    for (std::size_t c = 0; c < candidates; ++c) {
      times[c][round] = (100 + 5 * static_cast<double>(c)) * drift * std::exp(noise(random));
    }
  }
  return times;
}

/// Median and 5 % quantile over many draws, as shares of the true standard deviation.
struct Spread {
  double middle, low;
};
Spread estimates(std::size_t candidates, std::size_t rounds, const Noise& noise, double of_ratio) {
  std::mt19937_64 random(11);
  std::vector<double> out(2000);
  for (double& value : out) {
    value = ratio_noise(draw_times(candidates, rounds, noise, random)) / of_ratio;
  }
  std::ranges::sort(out);
  return {out[out.size() / 2], out[out.size() / 20]};
}

TEST(RatioNoise, IsTheStandardDeviationOfOneRatioWhateverTheSpeedsAndTheDrift) {
  EXPECT_NEAR(estimates(12, 20, normal_noise(0.01), 0.01).middle, 1, 0.05);
  EXPECT_NEAR(estimates(12, 20, normal_noise(0.002), 0.002).middle, 1, 0.05);
}

TEST(RatioNoise, OfFewRoundsIsSeldomFarTooSmall) {
  EXPECT_GT(estimates(12, 2, normal_noise(0.01), 0.01).low, 0.5);
  EXPECT_GT(estimates(3, 5, normal_noise(0.01), 0.01).low, 0.5);
  EXPECT_GT(estimates(12, 2, bimodal_noise(0.01, 0.5), 0.01).low, 0.5);
}

TEST(RatioNoise, SeesASecondModeThatIsVisitedNowAndThen) {
  // One sample in ten is in the slower mode: a median of deviations sees the mode's own width, 0.3.
  EXPECT_GT(estimates(12, 9, bimodal_noise(0.01, 0.1), 0.01).low, 0.8);
}

TEST(RatioNoise, IsNotBlownUpByFewOutliers) {
  std::mt19937_64 random(3);
  for (const std::size_t rounds : {3, 6, 9}) {
    auto times = draw_times(12, rounds, normal_noise(0.002), random);
    const double without = ratio_noise(times);
    times[4][rounds / 2] *= 1.1;
    EXPECT_LT(ratio_noise(times), 2 * without) << rounds << " rounds";
  }
}

TEST(RatioNoise, OfTooFewIsUnknown) {
  std::mt19937_64 random(3);
  const auto of = [&](std::size_t candidates, std::size_t rounds) {
    return ratio_noise(draw_times(candidates, rounds, normal_noise(0.002), random));
  };
  EXPECT_TRUE(std::isinf(of(12, 1)));
  EXPECT_TRUE(std::isinf(of(1, 40)));
  EXPECT_TRUE(std::isinf(of(3, 2)));
  EXPECT_TRUE(std::isinf(of(3, 4)));
  EXPECT_TRUE(std::isinf(of(8, 2)));
  EXPECT_LT(of(3, 5), 0.01);
  EXPECT_LT(of(9, 2), 0.01);
}

TEST(RatioNoise, OfRoundsThatAgreeByChanceIsNotZero) {
  const std::vector<std::vector<double>> equal(12, {100, 100});
  EXPECT_GE(ratio_noise(equal), 0.0005);
}

TEST(IsClearlySlower, IfTheMedianRatioIsBeyondTheMarginAndTheNoise) {
  const std::vector<double> four(4, 1.04);
  EXPECT_TRUE(is_clearly_slower(four, 0.01, 0.005));
  EXPECT_FALSE(is_clearly_slower(four, 0.02, 0.005));
  EXPECT_FALSE(is_clearly_slower(four, 0.01, 0.03));
  // Known to be slower, but by no more than the margin: a tie.
  EXPECT_FALSE(is_clearly_slower(std::vector<double>(40, 1.004), 0.0001, 0.005));
  EXPECT_FALSE(is_clearly_slower(std::vector<double>(40, 1), 0, 0));
}

TEST(IsClearlySlower, TakesLessWithMoreRounds) {
  EXPECT_FALSE(is_clearly_slower(std::vector<double>(4, 1.02), 0.01, 0.005));
  EXPECT_TRUE(is_clearly_slower(std::vector<double>(16, 1.02), 0.01, 0.005));
}

TEST(IsClearlySlower, NotForOneBadSample) {
  EXPECT_FALSE(is_clearly_slower(std::vector{1.0, 1.1}, 0.002, 0.005));
  EXPECT_FALSE(is_clearly_slower(std::vector{1.1, 1.001, 1.0}, 0.002, 0.005));
  EXPECT_TRUE(is_clearly_slower(std::vector{1.1, 1.1}, 0.002, 0.005));
  // Nor is a slow one saved by one lucky sample of three.
  EXPECT_TRUE(is_clearly_slower(std::vector{1.1, 1.1, 0.99}, 0.002, 0.005));
}

}  // namespace
}  // namespace hgemm
