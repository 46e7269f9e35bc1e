// What the tests of the driver share: configs, problems, a compiler that compiles nothing, a
// listener that remembers, and a database in a folder of its own.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "fake_measurer.h"
#include "families/family.h"
#include "store/store.h"
#include "tune/tune.h"

namespace hgemm {

/// Configs that differ in their tile: c(0), c(1), ...
inline KernelConfig c(int i) { return TiledConfig{.bn = 64 + 8 * i}; }
inline std::string name(int i) { return label(c(i)); }
inline std::vector<KernelConfig> configs(int count) {
  std::vector<KernelConfig> all;
  for (int i = 0; i < count; ++i) all.push_back(c(i));
  return all;
}

inline const GemmProblem kSmall{.m = 256, .n = 512, .k = 128, .tag = ""};
inline const GemmProblem kLarge{.m = 2048, .n = 4096, .k = 4096, .tag = ""};
inline const GemmProblem kLarger{.m = 4096, .n = 4096, .k = 4096, .tag = ""};
inline const GemmProblem kLight{.m = 16, .n = 512, .k = 128, .tag = ""};  // 14 FLOP per byte
inline const GemmProblem kOddK{.m = 64, .n = 64, .k = 60, .tag = ""};     // K is no multiple of 8

/// Compiles nothing, at once. A kernel has a source and a code of its own, which are edited by its
/// config's label.
class FakeCompiler {
 public:
  std::set<std::string> failing;         ///< labels of kernels that spill
  std::map<std::string, int> edits;      ///< how often a source was edited
  std::map<std::string, int> new_codes;  ///< how often, so that its code became another

  std::string source_key(const Kernel& kernel) const {
    return fmt::format("{}, edit {}.{}", build_name(kernel), count(edits, kernel),
                       count(new_codes, kernel));
  }
  std::string kernel_id(const Kernel& kernel) const {
    return fmt::format("{}, code {}", build_name(kernel), count(new_codes, kernel));
  }
  /// What trials of the config's kernel for that problem are recorded under.
  TrialKernel trial_kernel(const KernelConfig& config, const GemmProblem& problem) const {
    return {label(config), kernel_id(kernel_for(config, problem))};
  }
  Build build(const Kernel& kernel) const {
    Build build;
    build.kernel = kernel;
    build.facts.name = build_name(kernel);
    build.facts.source_key = source_key(kernel);
    build.facts.compiler = "fake";
    if (failing.contains(label(config_of(kernel)))) {
      build.status = Status::kCompileFailed;
      build.message = "spills 8 bytes";
    } else {
      build.facts.kernel_id = kernel_id(kernel);
    }
    return build;
  }

  using Done = std::function<void(Build)>;
  /// Must not outlive this.
  Compiler compiler() const {
    return {[this](const Kernel& kernel) { return source_key(kernel); },
            [this](std::span<const Kernel> kernels, const CompileOptions&, const Done& done) {
              for (const Kernel& kernel : kernels) done(build(kernel));
            }};
  }

 private:
  static int count(const std::map<std::string, int>& counts, const Kernel& kernel) {
    const auto found = counts.find(label(config_of(kernel)));
    return found == counts.end() ? 0 : found->second;
  }
};

struct QuietListener : TuneListener {
  std::function<void()> on_event = [] {};
  std::vector<std::string> warnings;
  std::vector<std::string> races;  ///< "index/count shape regime candidates"
  std::vector<std::string> leaders;
  std::vector<std::string> weighed;  ///< "done/total"
  std::vector<double> shares;        ///< of the tune that was over, whenever that was told

  void compiling(const Compiling&) override { on_event(); }
  void race_started(int, const GemmProblem& problem, Regime regime, int index, int count,
                    int candidates) override {
    races.push_back(fmt::format("{}/{} {} {} {}", index, count, to_string(problem),
                                to_string(regime), candidates));
    on_event();
  }
  void preparing(int, int, int) override { on_event(); }
  void measuring(int, int, int) override { on_event(); }
  void racing(int, int, int, const std::string& leader, double) override {
    leaders.push_back(leader);
    on_event();
  }
  void weighing(int, int done, int total) override {
    weighed.push_back(fmt::format("{}/{}", done, total));
    on_event();
  }
  void race_finished(int, const GemmProblem&) override { on_event(); }
  void warning(const std::string& text) override {
    warnings.push_back(text);
    on_event();
  }
  void advanced(double share) override { shares.push_back(share); }
};

/// In memory where that is possible: there are hundreds of short runs, each commit is flushed.
inline std::filesystem::path fast_folder() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : testing::TempDir();
}

inline std::vector<int> rounds_of(const Trial& trial) {
  std::vector<int> rounds;
  for (const Sample& sample : trial.samples) rounds.push_back(sample.round);
  return rounds;
}

struct Killed {};  ///< stands for SIGKILL: nothing may be done after it

class TuneTest : public testing::Test {
 protected:
  TuneTest() { std::filesystem::create_directories(folder_); }
  ~TuneTest() override { std::filesystem::remove_all(folder_); }

  static TunePlan plan(std::vector<GemmProblem> problems, std::vector<KernelConfig> configs) {
    TunePlan plan;
    plan.problems = std::move(problems);
    plan.configs = std::move(configs);
    plan.policy = {.screen_rounds = 2,
                   .semifinal_rounds = 0,
                   .finalists = 3,
                   .lt_finalists = 1,
                   .min_rounds = 3,
                   .max_rounds = 4};
    plan.command_line = "hgemm-tune test";
    return plan;
  }

  std::int64_t run(const TunePlan& plan, FakeMeasurer& gpu,
                   const std::function<bool()>& stop = nullptr) {
    Compiler compiler = compiler_.compiler();
    compiler.compile_all = [this](std::span<const Kernel> kernels, const CompileOptions&,
                                  const FakeCompiler::Done& done) {
      if (compiler_throws_) throw InputError("the cache cannot be written");
      for (const Kernel& kernel : kernels) compiled_.push_back(label(config_of(kernel)));
      for (int count = 0; const Kernel& kernel : kernels) {
        if (count++ == compiler_hangs_after_) std::this_thread::sleep_for(std::chrono::seconds(2));
        done(compiler_.build(kernel));
      }
    };
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    const TuneOutcome outcome = tune(plan, gpu, store, compiler, listener_, stop);
    skipped_problems_ = outcome.skipped_problems;
    late_problems_ = outcome.late_problems;
    return outcome.recorded;
  }

  Store open() const { return Store::open(database_, Store::Mode::kReadOnly); }
  void forget_everything() const {
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(database_ + suffix);
  }

  /// (shape regime label) -> its trials in all races, baselines left out.
  std::map<std::string, std::vector<Trial>> trials() const {
    std::map<std::string, std::vector<Trial>> out;
    for (const RecordedRace& race : open().races()) {
      for (const Trial& trial : race.race.trials) {
        if (is_baseline(trial.label)) continue;
        out[key(race.race.problem, trial.label, race.race.regime)].push_back(trial);
      }
    }
    return out;
  }
  static std::string key(const GemmProblem& problem, const std::string& label,
                         Regime regime = Regime::kSustained) {
    return fmt::format("{} {} {}", to_string(problem), to_string(regime), label);
  }
  Trial trial(const GemmProblem& problem, const std::string& label,
              Regime regime = Regime::kSustained) const {
    for (const RecordedRace& race : open().races()) {
      if (!race.race.problem.same_problem(problem) || race.race.regime != regime) continue;
      for (const Trial& trial : race.race.trials) {
        if (trial.label == label) return trial;
      }
    }
    throw std::out_of_range("no trial of " + key(problem, label, regime));
  }
  Status status(const GemmProblem& problem, int config) const {
    return trial(problem, name(config)).status;
  }

  std::string folder_ = fast_folder() / ("hgemm_tune_test." + std::to_string(getpid()));
  std::string database_ = folder_ + "/test.db";
  QuietListener listener_;
  std::vector<std::string> skipped_problems_, late_problems_;  ///< of the last run
  int compiler_hangs_after_ = 1 << 20;                         ///< for two seconds
  bool compiler_throws_ = false;
  FakeCompiler compiler_;
  std::vector<std::string> compiled_;  ///< labels
};

}  // namespace hgemm
