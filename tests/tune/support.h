// What the tests of the driver share: configs, shapes, a compiler that compiles nothing, a listener
// that remembers, and a database in a folder of its own.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "fake_measurer.h"
#include "space/label.h"
#include "store/store.h"
#include "tune/tune.h"

namespace hgemm {

/// Configs that differ in their tile: c(0), c(1), ...
inline KernelConfig c(int i, Dtype dtype = Dtype::kBf16) {
  return {.bn = 64 + 8 * i, .order = TileOrder::kLinear, .dtype = dtype};
}
inline std::string name(int i) { return label(c(i)); }
inline std::vector<KernelConfig> configs(int count) {
  std::vector<KernelConfig> all;
  for (int i = 0; i < count; ++i) all.push_back(c(i));
  return all;
}

inline const Shape kSmall{.m = 256, .n = 512, .k = 128, .tag = ""};
inline const Shape kLarge{.m = 2048, .n = 4096, .k = 4096, .tag = ""};
inline const Shape kLight{.m = 16, .n = 512, .k = 128, .tag = ""};  // 14 FLOP per byte
inline const Shape kOddK{.m = 64, .n = 64, .k = 60, .tag = ""};     // K is no multiple of 8

/// Compiles at once; some labels fail.
inline void fake_compile(std::span<const KernelConfig> configs,
                         const std::set<std::string>& failing,
                         const std::function<void(Build)>& done) {
  for (const KernelConfig& config : configs) {
    Build build;
    build.config = config;
    build.facts.label = label(config);
    build.facts.compiler = "fake";
    if (failing.contains(label(config))) {
      build.status = Status::kCompileFailed;
      build.message = "spills 8 bytes";
    }
    done(build);
  }
}

struct QuietListener : TuneListener {
  std::function<void()> on_event = [] {};
  std::vector<std::string> warnings;
  std::vector<std::string> races;  ///< "index/count shape regime candidates"
  std::vector<std::string> leaders;
  std::vector<std::string> weighed;  ///< "done/total"
  std::vector<double> shares;        ///< of the tune that was over, whenever that was told

  void compiling(const Compiling&) override { on_event(); }
  void shape_started(const Shape& shape, Regime regime, int index, int count,
                     int candidates) override {
    races.push_back(fmt::format("{}/{} {} {} {}", index, count, to_string(shape), to_string(regime),
                                candidates));
    on_event();
  }
  void preparing(int, int) override { on_event(); }
  void measuring(int, int) override { on_event(); }
  void racing(int, int, const std::string& leader, double) override {
    leaders.push_back(leader);
    on_event();
  }
  void weighing(int done, int total) override {
    weighed.push_back(fmt::format("{}/{}", done, total));
    on_event();
  }
  void shape_finished(const Shape&) override { on_event(); }
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

class TuneTest : public testing::Test {
 protected:
  TuneTest() { std::filesystem::create_directories(folder_); }
  ~TuneTest() override { std::filesystem::remove_all(folder_); }

  static TunePlan plan(std::vector<Shape> shapes, std::vector<KernelConfig> configs) {
    TunePlan plan;
    plan.shapes = std::move(shapes);
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
    const auto compile_all = [this](std::span<const KernelConfig> configs, const CompileOptions&,
                                    const std::function<void(Build)>& done) {
      if (compiler_throws_) throw InputError("the cache cannot be written");
      for (const KernelConfig& config : configs) compiled_.push_back(label(config));
      int count = 0;
      fake_compile(configs, does_not_compile_, [&](Build build) {
        if (count++ == compiler_hangs_after_) std::this_thread::sleep_for(std::chrono::seconds(2));
        done(std::move(build));
      });
    };
    Store store = Store::open(database_, Store::Mode::kReadWrite);
    const TuneOutcome outcome = tune(plan, gpu, store, compile_all, listener_, stop);
    skipped_shapes_ = outcome.skipped_shapes;
    late_shapes_ = outcome.late_shapes;
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
        out[key(race.race.shape, trial.label, race.race.regime)].push_back(trial);
      }
    }
    return out;
  }
  static std::string key(const Shape& shape, const std::string& label,
                         Regime regime = Regime::kSustained) {
    return fmt::format("{} {} {}", to_string(shape), to_string(regime), label);
  }
  Trial trial(const Shape& shape, const std::string& label,
              Regime regime = Regime::kSustained) const {
    for (const RecordedRace& race : open().races()) {
      if (!race.race.shape.same_problem(shape) || race.race.regime != regime) continue;
      for (const Trial& trial : race.race.trials) {
        if (trial.label == label) return trial;
      }
    }
    throw std::out_of_range("no trial of " + key(shape, label, regime));
  }
  Status status(const Shape& shape, int config) const { return trial(shape, name(config)).status; }

  std::string folder_ = fast_folder() / ("hgemm_tune_test." + std::to_string(getpid()));
  std::string database_ = folder_ + "/test.db";
  QuietListener listener_;
  std::vector<std::string> skipped_shapes_, late_shapes_;  ///< of the last run
  int compiler_hangs_after_ = 1 << 20;                     ///< for two seconds
  bool compiler_throws_ = false;
  std::set<std::string> does_not_compile_;
  std::vector<std::string> compiled_;
};

}  // namespace hgemm
