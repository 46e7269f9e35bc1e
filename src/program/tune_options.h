// The options of the tune command, and the plan that follows from them. Commands that tune in other
// ways share them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/aim.h"
#include "program/cache.h"
#include "program/shapes.h"
#include "program/table_options.h"
#include "tune/tune.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

/// As given on the command line.
struct TuneOptions {
  ShapeOptions problems;
  std::optional<std::string> space;
  std::vector<std::string> configs;
  std::vector<std::string> peers;  ///< program/peers.h; only of the race command
  std::optional<std::string> strategy;
  std::optional<std::string> budget;
  std::string devices;              ///< program/gpus.h
  std::optional<std::string> blas;  ///< program/blas.h
  bool pace_check = false;
  int confirm = 1;  ///< GPUs that race the finalists of a close race
  std::optional<std::string> db;
  CacheOptions cache;
  int jobs = 0;
  AimOptions aim;
  bool energy = false;
  std::string format = "table";
  TableOptions tables;
  bool require_gpu = false;
  bool recorded = false;
  std::optional<std::uint64_t> seed;

  /// Whether --space or --config says which kernels may answer.
  bool is_restricted() const { return space || !configs.empty(); }
};

void add_tune_options(CLI::App& program, TuneOptions& options);

/// What the options ask for. `start`: when the command began; a time budget counts from then.
/// Throws InputError if options contradict each other, and if no config can compute a problem.
TunePlan plan_of(const TuneOptions& options, const Aim& aim, const std::string& command_line,
                 std::chrono::steady_clock::time_point start);

/// The command that measures the same on another machine.
std::string same_command(const TuneOptions& options, const Aim& aim);

}  // namespace hgemm::cli
