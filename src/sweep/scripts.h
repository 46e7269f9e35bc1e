// The scripts that Slurm runs, and how they are submitted. They are in the run folder, for people
// to read.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hgemm::sweep {

/// What the user says about jobs.
struct JobOptions {
  std::string partition, compile_partition, time;  ///< empty: Slurm's default; no compiling ahead
  int gpus_per_node = 1;
  std::vector<std::string> sbatch;  ///< options of sbatch, as given
};

/// Throws InputError for what cannot stand in a script: a line break in an option, or a path with
/// characters that sbatch or the shell would take for something else.
void check_scriptable(const JobOptions& options, const std::filesystem::path& run,
                      const std::filesystem::path& program);

/// By file name: job.sh, merge.sh, and compile.sh if there is a partition for it.
std::map<std::string, std::string> scripts(const JobOptions& options,
                                           const std::filesystem::path& run,
                                           const std::filesystem::path& program);

/// Command lines of sbatch. `array`: "1-8,11", and `limit` tasks of it at a time if above 0.
std::vector<std::string> submit_array(const std::filesystem::path& script, const std::string& array,
                                      int limit, const std::string& dependency = {});
std::vector<std::string> submit_job(const std::filesystem::path& script,
                                    const std::string& dependency);

}  // namespace hgemm::sweep
