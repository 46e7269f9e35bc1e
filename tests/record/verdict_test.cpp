// The verdict on an output, from what a comparison counted.
#include "record/verdict.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "gemm/codec.h"
#include "record/trial.h"

namespace hgemm {
namespace {

using testing::HasSubstr;

constexpr unsigned long long kNone = ~0ull;
const GemmProblem kProblem = parse_problem("512x256x4096");

float tolerance(int roundings = 1) { return static_cast<float>(kProblem.tolerance(roundings)); }

TEST(IsWithin, TheToleranceItselfPassesAndWhatIsNextToItFails) {
  const float limit = tolerance();
  EXPECT_TRUE(is_within(0, limit));
  EXPECT_TRUE(is_within(limit, limit));
  EXPECT_FALSE(is_within(std::nextafter(limit, 1.0f), limit));
  EXPECT_FALSE(is_within(10 * limit, limit));
  EXPECT_FALSE(is_within(std::numeric_limits<float>::infinity(), limit));
}

TEST(IsWithin, NaNIsOverAnyTolerance) {
  const float nan = std::nanf("");
  EXPECT_FALSE(is_within(nan, 1));
  EXPECT_FALSE(is_within(nan, std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(is_within(0, nan));
}

TEST(Judge, AnErrorAtTheToleranceIsCorrect) {
  const Verdict verdict = judge({tolerance(), 0, 0, kNone}, kProblem, 1);
  EXPECT_TRUE(verdict.correct) << verdict.message;
  EXPECT_EQ(verdict.message, "");
  EXPECT_EQ(verdict.error, static_cast<double>(tolerance()));
  EXPECT_EQ(verdict.tolerance, 0x1p-8 + 256 * 0x1p-23);
}

TEST(Judge, AnErrorOverTheToleranceIsWrongWhateverWasCounted) {
  for (const float error : {std::nextafter(tolerance(), 1.0f), 2 * tolerance(), 10 * tolerance(),
                            std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const Verdict uncounted = judge({error, 0, 0, kNone}, kProblem, 1);
    EXPECT_FALSE(uncounted.correct) << error;
    EXPECT_THAT(uncounted.message, HasSubstr("over the tolerance")) << error;
    const Verdict counted = judge({error, 0, 1, 513}, kProblem, 1);
    EXPECT_FALSE(counted.correct) << error;
    EXPECT_THAT(counted.message, HasSubstr("1 of 131072 elements are wrong, the first at row 2, "
                                           "column 1"));
  }
}

TEST(Judge, TheFirstWrongElementOfABatchIsOfAProduct) {
  const GemmProblem batch = parse_problem("512x256x4096.batch3");
  const Verdict verdict = judge({1, 0, 2, 131072 + 513}, batch, 1);
  EXPECT_FALSE(verdict.correct);
  EXPECT_EQ(verdict.message,
            "2 of 393216 elements are wrong, the first at product 1, row 2, column 1");
}

TEST(Judge, RoundingsWidenTheTolerance) {
  const float two = tolerance(2);
  EXPECT_TRUE(judge({two, 0, 0, kNone}, kProblem, 2).correct);
  EXPECT_FALSE(judge({two, 0, 0, kNone}, kProblem, 1).correct);
}

TEST(Judge, BadElementsWithoutAnErrorAreNaN) {
  const Verdict verdict = judge({0, 0, 3, 0}, kProblem, 1);
  EXPECT_FALSE(verdict.correct);
  EXPECT_TRUE(std::isnan(verdict.error));
  EXPECT_THAT(verdict.message, HasSubstr("NaN, or never written"));
}

TEST(Judge, AWriteOutsideTheOutputIsWrong) {
  const Verdict verdict = judge({0, 1, 0, kNone}, kProblem, 1);
  EXPECT_FALSE(verdict.correct);
  EXPECT_EQ(verdict.message, "1 elements outside the output were written");
}

}  // namespace
}  // namespace hgemm
