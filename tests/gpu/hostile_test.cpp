// A whole tune among kernels that hang, trap, write to nowhere, are refused, or are wrong: each
// ends as the right status of one trial, and costs no other trial anything.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "families/family.h"
#include "store/store.h"
#include "support.h"
#include "tests/tune/silent_listener.h"
#include "tune/tune.h"
#include "worker/remote.h"

namespace hgemm::testing {
namespace {

using ::testing::HasSubstr;

const GemmProblem kShape{.m = 2048, .n = 4096, .k = 4096, .tag = ""};
constexpr const char* kStart = "  const TiledPipeline<kKernel> pipeline(smem);";

/// A config that carries an edit of the kernel sources, and how its trial must end.
struct Hostile {
  const char* name;
  int bn;  ///< tells it from the others
  Status status;
  const char* message;  ///< part of the trial's
  const char* file;
  std::string text, replacement;
};

std::vector<Hostile> hostile_kernels() {
  const auto at_start = [](const std::string& statement) {
    return std::string(kStart) + "\n  " + statement;
  };
  const std::string expect =
      "mbarrier_arrive_expect_tx(pipeline.full(stage), arriving_bytes(kKernel)";
  return {
      {"runs for ever", 64, Status::kTimedOut, "the first launch", "tiled/kernel.cuh", kStart,
       at_start("while (params.m > 0) asm volatile(\"nanosleep.u32 100;\");")},
      {"waits for ever", 72, Status::kCrashed, "", "tiled/producer.cuh", expect, expect + " + 16"},
      {"illegal address", 80, Status::kCrashed, "", "tiled/kernel.cuh", kStart,
       at_start("*reinterpret_cast<volatile int*>(16) = 1;")},
      {"misaligned address", 88, Status::kCrashed, "misaligned", "tiled/kernel.cuh", kStart,
       at_start("*reinterpret_cast<volatile int*>(static_cast<char*>(params.d_pointer) + 2) = 1;")},
      {"illegal instruction", 96, Status::kCrashed, "", "tiled/kernel.cuh", kStart,
       at_start("asm volatile(\"trap;\");")},
      {"too much shared memory", 104, Status::kLaunchFailed, "", "tiled/kernel.cuh", kStart,
       at_start("__shared__ volatile char extra[40000]; extra[threadIdx.x] = 0;")},
      {"more memory than there is", 112, Status::kLaunchFailed, "memory", "tiled/kernel.cuh",
       kStart,
       at_start("static __device__ char huge[1ull << 38]; "
                "reinterpret_cast<volatile char*>(huge)[threadIdx.x] = 0;")},
      {"wrong result", 120, Status::kWrongResult, "wrong", "tiled/consumer.cuh", "!is_first);",
       "1);"},
  };
}

KernelConfig carrier(const Hostile& hostile) {
  return TiledConfig{.bm = 128, .bn = hostile.bn, .bk = 64, .stages = 6, .consumers = 2};
}

Build compile_hostile(const Hostile& hostile) {
  return compile_edited(kernel_for(carrier(hostile), kShape), hostile.file, hostile.text,
                        hostile.replacement);
}
Build compile_good(const KernelConfig& config) {
  return compile({kernel_for(config, kShape)}).front();
}

class HostileTest : public GpuTest {
 protected:
  std::map<std::string, Trial> tune_with(const std::vector<KernelConfig>& configs) {
    // As sources are keyed by what they are compiled from, an edited one is by its label too.
    const Compiler compiler{
        source_keys(), [](std::span<const Kernel> wanted, const CompileOptions&,
                          const std::function<void(Build)>& done) {
          for (const Kernel& kernel : wanted) {
            const std::vector<Hostile> all = hostile_kernels();
            const auto hostile = std::ranges::find_if(
                all, [&](const Hostile& h) { return carrier(h) == config_of(kernel); });
            done(hostile == all.end() ? compile({kernel}).front() : compile_hostile(*hostile));
          }
        }};
    TunePlan plan;
    plan.problems = {kShape};
    plan.configs = configs;
    plan.policy.seed = 3;
    plan.command_line = "hostile_test";
    RemoteMeasurer measurer({program(), "worker"});
    SilentListener listener;
    const std::string path = (folder_.path() / fmt::format("{}.db", ++databases_)).string();
    Store store = Store::open(path, Store::Mode::kReadWrite);
    tune(plan, measurer, store, compiler, listener, nullptr);
    std::map<std::string, Trial> trials;
    for (const RecordedRace& race : store.races()) {
      for (const Trial& trial : race.race.trials) trials[trial.label] = trial;
    }
    return trials;
  }

  test::TemporaryFolder folder_;
  int databases_ = 0;
};

const std::vector<KernelConfig> kGood = {
    TiledConfig{.bm = 128, .bn = 128, .bk = 64, .stages = 6, .consumers = 2},
    TiledConfig{.bm = 128, .bn = 256, .bk = 64, .stages = 4, .cluster_m = 2, .consumers = 2}};

TEST_F(HostileTest, EachEndsAsTheRightStatusAndCostsNoOther) {
  std::vector<KernelConfig> configs = kGood;
  for (const Hostile& hostile : hostile_kernels()) configs.push_back(carrier(hostile));
  const auto trials = tune_with(configs);
  for (const Hostile& hostile : hostile_kernels()) {
    const Trial& trial = trials.at(label(carrier(hostile)));
    EXPECT_EQ(trial.status, hostile.status) << hostile.name << ": " << trial.message;
    EXPECT_THAT(trial.message, HasSubstr(hostile.message)) << hostile.name;
    EXPECT_EQ(trial.stage, Stage::kNone) << hostile.name;
    fmt::print("{}: {}: {}\n", hostile.name, to_string(trial.status), trial.message.substr(0, 160));
  }
  for (const KernelConfig& config : kGood) {
    const Trial& trial = trials.at(label(config));
    EXPECT_EQ(trial.status, Status::kOk) << trial.message;
    EXPECT_NE(trial.stage, Stage::kNone);
    EXPECT_FALSE(trial.samples.empty());
  }
}

/// Prints what a hung kernel costs beyond the deadline that its own message names: until a new
/// worker holds again what the old one held.
TEST_F(HostileTest, WhatAHungKernelCosts) {
  std::vector<KernelConfig> configs = kGood;
  for (int bn = 64; bn <= 256; bn += 8) {
    for (const int stages : {3, 4}) {
      configs.push_back(
          TiledConfig{.bm = 128, .bn = bn, .bk = 64, .stages = stages, .consumers = 2});
    }
  }
  std::vector<Kernel> kernels;
  for (const KernelConfig& config : configs) kernels.push_back(kernel_for(config, kShape));
  const std::vector<Build> builds = compile(kernels);
  const Build hung_build = compile_hostile(hostile_kernels().front());

  RemoteMeasurer measurer({program(), "worker"});
  measurer.open(kShape, {.seed = 1});
  std::map<std::string, double> estimates_us;
  for (const Build& build : builds) {
    const Prepared prepared = measurer.prepare(build);
    ASSERT_EQ(prepared.status, Status::kOk) << prepared.message;
    estimates_us[label(config_of(build.kernel))] = prepared.estimate_us;
  }
  const auto start = std::chrono::steady_clock::now();
  std::string message;
  try {
    measurer.prepare(hung_build);
    FAIL() << "it ended";
  } catch (const MeasurerLost& lost) {
    EXPECT_EQ(lost.status, Status::kTimedOut);
    message = lost.what();
  }
  measurer.open(kShape, {.seed = 1});
  for (const Build& build : builds) {
    const double estimate_us = estimates_us.at(label(config_of(build.kernel)));
    EXPECT_EQ(measurer.restore(build, estimate_us).status, Status::kOk);
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  const std::size_t at = message.find("within ");
  ASSERT_NE(at, std::string::npos) << message;
  const double deadline_s = std::stod(message.substr(at + 7)) * 1e-3;
  fmt::print(
      "a hung kernel among {} others: {:.2f} s, of which its deadline is {:.2f} s; beyond it "
      "{:.2f} s\n",
      builds.size(), spent.count(), deadline_s, spent.count() - deadline_s);

  // What was restored can be timed.
  measurer.settle(Pace::kRested);
  std::vector<std::string> labels;
  for (const auto& [label, estimate_us] : estimates_us) labels.push_back(label);
  const auto rounds = measurer.rounds(labels, Pace::kRested);
  for (const Sample& sample : rounds.at(0)) EXPECT_GT(sample.time_us, 10);
}

/// This process's only child.
pid_t child_pid() {
  std::ifstream children(fmt::format("/proc/self/task/{}/children", getpid()));
  pid_t pid = 0;
  children >> pid;
  return pid;
}

TEST_F(HostileTest, AKilledWorkerIsNamedAndReplaced) {
  const Hostile hung = hostile_kernels().front();
  const Build build = compile_hostile(hung);
  RemoteMeasurer measurer({program(), "worker"});
  measurer.open(kShape, {.seed = 1});
  const pid_t worker = child_pid();
  ASSERT_GT(worker, 0);
  std::thread killer([worker] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    kill(worker, SIGKILL);
  });
  try {
    measurer.prepare(build);
    ADD_FAILURE() << "the worker went on";
  } catch (const MeasurerLost& lost) {
    EXPECT_EQ(lost.status, Status::kCrashed);
    EXPECT_EQ(lost.culprit, label(carrier(hung)));
    EXPECT_THAT(lost.what(), HasSubstr("killed by signal 9"));
  }
  killer.join();
  measurer.open(kShape, {.seed = 1});
  EXPECT_EQ(measurer.prepare(compile_good(kGood.front())).status, Status::kOk);
}

}  // namespace
}  // namespace hgemm::testing
