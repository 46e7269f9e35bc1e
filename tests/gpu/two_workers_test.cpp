// Finding GPUs, and one tune with two workers. There may be one GPU only, so both workers share it:
// their times mean nothing, but what is measured and recorded does.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "gemm/codec.h"
#include "program/gpus.h"
#include "support.h"
#include "tune/tune.h"
#include "worker/remote.h"

namespace hgemm::testing {
namespace {

using TwoWorkersTest = GpuTest;

const std::vector<std::string> kCommand = {program(), "worker"};

/// The worker processes that this process has started, by thread.
std::vector<pid_t> workers() {
  std::vector<pid_t> found;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(thread.path() / "children");
    for (pid_t pid = 0; children >> pid;) {
      std::ifstream file(fmt::format("/proc/{}/cmdline", pid));
      const std::string command{std::istreambuf_iterator<char>(file), {}};
      if (command.find(std::string("hgemm-tune") + '\0' + "worker") != command.npos) {
        found.push_back(pid);
      }
    }
  }
  return found;
}

/// Kills one of two workers in the middle of a race.
struct Killer : TuneListener {
  int rounds = 0;
  bool killed = false;

  void compiling(const Compiling&) override {}
  void race_started(int, const GemmProblem&, Regime, int, int, int) override {}
  void preparing(int, int, int) override {}
  void measuring(int, int, int) override {}
  void racing(int, int, int, const std::string&, double) override {
    if (killed || ++rounds < 8) return;
    const std::vector<pid_t> running = workers();
    if (running.size() >= 2) killed = kill(running.back(), SIGKILL) == 0;
  }
  void weighing(int, int, int) override {}
  void race_finished(int, const GemmProblem&) override {}
  void warning(const std::string&) override {}
  void advanced(double) override {}
};

TEST_F(TwoWorkersTest, ThisGpuIsListedAndCanBeChosenByItsUuid) {
  const std::vector<VisibleGpu> gpus = list_gpus(kCommand);
  const auto own = std::ranges::find(gpus, device_->uuid, &VisibleGpu::uuid);
  ASSERT_NE(own, gpus.end());
  EXPECT_EQ(own->name, device_->name);
  EXPECT_EQ(own->why_unusable, "");
  const auto chosen = cli::choose_gpus(gpus, device_->uuid.substr(0, 12));
  ASSERT_EQ(chosen.size(), 1u);
  RemoteMeasurer measurer(kCommand, {}, chosen.front().uuid);
  EXPECT_EQ(measurer.machine().run.gpu_uuid, device_->uuid);
  RemoteMeasurer gone(kCommand, {}, "GPU-00000000-0000-0000-0000-000000000000");
  EXPECT_THROW(gone.machine(), NoDevice);
}

TEST_F(TwoWorkersTest, TwoWorkersShareATuneAndTheKillOfOneCostsNothing) {
  TunePlan plan;
  for (int i = 0; i < 4; ++i) {
    plan.problems.push_back({.m = 512, .n = 1024 + 512 * i, .k = 1024, .tag = ""});
  }
  for (const int bn : {64, 128, 256}) {
    plan.configs.push_back(TiledConfig{.bm = 128, .bn = bn, .bk = 64, .stages = 4, .consumers = 2});
  }
  plan.pace_check = true;
  plan.compile = compile_options();
  const test::TemporaryFolder folder;
  Store store = Store::open((folder.path() / "two.db").string(), Store::Mode::kReadWrite);
  Killer listener;
  RemoteMeasurer a(kCommand), b(kCommand, {}, device_->uuid);
  Measurer* const both[] = {&a, &b};
  const TuneOutcome outcome =
      tune(plan, both, store, nvrtc_compiler(plan.compile.toolchain), listener, nullptr);
  EXPECT_TRUE(listener.killed);
  EXPECT_EQ(outcome.set_aside_problems, std::vector<std::string>{});
  EXPECT_EQ(outcome.recorded, 12);
  ASSERT_TRUE(outcome.pace);
  EXPECT_EQ(outcome.pace->neighbours, 1);
  // Two workers on one GPU take turns, so the ratios say nothing but that they were measured.
  EXPECT_GT(outcome.pace->alone.value, 0);
  EXPECT_GT(outcome.pace->beside.value, 0);
  std::map<std::string, int> trials;
  for (const RecordedRace& race : store.races()) {
    EXPECT_EQ(race.run.gpu_uuid, device_->uuid);
    for (const Trial& trial : race.race.trials) {
      if (is_baseline(trial.label)) continue;
      EXPECT_EQ(trial.status, Status::kOk) << trial.label << ": " << trial.message;
      EXPECT_TRUE(trial.verdict.correct);
      ++trials[to_string(race.race.problem) + trial.label];
    }
  }
  EXPECT_EQ(trials.size(), 12u);
  for (const auto& [name, count] : trials) EXPECT_EQ(count, 1) << name;
}

}  // namespace
}  // namespace hgemm::testing
