// What the regimes single and chain add to a launch.
#include "device/protocol.h"
#include "families/family.h"
#include "support.h"
#include "worker/remote.h"

namespace hgemm::testing {
namespace {

using RegimesTest = GpuTest;

const TiledConfig kConfig{.bm = 128, .bn = 128, .bk = 64, .stages = 4, .consumers = 2};

Sample sample_in(RemoteMeasurer& measurer, const Build& build, const GemmProblem& problem,
                 Regime regime, Pace pace) {
  measurer.open(problem, {.seed = 3, .regime = regime});
  EXPECT_EQ(measurer.prepare(build).status, Status::kOk);
  measurer.settle(pace);
  return measurer.rounds(std::vector{label(kConfig)}, pace).front().front();
}

TEST_F(RegimesTest, ACallIsTimedByEventsByTheHostAndByCupti) {
  const GemmProblem problem{.m = 2048, .n = 2048, .k = 2048, .tag = ""};
  const Build build = compile({kernel_for(kConfig, problem)}).front();
  RemoteMeasurer measurer({program(), "worker"});
  const Measurer::Opened opened = measurer.open(problem, {.seed = 3, .regime = Regime::kSingle});
  EXPECT_FALSE(opened.timing.graph);
  ASSERT_EQ(measurer.prepare(build).status, Status::kOk);
  measurer.settle(Pace::kSingle);
  std::vector<std::string> labels = opened.baselines;
  labels.push_back(label(kConfig));
  const auto rounds = measurer.rounds(labels, Pace::kSingle);
  ASSERT_EQ(rounds.size(), 1u);
  for (const Sample& sample : rounds.front()) {
    EXPECT_EQ(sample.pace, Pace::kSingle);
    EXPECT_EQ(sample.launches, 1);
    EXPECT_GT(sample.time_us, 10);
    EXPECT_LT(sample.time_us, 500);
    EXPECT_GT(sample.sm_mhz, 300);
    EXPECT_LT(sample.sm_mhz, 1.05 * device_->max_sm_mhz);
  }
  for (const std::string& label : labels) {
    const CallTime calls = measurer.calls(label);
    EXPECT_EQ(calls.calls, protocol::kFull.calls);
    EXPECT_GT(calls.host_us, 0.5);
    EXPECT_LT(calls.host_us, 1000);
    ASSERT_TRUE(calls.kernel_us) << "CUPTI did not see a kernel of " << label;
    EXPECT_GE(calls.kernels, 1);
    // Events add a few microseconds to what the kernels take.
    const Sample& sample = rounds.front()[static_cast<std::size_t>(&label - labels.data())];
    EXPECT_LT(*calls.kernel_us, 1.15 * sample.time_us) << label;
    EXPECT_GT(*calls.kernel_us, 0.5 * sample.time_us) << label;
  }
}

/// The elementwise kernels of a chain take the time to read and write A and D.
TEST_F(RegimesTest, AChainTakesLongerThanItsGemmByTheTimeOfItsNeighbours) {
  const GemmProblem problem{.m = 4096, .n = 4096, .k = 512, .tag = ""};
  const Build build = compile({kernel_for(kConfig, problem)}).front();
  RemoteMeasurer measurer({program(), "worker"});
  const Sample alone = sample_in(measurer, build, problem, Regime::kBurst, Pace::kRested);
  const Sample chain = sample_in(measurer, build, problem, Regime::kChain, Pace::kRested);
  const double bytes = 2.0 * (2.0 * 4096 * 512 + 2.0 * 4096 * 4096);
  const double least_us = bytes / 12e6;  // all from L2
  const double most_us = bytes / 1e6;    // 1 TB/s
  EXPECT_GT(chain.time_us, alone.time_us + least_us);
  EXPECT_LT(chain.time_us, alone.time_us + most_us);
}

TEST_F(RegimesTest, TheNeighboursOfAChainChangeNoValue) {
  for (const DataType type : {DataType::kBf16, DataType::kFp16}) {
    for (const std::int64_t m : {64, 7}) {
      GemmProblem problem{.m = m, .n = 131, .k = 75, .tag = ""};
      problem.set_types(type);
      const Stream stream;
      ProblemData data(problem, 5, without_rotation(), stream);
      EXPECT_FALSE(data.restore_inputs(stream)) << "the first call only remembers";
      data.touch_input(0, stream.get());
      data.touch_output(0, stream.get());
      EXPECT_FALSE(data.restore_inputs(stream));
    }
  }
}

}  // namespace
}  // namespace hgemm::testing
