// The options of a tune as a sweep's tasks get them: from the command line to run.json, and back.
#pragma once

#include "program/aim.h"
#include "program/slurm_options.h"
#include "program/tune_options.h"
#include "sweep/folder.h"

namespace hgemm::cli {

/// An H200, for predictions where no GPU is at hand.
Environment assumed_environment();

/// What is to be done, without shards, and what it will take.
struct Sweep {
  sweep::SweepPlan plan;
  std::vector<GemmProblem> problems;
  std::vector<double> seconds;  ///< predicted for each problem, on one GPU
};
/// Without --budget it measures a number of configs of each shape, because a time would be right
/// for no number of shapes. Throws InputError, as plan_of() does, for options that contradict each
/// other.
Sweep sweep_of(TuneOptions options, const SlurmOptions& slurm, const std::string& command_line);

/// The options of a task's tune, without problems. Throws InputError if run.json has others.
TuneOptions options_of(const sweep::SweepPlan& plan);

/// Prints the best kernels of a sweep's shapes from a database, and what the sweep did not do.
/// Returns the exit code: 1 if a race is missing.
int print_sweep(const sweep::RunFolder& run, const Store& store, const TuneOptions& options);

}  // namespace hgemm::cli
