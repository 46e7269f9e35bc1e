#include "record/environment.h"

#include <gmock/gmock.h>

#include <string>

namespace hgemm {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Environments, AreTheModelWithItsLimitsAndTheSoftware) {
  Environment a;
  a.driver = "580.1";
  const Environment b = a;
  EXPECT_EQ(a, b);
  EXPECT_THAT(differences(a, b), IsEmpty());

  for (auto field :
       {&Environment::gpu_name, &Environment::driver, &Environment::cuda, &Environment::cublas}) {
    Environment other = a;
    other.*field += "x";
    EXPECT_NE(a, other);
    EXPECT_THAT(differences(a, other), SizeIs(1));
  }
  for (auto field : {&Environment::compute_major, &Environment::compute_minor,
                     &Environment::sm_count, &Environment::max_sm_mhz}) {
    Environment other = a;
    other.*field += 1;
    EXPECT_NE(a, other);
    EXPECT_THAT(differences(a, other), SizeIs(1));
  }
  for (auto field : {&Environment::l2_bytes, &Environment::memory_bytes}) {
    Environment other = a;
    other.*field += 1;
    EXPECT_NE(a, other);
    EXPECT_THAT(differences(a, other), SizeIs(1));
  }
  Environment capped = a;
  capped.driver = "590.2";
  capped.power_limit_w = 500;
  EXPECT_NE(a, capped);
  EXPECT_THAT(differences(a, capped),
              ElementsAre("power limit 0 W -> 500 W", "driver 580.1 -> 590.2"));
}

TEST(Sessions, AreOfOneCardAndOneStateOfTheKernels) {
  Machine a;
  a.environment.driver = "580.1";
  a.run = {.gpu_uuid = "GPU-1", .host = "node1", .git_revision = "abc", .kernel_sources = "12ab"};
  Machine b = a;
  EXPECT_TRUE(same_session(a, b));
  b.run.git_revision = "def-dirty";
  b.run.host = "node2";
  EXPECT_TRUE(same_session(a, b)) << "neither the program's other parts nor the host's name count";

  for (auto field : {&RunInfo::gpu_uuid, &RunInfo::kernel_sources}) {
    Machine other = a;
    other.run.*field += "x";
    EXPECT_FALSE(same_session(a, other));
    EXPECT_EQ(a.environment, other.environment) << "but it is the same environment";
  }
  Machine other = a;
  other.environment.driver = "590.2";
  EXPECT_FALSE(same_session(a, other));
}

TEST(RunInfos, TellKernelSourcesApartInShort) {
  const RunInfo run{.gpu_uuid = "",
                    .host = "",
                    .git_revision = "",
                    .kernel_sources = "99aa06d3014798d86001c324468d497f"};
  EXPECT_EQ(run.short_kernel_sources(), "99aa06d30147");
  EXPECT_EQ(RunInfo{}.short_kernel_sources(), "");
}

}  // namespace
}  // namespace hgemm
