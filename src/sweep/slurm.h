// Slurm's commands: what they are asked, and what their output says. Nothing else in the program
// runs them.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"

namespace hgemm::sweep {

/// What this cluster allows of an array (slurm.conf, MaxArraySize and max_array_tasks).
struct ArrayLimits {
  int highest_index = 0;
  int most_tasks = 0;
  /// The most shards that an array can have: their numbers, from 1, are its indices.
  int shards() const { return std::min(highest_index, most_tasks); }
};

/// A line of squeue: a task of an array, or a job.
struct QueuedTask {
  std::string job;           ///< of an array: the array's id
  std::optional<int> index;  ///< in the array
  std::string state;         ///< "PENDING", "RUNNING", ...
  std::string reason;        ///< why it is pending
};

// What the commands print. They throw Error that quotes what was not understood.
ArrayLimits parse_limits(std::string_view scontrol_show_config);
std::string parse_job_id(std::string_view sbatch_parsable);
std::vector<QueuedTask> parse_queue(std::string_view squeue);

/// "1-8,11": array indices, as sbatch takes them.
std::string index_list(const std::set<int>& indices);

/// An explanation of what a command said on stderr, with the next step. `what` begins it.
std::string explain(const std::string& what, std::string_view err);

class Slurm {
 public:
  using Run = std::function<CommandResult(std::vector<std::string>)>;
  /// `run` takes the place of the real commands in tests.
  explicit Slurm(Run run = {});

  ArrayLimits limits() const;
  /// Submits and returns the job's id. `command` is the whole command line, from "sbatch" on.
  std::string submit(const std::vector<std::string>& command) const;
  /// Tasks of these jobs that have not ended; one call of squeue. Slurm forgets jobs that have
  /// ended, so that a job which is not there has ended.
  std::vector<QueuedTask> queue(std::span<const std::string> jobs) const;
  void cancel(std::span<const std::string> jobs) const;
  /// Gives tasks that Slurm holds after a failed launch another chance. Returns false if it may
  /// not.
  bool release(const QueuedTask& task) const;

 private:
  std::string run(const std::vector<std::string>& command) const;

  Run run_;
};

/// Whether Slurm keeps the task from ever starting by itself.
bool is_held(const QueuedTask& task);

}  // namespace hgemm::sweep
