#include "trial/trial.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace hgemm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
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
  EXPECT_FALSE(is_baseline("bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist.bf16"));
}

TEST(Environments, HaveTheSameConditionsUnlessMoreThanTheRevisionDiffers) {
  Environment a;
  a.gpu_uuid = "GPU-1";
  a.driver = "580.1";
  a.git_revision = "abc";
  Environment b = a;
  b.git_revision = "def-dirty";
  EXPECT_TRUE(a.same_conditions(b));
  EXPECT_THAT(differences(a, b), IsEmpty());
  EXPECT_FALSE(a == b);

  for (auto field :
       {&Environment::gpu_name, &Environment::gpu_uuid, &Environment::driver, &Environment::cuda,
        &Environment::cublas, &Environment::nvrtc, &Environment::kernel_hash}) {
    Environment other = a;
    other.*field += "x";
    EXPECT_FALSE(a.same_conditions(other));
    EXPECT_THAT(differences(a, other), SizeIs(1));
  }
  for (auto field : {&Environment::compute_major, &Environment::compute_minor,
                     &Environment::sm_count, &Environment::max_sm_mhz}) {
    Environment other = a;
    other.*field += 1;
    EXPECT_FALSE(a.same_conditions(other));
    EXPECT_THAT(differences(a, other), SizeIs(1));
  }
  for (auto field : {&Environment::l2_bytes, &Environment::memory_bytes}) {
    Environment other = a;
    other.*field += 1;
    EXPECT_FALSE(a.same_conditions(other));
    EXPECT_THAT(differences(a, other), SizeIs(1));
  }
  Environment capped = a;
  capped.driver = "590.2";
  capped.power_limit_w = 500;
  EXPECT_FALSE(a.same_conditions(capped));
  EXPECT_THAT(differences(a, capped),
              ElementsAre("power limit 0 W -> 500 W", "driver 580.1 -> 590.2"));
}

}  // namespace
}  // namespace hgemm
