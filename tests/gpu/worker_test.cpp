// The worker process: measures, and takes kernels that hang or crash down with itself alone.
#include "worker/remote.h"

#include "families/family.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using WorkerTest = GpuTest;

const TiledConfig kConfig{.bm = 128, .bn = 128, .bk = 64, .stages = 4, .consumers = 2};
const GemmProblem kShape{.m = 512, .n = 1024, .k = 512, .tag = ""};
Kernel kernel() { return kernel_for(kConfig, kShape); }

/// Something to put at the start of every thread of the kernel.
Build build_that_starts_with(const std::string& statement) {
  const std::string start = "  const TiledPipeline<kKernel> pipeline(smem);";
  return compile_edited(kernel(), "tiled/kernel.cuh", start, start + "\n" + statement);
}

TEST_F(WorkerTest, MeasuresInRounds) {
  RemoteMeasurer measurer({program(), "worker"});
  const Machine machine = measurer.machine();
  const Environment& environment = machine.environment;
  EXPECT_EQ(environment.gpu_name, device_->name);
  EXPECT_EQ(environment.compute_major, 9);
  EXPECT_EQ(environment.sm_count, device_->sm_count);
  EXPECT_EQ(environment.l2_bytes, device_->l2_bytes);
  EXPECT_EQ(environment.memory_bytes, device_->memory_bytes);
  EXPECT_EQ(environment.max_sm_mhz, device_->max_sm_mhz);
  EXPECT_EQ(machine.run.gpu_uuid, device_->uuid);
  EXPECT_EQ(machine.run.kernel_sources, kernel_source_hash());

  const Measurer::Opened opened = measurer.open(kShape, {.seed = 1});
  ASSERT_GE(opened.baselines.size(), 2u);
  EXPECT_EQ(opened.baselines.front(), kCublasLabel);
  for (const Prepared& baseline : opened.prepared) {
    EXPECT_EQ(baseline.status, Status::kOk) << baseline.message;
  }
  const Build build = compile({kernel()}).front();
  EXPECT_EQ(measurer.prepare(build).status, Status::kOk);
  const std::vector<std::string> labels = {label(kConfig), std::string(kCublasLabel)};
  for (const Pace pace : {Pace::kShared, Pace::kRested, Pace::kOwn}) {
    measurer.settle(pace);
    const auto rounds = measurer.rounds(labels, pace);
    EXPECT_EQ(rounds.size() > 1, pace == Pace::kOwn);
    for (const Sample& sample : rounds.back()) {
      EXPECT_EQ(sample.pace, pace);
      EXPECT_GT(sample.time_us, 0.5);
      EXPECT_LT(sample.time_us, 1000);
      EXPECT_GE(sample.time_us * sample.launches, 1000) << "a sample is too short to be timed";
      EXPECT_GT(sample.sm_mhz, 300);
      EXPECT_LT(sample.sm_mhz, 1.05 * device_->max_sm_mhz);
      EXPECT_GT(sample.power_w.value_or(0), 50);
      EXPECT_GT(sample.temperature_c.value_or(0), 10);
      EXPECT_TRUE(sample.clock_events);
    }
  }
  const std::optional<Energy> energy = measurer.energy(label(kConfig));
  ASSERT_TRUE(energy);
  EXPECT_GE(energy->window_s, protocol::kEnergyWindowMs * 1e-3);
  EXPECT_GT(energy->power_w, 50);
  EXPECT_LT(energy->power_w, 1.1 * environment.power_limit_w);
  EXPECT_GT(energy->time_us, 0.5);
  measurer.forget(label(kConfig));
  EXPECT_THROW(measurer.rounds(labels, Pace::kShared), Error);
}

TEST_F(WorkerTest, AShapeThatDoesNotFitIsAnInputError) {
  RemoteMeasurer measurer({program(), "worker"});
  EXPECT_THROW(measurer.open({.m = 1 << 20, .n = 1 << 20, .k = 8, .tag = ""}, {.seed = 1}),
               InputError);
  EXPECT_FALSE(measurer.open(kShape, {.seed = 1}).baselines.empty()) << "and the worker goes on";
}

void expect_lost(const Build& build, Status status) {
  ASSERT_EQ(build.status, Status::kOk) << build.message;
  RemoteMeasurer measurer({program(), "worker"});
  measurer.open(kShape, {.seed = 1});
  try {
    const Prepared prepared = measurer.prepare(build);
    FAIL() << "it ended as " << to_string(prepared.status) << ": " << prepared.message;
  } catch (const MeasurerLost& lost) {
    EXPECT_EQ(lost.status, status) << lost.what();
  }
  measurer.open(kShape, {.seed = 1});
  EXPECT_EQ(measurer.prepare(compile({kernel()}).front()).status, Status::kOk)
      << "a good kernel after it";
}

TEST_F(WorkerTest, AKernelThatWaitsForEverTraps) {
  const std::string expect =
      "mbarrier_arrive_expect_tx(pipeline.full(stage), arriving_bytes(kKernel)";
  expect_lost(compile_edited(kernel(), "tiled/producer.cuh", expect, expect + " + 16"),
              Status::kCrashed);
}

TEST_F(WorkerTest, AKernelThatLoopsForEverIsKilled) {
  expect_lost(
      build_that_starts_with("  while (params.m > 0) asm volatile(\"nanosleep.u32 100;\");"),
      Status::kTimedOut);
}

TEST_F(WorkerTest, AnIllegalAddressCostsOneTrial) {
  expect_lost(build_that_starts_with("  *reinterpret_cast<volatile int*>(16) = 1;"),
              Status::kCrashed);
}

}  // namespace
}  // namespace hgemm::testing
