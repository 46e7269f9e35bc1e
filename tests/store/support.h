// What the tests of the store record, and the folder that they do it in.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "base/error.h"
#include "families/family.h"
#include "store/store.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::test {

inline std::string tiled(const TiledConfig& config) { return label(config); }

inline const std::string kLabel = tiled({});
inline const std::string kOther = tiled({.bm = 256, .order = TileOrder::kGroupedRows, .group = 8});

inline Environment environment(const std::string& driver = "580.1") {
  return {.gpu_name = "NVIDIA H200",
          .compute_major = 9,
          .compute_minor = 0,
          .sm_count = 132,
          .l2_bytes = 62914560,
          .memory_bytes = 150754820096,
          .max_sm_mhz = 1980,
          .power_limit_w = 700,
          .driver = driver,
          .cuda = "13.0",
          .cublas = "13.1.0"};
}

/// A card of that environment, and the program that ran on it.
inline Machine machine(const std::string& driver = "580.1") {
  return {
      .environment = environment(driver),
      .run = {.gpu_uuid = "GPU-1", .host = "node1", .git_revision = "abc", .kernel_sources = "k1"}};
}

inline const GemmProblem kProblem{.m = 2048, .n = 4096, .k = 512, .weight = 32, .tag = "prefill/o"};

inline Sample sample(int round, double time_us) {
  return {.round = round,
          .pace = Pace::kShared,
          .launches = 10,
          .time_us = time_us,
          .sm_mhz = 1700,
          .power_w = {},
          .temperature_c = {},
          .clock_events = {}};
}

/// What a config's kernel is called; baselines have none.
inline std::string kernel_of(const std::string& label) {
  return is_baseline(label) ? std::string() : "code of " + label;
}
inline TrialKernel with_kernel(const std::string& label) { return {label, kernel_of(label)}; }

inline Trial trial(const std::string& label, std::vector<Sample> samples = {},
                   Stage stage = Stage::kFinal, Status status = Status::kOk) {
  return {.label = label,
          .kernel_id = kernel_of(label),
          .stage = stage,
          .status = status,
          .message = "",
          .verdict = {.correct = status == Status::kOk,
                      .error = 1e-3,
                      .tolerance = 1e-2,
                      .message = ""},
          .samples = std::move(samples),
          .energy = {}};
}

inline Trial weighed(Trial trial, double power_w = 690) {
  trial.energy = Energy{.window_s = 2.1, .power_w = power_w, .time_us = 100};
  return trial;
}

inline BuildFacts build(const std::string& name, const std::string& kernel_id,
                        const std::string& source_key = "s1", int registers = 168) {
  return {.name = name,
          .kernel_id = kernel_id,
          .source_key = source_key,
          .compiler = "nvrtc 13.0",
          .flags = "-O3",
          .registers = registers,
          .spill_bytes = 0,
          .static_smem_bytes = 16,
          .dynamic_smem_bytes = 200000,
          .compile_ms = 812.5};
}

/// Runs `work` in the process that EXPECT_EXIT makes: exit code 0, or 2 (InputError) or 1 (Error)
/// with the message on stderr.
[[noreturn]] inline void run_and_exit(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    std::cerr << error.what() << std::endl;
    _exit(dynamic_cast<const InputError*>(&error) == nullptr ? 1 : 2);
  }
  _exit(0);
}

/// As long as it lives, no file of this process grows beyond `bytes`: a full disk, to SQLite.
class FullDisk {
 public:
  explicit FullDisk(std::uintmax_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &now);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  ~FullDisk() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

/// The rows of a query, each value followed by '|'.
inline std::vector<std::string> lines(SQLite::Database& db, const std::string& query) {
  std::vector<std::string> lines;
  SQLite::Statement row(db, query);
  while (row.executeStep()) {
    std::string line;
    for (int i = 0; i < row.getColumnCount(); ++i) line += row.getColumn(i).getString() + "|";
    lines.push_back(line);
  }
  return lines;
}

class StoreTest : public ::testing::Test {
 protected:
  Store open(Store::Mode mode = Store::Mode::kReadWrite) const { return Store::open(db_, mode); }
  Store open(const std::string& name, Store::Mode mode = Store::Mode::kReadWrite) const {
    return Store::open(folder_ / name, mode);
  }
  std::int64_t race(Store& store, const Machine& where = machine(),
                    Regime regime = Regime::kSustained) const {
    return store.begin_race(store.begin_run(where, "hgemm-tune"), kProblem, regime, Timing{});
  }
  void write(const std::string& text) const { std::ofstream(db_, std::ios::binary) << text; }
  std::string bytes() const {
    std::ifstream file(db_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
  std::filesystem::path db_ = folder_ / "tune.db";
};

}  // namespace hgemm::test
