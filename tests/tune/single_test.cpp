// Races of single calls, and of GEMMs between elementwise kernels.
#include "results/best.h"
#include "support.h"

namespace hgemm {
namespace {

using testing::Each;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Single = TuneTest;

TEST_F(Single, SingleCallsAreTimedAloneAndThenByTheHost) {
  FakeMeasurer gpu;
  gpu.noise = 0;
  gpu.model_us = {{name(1), 100.1}, {name(2), 150}, {"cublaslt.0", 105}, {"cublaslt.1", 104.9}};
  TunePlan single = plan({kSmall}, configs(3));
  single.regimes = {Regime::kSingle};
  single.policy.lt_finalists = 2;
  EXPECT_EQ(run(single, gpu), 3);
  EXPECT_THAT(gpu.regimes, Each(Regime::kSingle));
  EXPECT_THAT(gpu.paces, Each(Pace::kSingle));
  EXPECT_THAT(gpu.called, UnorderedElementsAre(name(0), name(1), "cublas", "cublaslt.1"));
  for (const std::string& label : gpu.called) {
    const std::optional<CallTime> calls = trial(kSmall, label, Regime::kSingle).calls;
    ASSERT_TRUE(calls) << label;
    EXPECT_EQ(calls->host_us, 3);
    EXPECT_EQ(calls->kernels, 1);
    EXPECT_EQ(calls->kernel_us, gpu.model_us.contains(label) ? gpu.model_us[label] : 100);
  }
  EXPECT_FALSE(trial(kSmall, name(2), Regime::kSingle).calls) << "it left before the final";

  const std::vector<BestRow> rows = best_rows(open().races());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].regime, Regime::kSingle);
  ASSERT_TRUE(rows[0].calls && rows[0].cublas_calls && rows[0].cublaslt_calls);
  EXPECT_EQ(rows[0].cublaslt_calls->kernel_us, 104.9);
  EXPECT_EQ(run(single, gpu), 0) << "nothing is missing";
}

TEST_F(Single, ACallThatTakesTheWorkerDownCostsOneTrial) {
  FakeMeasurer gpu;
  gpu.in_calls = {{name(0), {Status::kCrashed}}};
  TunePlan single = plan({kSmall}, configs(2));
  single.regimes = {Regime::kSingle};
  EXPECT_EQ(run(single, gpu), 2);
  EXPECT_EQ(trial(kSmall, name(0), Regime::kSingle).status, Status::kCrashed);
  EXPECT_TRUE(trial(kSmall, name(1), Regime::kSingle).calls);
}

TEST_F(Single, AChainIsMeasuredAfterRestAndNoCallsAreTimed) {
  FakeMeasurer gpu;
  TunePlan chain = plan({kSmall}, configs(2));
  chain.regimes = {Regime::kChain};
  EXPECT_EQ(run(chain, gpu), 2);
  EXPECT_THAT(gpu.regimes, Each(Regime::kChain));
  EXPECT_THAT(gpu.paces, Each(Pace::kRested));
  EXPECT_THAT(gpu.called, IsEmpty());
}

TEST_F(Single, EachRegimeHasItsOwnRace) {
  FakeMeasurer gpu;
  TunePlan all = plan({kSmall}, configs(1));
  all.regimes.assign(kRegimes.begin(), kRegimes.end());
  EXPECT_EQ(run(all, gpu), 4);
  EXPECT_EQ(open().races().size(), 4u);
  EXPECT_EQ(run(all, gpu), 0);
}

}  // namespace
}  // namespace hgemm
