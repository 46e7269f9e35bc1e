#include "record/trial.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Words, EveryStatusStageAndRegimeSurvivesItsText) {
  for (const Status status :
       {Status::kOk, Status::kInvalidConfig, Status::kCompileFailed, Status::kLaunchFailed,
        Status::kWrongResult, Status::kTimedOut, Status::kCrashed}) {
    EXPECT_EQ(parse_status(to_string(status)), status);
  }
  for (const Stage stage : {Stage::kNone, Stage::kScreen, Stage::kFinal}) {
    EXPECT_EQ(parse_stage(to_string(stage)), stage);
  }
  EXPECT_EQ(parse_regime(to_string(Regime::kSustained)), Regime::kSustained);
  EXPECT_EQ(to_string(Status::kTimedOut), "timed_out");
  EXPECT_EQ(to_string(Regime::kSustained), "sustained");
}

TEST(Words, AnUnknownWordNamesTheKnownOnes) {
  EXPECT_THAT([] { parse_status("OK"); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("status 'OK'"), HasSubstr("ok, invalid"))));
  EXPECT_THAT([] { parse_regime("turbo"); }, ThrowsMessage<InputError>(HasSubstr("sustained")));
  EXPECT_THAT([] { parse_stage(""); }, ThrowsMessage<InputError>(HasSubstr("screen, final")));
}

TEST(Baselines, AreToldFromConfigs) {
  EXPECT_TRUE(is_baseline("cublas"));
  EXPECT_TRUE(is_baseline("cublaslt.3"));
  EXPECT_TRUE(is_cublaslt("cublaslt.0"));
  EXPECT_FALSE(is_cublaslt("cublas"));
  EXPECT_FALSE(is_baseline("bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist"));
}

}  // namespace
}  // namespace hgemm
