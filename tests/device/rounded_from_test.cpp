// Which numbers an 8-bit output stands for, against all values of both types.
#include "device/rounded_from.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace hgemm {
namespace {

constexpr DataType kTypes[] = {DataType::kE4m3, DataType::kE5m2};
constexpr unsigned kSign = 0x80;

TEST(RoundedFrom, ValuesAreThoseOfTheFormats) {
  EXPECT_EQ(value_of_magnitude(DataType::kE4m3, 0), 0.0F);
  EXPECT_EQ(value_of_magnitude(DataType::kE4m3, 1), 0x1p-9F);
  EXPECT_EQ(value_of_magnitude(DataType::kE4m3, 8), 0x1p-6F);
  EXPECT_EQ(value_of_magnitude(DataType::kE4m3, 0x38), 1.0F);
  EXPECT_EQ(value_of_magnitude(DataType::kE4m3, 0x7e), 448.0F);
  EXPECT_EQ(value_of_magnitude(DataType::kE5m2, 1), 0x1p-16F);
  EXPECT_EQ(value_of_magnitude(DataType::kE5m2, 4), 0x1p-14F);
  EXPECT_EQ(value_of_magnitude(DataType::kE5m2, 0x3c), 1.0F);
  EXPECT_EQ(value_of_magnitude(DataType::kE5m2, 0x7b), 57344.0F);
}

/// A value stands for all up to half way to its neighbours, and the largest for all beyond.
TEST(RoundedFrom, ReachesHalfWayToTheNeighbours) {
  for (const DataType type : kTypes) {
    for (unsigned magnitude = 0; magnitude < largest_magnitude(type); ++magnitude) {
      const float value = value_of_magnitude(type, magnitude);
      const float next = value_of_magnitude(type, magnitude + 1);
      const float half_way = (value + next) / 2;
      ASSERT_LT(value, next);
      for (const float inside : {value, half_way}) {
        EXPECT_EQ(distance_to_rounded_from(type, magnitude, inside), 0.0F) << magnitude;
        EXPECT_EQ(distance_to_rounded_from(type, magnitude | kSign, -inside), 0.0F) << magnitude;
      }
      EXPECT_FLOAT_EQ(distance_to_rounded_from(type, magnitude, next), next - half_way);
      EXPECT_FLOAT_EQ(distance_to_rounded_from(type, magnitude | kSign, -next), next - half_way);
      EXPECT_EQ(distance_to_rounded_from(type, magnitude + 1, half_way), 0.0F);
      EXPECT_FLOAT_EQ(distance_to_rounded_from(type, magnitude + 1, value), half_way - value);
    }
  }
}

TEST(RoundedFrom, TheLargestValueStandsForAllBeyond) {
  EXPECT_EQ(distance_to_rounded_from(DataType::kE4m3, 0x7e, 1e9F), 0.0F);
  EXPECT_EQ(distance_to_rounded_from(DataType::kE4m3, 0xfe, -449.0F), 0.0F);
  EXPECT_EQ(distance_to_rounded_from(DataType::kE4m3, 0x7e, 432.0F), 0.0F);
  EXPECT_EQ(distance_to_rounded_from(DataType::kE4m3, 0x7e, 400.0F), 32.0F);
  // The next smaller one does not.
  EXPECT_EQ(distance_to_rounded_from(DataType::kE4m3, 0x7d, 1432.0F), 1000.0F);
  EXPECT_EQ(distance_to_rounded_from(DataType::kE4m3, 0x7e, -448.0F), 432.0F + 448.0F);
}

TEST(RoundedFrom, NothingRoundsToNanOrInfinity) {
  for (const unsigned bits : {0x7fU, 0xffU}) {
    for (const DataType type : kTypes) {
      EXPECT_TRUE(std::isnan(distance_to_rounded_from(type, bits, 1.0F)));
    }
  }
  EXPECT_TRUE(std::isnan(distance_to_rounded_from(DataType::kE5m2, 0x7c, 1e9F)));
}

TEST(RoundedFrom, ANumberThatIsExpectedToBeNanFails) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(distance_to_rounded_from(DataType::kE4m3, 0x38, nan) <= 1e9F);
}

}  // namespace
}  // namespace hgemm
