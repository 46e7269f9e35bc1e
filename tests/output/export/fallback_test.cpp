// Which tuned shape stands in for one that was not tuned: the documented order, at its boundaries.
#include "output/export/fallback.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <vector>

namespace hgemm {
namespace {

/// Which number of rows was tuned that stands in for `m`, of the same N and K.
long long stands_in(const std::vector<long long>& tuned, long long m) {
  return *std::ranges::min_element(tuned, {}, [m](long long rows) {
    return bucket_distance({rows, 64, 64}, {m, 64, 64});
  });
}

TEST(Fallback, NextLargerNumberOfRowsComesFirst) {
  EXPECT_EQ(stands_in({15, 17}, 16), 17);
  EXPECT_EQ(stands_in({15, 32, 24}, 16), 24);
  EXPECT_EQ(stands_in({15, 16, 17}, 16), 16) << "the same number is as near as can be";
  EXPECT_EQ(stands_in({1, 2}, 1), 1);
}

TEST(Fallback, LargerOnesComeFirstUpToAFactorOfFour) {
  EXPECT_EQ(stands_in({15, 64}, 16), 64);
  EXPECT_EQ(stands_in({15, 65}, 16), 15) << "a tile for so many rows would be mostly empty";
  EXPECT_EQ(stands_in({1023, 4096}, 1024), 4096);
  EXPECT_EQ(stands_in({1023, 4097}, 1024), 1023);
}

TEST(Fallback, ABucketHasAsManyRowsOrFewerWithinThatFactor) {
  for (const long long m : {16, 17, 63, 64}) EXPECT_TRUE(is_in_bucket(64, m)) << m;
  for (const long long m : {1, 15, 65}) EXPECT_FALSE(is_in_bucket(64, m)) << m;
}

TEST(Fallback, BeyondThatTheNearestByRatio) {
  EXPECT_EQ(stands_in({2, 80}, 16), 80) << "5 times as many, or an eighth";
  EXPECT_EQ(stands_in({4, 160}, 16), 4) << "10 times as many, or a quarter";
  EXPECT_EQ(stands_in({8, 4}, 16), 8);
}

TEST(Fallback, RowsCountTwiceAmongShapes) {
  const auto to_64 = [](long long m, long long n, long long k) {
    return shape_distance({m, n, k}, {64, 64, 64});
  };
  EXPECT_EQ(to_64(64, 64, 64), 0);
  EXPECT_DOUBLE_EQ(to_64(128, 64, 64), 2);
  EXPECT_DOUBLE_EQ(to_64(64, 128, 64), 1);
  EXPECT_DOUBLE_EQ(to_64(64, 64, 16), 4);
  EXPECT_DOUBLE_EQ(to_64(32, 128, 128), 4);
}

TEST(Fallback, ProductsCountByTheirRatio) {
  const FallbackShape wanted{64, 64, 64, 8};
  EXPECT_EQ(bucket_distance({64, 64, 64, 8}, wanted), 0);
  EXPECT_DOUBLE_EQ(bucket_distance({64, 64, 64, 4}, wanted), 1);
  EXPECT_DOUBLE_EQ(bucket_distance({64, 64, 64, 16}, wanted), 1) << "more are no nearer than fewer";
  EXPECT_DOUBLE_EQ(bucket_distance({128, 64, 64, 32}, wanted), 3) << "and with M";
  EXPECT_DOUBLE_EQ(shape_distance({64, 64, 64, 2}, wanted), 4);
  EXPECT_DOUBLE_EQ(shape_distance({128, 64, 64, 16}, wanted), 3);
}

}  // namespace
}  // namespace hgemm
