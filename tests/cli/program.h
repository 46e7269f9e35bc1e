// The program as a user runs it: in a fresh folder, with no GPU to be seen.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "store/store.h"
#include "tests/support/temporary_folder.h"

namespace hgemm {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code = -1;
  std::string out;
  std::string err;
};

inline std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void write_file(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline GemmProblem problem(std::int64_t m, std::int64_t n, std::int64_t k) {
  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  return problem;
}

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() { fs::create_directory(folder()); }

  /// Working folder of the program; whatever else the test needs lies outside.
  fs::path folder() const { return root_ / "work"; }

  /// `arguments` are for a shell, and so is `before`, which the program is started after. An empty
  /// CUDA_VISIBLE_DEVICES hides the GPU of a machine that has one.
  Outcome run(const std::string& arguments, const std::string& before = ":") const {
    const std::string command =
        "cd '" + folder().string() +
        "' && unset XDG_CACHE_HOME && export CUDA_VISIBLE_DEVICES= " + "HOME='" +
        (root_ / "home").string() + "' && " + before + " && '" + program_.string() + "' " +
        arguments + " >'" + (root_ / "out").string() + "' 2>'" + (root_ / "err").string() +
        "' </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(root_ / "out"),
            read_file(root_ / "err")};
  }

  /// An installation with these races as its only recorded results; run() then uses it.
  void install_with_recorded(const std::vector<Race>& races) {
    fs::create_directory(root_ / "bin");
    fs::copy_file(program_, root_ / "bin/hgemm-tune");
    program_ = root_ / "bin/hgemm-tune";
    const fs::path share = root_ / "share/hgemm-tune";
    fs::create_directories(share);
    fs::copy(fs::path(HGEMM_SOURCE_DIR) / "configs", share / "configs",
             fs::copy_options::recursive);
    record(recorded("h200"), races);
  }

  /// Where such an installation has the results of a device.
  fs::path recorded(const std::string& device) const {
    const fs::path results = root_ / "share/hgemm-tune/results" / device;
    fs::create_directories(results);
    return results / "tune.db";
  }

  static Machine machine() {
    Machine machine;
    machine.environment.gpu_name = "NVIDIA H200";
    machine.environment.compute_major = 9;
    machine.environment.sm_count = 132;
    machine.environment.driver = "580.1";
    machine.environment.cuda = "13.0";
    machine.environment.cublas = "13.1.0";
    machine.run.gpu_uuid = "GPU-0";
    machine.run.kernel_sources = "0123456789abcdef0123456789abcdef";
    return machine;
  }

  static void record(const fs::path& path, const std::vector<Race>& races,
                     const Machine& where = machine()) {
    Store store = Store::open(path.string(), Store::Mode::kReadWrite);
    const auto run = store.begin_run(where, "hgemm-tune");
    for (const Race& race : races) {
      store.record(store.begin_race(run, race.problem, race.regime, race.timing), race.trials);
    }
  }

  /// A trial that was measured to the end, in nine rounds.
  static Trial finalist(const std::string& label, double time_us) {
    Trial trial;
    trial.label = label;
    if (!is_baseline(label)) trial.kernel_id = "fedcba9876543210fedcba9876543210";
    trial.stage = Stage::kFinal;
    trial.verdict.correct = true;
    for (int round = 0; round < 9; ++round) {
      Sample& sample = trial.samples.emplace_back();
      sample.round = round;
      sample.launches = 100;
      sample.time_us = time_us;
      sample.sm_mhz = 1500;
    }
    return trial;
  }

  /// A finished race in which the config takes 9 us (if not said otherwise), cublas 10 us and
  /// cublasLt's best 9.5 us.
  static Race race(const GemmProblem& problem, Regime regime = Regime::kSustained,
                   double time_us = 9) {
    return {
        .problem = problem,
        .regime = regime,
        .timing = {},
        .trials = {finalist(kLabel, time_us), finalist("cublas", 10), finalist("cublaslt.0", 9.5)}};
  }

  static constexpr const char* kLabel = "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist";
  static constexpr const char* kOtherLabel =
      "bm128.bn128.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist";

  /// Its tile waits for its store in registers, and there is no room for one of fp32.
  static constexpr const char* kNotForFp32 =
      "bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.overlap.persist";

  /// Everything in the working folder and in HOME.
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const char* part : {"work", "home"}) {
      if (!fs::exists(root_ / part)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root_ / part)) {
        names.insert(entry.path().lexically_relative(root_).string());
      }
    }
    return names;
  }

 private:
  test::TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
  fs::path program_ = HGEMM_PROGRAM;
};

}  // namespace hgemm
