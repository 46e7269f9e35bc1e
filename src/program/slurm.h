// Sweeps over a Slurm cluster, as whoever submits them sees them.
#pragma once

#include <string>

#include "program/slurm_options.h"
#include "program/tune_options.h"
#include "sweep/folder.h"
#include "sweep/slurm.h"

namespace hgemm::cli {

/// The tune command with --executor slurm: makes the run folder, submits its jobs and follows them,
/// or with --dry-run prints all of this. Returns the exit code.
int run_on_slurm(const TuneOptions& options, const SlurmOptions& slurm,
                 const std::string& command_line);

/// Prints what is done, running, waiting and set aside.
void print_status(const sweep::RunFolder& run, const sweep::Slurm& slurm);

/// Submits the shards with missing races that no job works on. With `retry`, races that were set
/// aside, skipped or late are missing too.
void resume(const sweep::RunFolder& run, const sweep::Slurm& slurm, bool retry);

/// Ends all jobs of the run. What is published stays.
void cancel(const sweep::RunFolder& run, const sweep::Slurm& slurm);

/// Shows progress until the run is done, then merges its results into its database and prints the
/// table. After Ctrl-C the run goes on without a follower. Returns the exit code.
int follow(const sweep::RunFolder& run, const sweep::Slurm& slurm, TuneOptions options);

}  // namespace hgemm::cli
