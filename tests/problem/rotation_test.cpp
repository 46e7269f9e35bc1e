// How many input sets launches rotate over.
#include <gtest/gtest.h>

#include "problem/problem.h"

namespace hgemm {
namespace {

constexpr std::int64_t kL2Bytes = 60ll << 20;
constexpr std::int64_t kFreeBytes = 140ll << 30;

Shape shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  Shape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  return shape;
}
int sets(const Shape& shape, std::int64_t free_bytes = kFreeBytes) {
  return rotation_sets(shape, kL2Bytes, free_bytes);
}

TEST(RotationSets, ExceedThreeTimesL2) {
  for (const Shape& s : {shape(512, 512, 512), shape(1024, 1024, 1024), shape(2048, 4096, 4096),
                         shape(1, 4096, 4096), shape(8192, 8192, 8192)}) {
    EXPECT_GE(sets(s) * s.bytes(), 3.0 * kL2Bytes) << to_string(s);
  }
}

TEST(RotationSets, OneIsEnoughWhereArithmeticIsTheBoundAndASetExceedsL2) {
  EXPECT_EQ(sets(shape(8192, 8192, 8192)), 1);
}

TEST(RotationSets, WhereMemoryIsTheBoundTheyAverageOverPlacements) {
  EXPECT_EQ(sets(shape(64, 32000, 4096)), 16);  // one exceeds 3x L2
  EXPECT_EQ(sets(shape(1, 12288, 4096)), 16);
  EXPECT_EQ(sets(shape(512, 512, 512)), 120);  // more are needed to leave L2
}

TEST(RotationSets, FewerPlacementsWhereMemoryIsShort) {
  const Shape s = shape(64, 32000, 4096);
  EXPECT_EQ(sets(s, static_cast<std::int64_t>(8 * s.bytes())), 3);
  EXPECT_EQ(sets(s, static_cast<std::int64_t>(s.bytes())), 1) << "as many as a cold rotation needs";
}

TEST(RotationSets, TinyShapesStayInCache) { EXPECT_EQ(sets(shape(1, 8, 8)), 512); }

}  // namespace
}  // namespace hgemm
