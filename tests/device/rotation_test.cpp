// How many input sets launches rotate over.
#include <gtest/gtest.h>

#include "device/problem_data.h"

namespace hgemm {
namespace {

constexpr std::int64_t kL2Bytes = 60ll << 20;
constexpr std::int64_t kFreeBytes = 140ll << 30;

GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}
int sets(const GemmProblem& problem, std::int64_t free_bytes = kFreeBytes) {
  return rotation_sets(problem, kL2Bytes, free_bytes);
}

TEST(RotationSets, ExceedThreeTimesL2) {
  for (const GemmProblem& s :
       {problem(512, 512, 512), problem(1024, 1024, 1024), problem(2048, 4096, 4096),
        problem(1, 4096, 4096), problem(8192, 8192, 8192)}) {
    EXPECT_GE(sets(s) * s.bytes(), 3.0 * kL2Bytes) << to_string(s);
  }
}

TEST(RotationSets, CountTheBytesOfEachOperandsType) {
  GemmProblem fp32_output = problem(512, 512, 512);
  fp32_output.d_type = DataType::kFp32;
  EXPECT_EQ(sets(fp32_output), 90) << "2 MiB each: bf16 has 120 of 1.5";
}

TEST(RotationSets, OneIsEnoughWhereArithmeticIsTheBoundAndASetExceedsL2) {
  EXPECT_EQ(sets(problem(8192, 8192, 8192)), 1);
}

TEST(RotationSets, WhereMemoryIsTheBoundTheyAverageOverPlacements) {
  EXPECT_EQ(sets(problem(64, 32000, 4096)), 16);  // one exceeds 3x L2
  EXPECT_EQ(sets(problem(1, 12288, 4096)), 16);
  EXPECT_EQ(sets(problem(512, 512, 512)), 120);  // more are needed to leave L2
}

TEST(RotationSets, FewerPlacementsWhereMemoryIsShort) {
  const GemmProblem s = problem(64, 32000, 4096);
  EXPECT_EQ(sets(s, static_cast<std::int64_t>(8 * s.bytes())), 3);
  EXPECT_EQ(sets(s, static_cast<std::int64_t>(s.bytes())), 1) << "as many as a cold rotation needs";
}

TEST(RotationSets, TinyShapesStayInCache) { EXPECT_EQ(sets(problem(1, 8, 8)), 512); }

}  // namespace
}  // namespace hgemm
