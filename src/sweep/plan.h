// What a sweep over many GPUs does: its shards, and what each of its tasks is told. Value types;
// the run folder (sweep/folder.h) holds them as files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/trial.h"

namespace hgemm::sweep {

/// The name of a race in the run folder: "2048x4096x4096.fp16-sustained".
std::string race_name(const GemmProblem& problem, Regime regime);

/// The problems that one task tunes. Every problem of a sweep is in one shard, with all regimes.
struct Shard {
  int number = 0;  ///< from 1; the index in Slurm's array
  std::vector<GemmProblem> problems;
  double seconds = 0;  ///< predicted, of one GPU
};

/// The name of a shard's files: "0007".
std::string shard_name(int number);

/// How long shards take on one GPU, predicted.
struct ShardSizes {
  double longest_s = 900;
  double shortest_s = 60;
  int tasks = 1;    ///< that run at a time
  int most = 1000;  ///< shards
};

/// Shards that shrink towards the end: each is a half of what is then left for a task, within the
/// limits. Long ones keep the number of tasks small; short ones at the end let all tasks end at
/// about the same time (analysis/scaling.py shows what this gains). If there are too many, the
/// shortest become longer. The costliest problem goes first, into the shard with the most room.
/// Within a shard, problems keep their order. `costs` are the predicted seconds of the problems.
std::vector<Shard> make_shards(std::span<const GemmProblem> problems, std::span<const double> costs,
                               ShardSizes sizes);

/// SweepPlan::order of these problems in these shards.
std::vector<int> order_of(std::span<const GemmProblem> problems, std::span<const Shard> shards);

/// The file of a shard, which `--shapes` reads: tags and weights are in it.
std::string shard_text(const Shard& shard);

struct SweepPlan {
  std::string created_utc;
  std::string program;               ///< absolute path
  std::string version;               ///< of the program, for people
  std::string command_line;          ///< that was given
  std::vector<std::string> options;  ///< of each task's tune, one word each
  std::string database;              ///< absolute path: where who follows the run merges it into
  std::vector<Regime> regimes;
  int gpus = 1;         ///< of each task
  int array_limit = 0;  ///< tasks at a time; 0: as many as Slurm gives
  /// Whether a published race is the whole of it. A search that learns has two races for each
  /// problem and regime; then only the file that a task writes at its end says what is done.
  bool in_one_stage = true;
  bool compiles_ahead = false;     ///< compile.sh exists
  std::optional<double> budget_s;  ///< GPU seconds of the whole sweep
  std::vector<Shard> shards;
  /// The shard of each problem, in the order that the user gave the problems.
  std::vector<int> order;

  double seconds() const;  ///< predicted, of one GPU
  std::size_t races() const;
  std::vector<GemmProblem> problems() const;  ///< in the user's order
  const Shard& shard(int number) const;       ///< throws InputError if there is none
  /// GPU seconds of a shard's part of the budget.
  std::optional<double> budget_of(const Shard& shard) const;
};

/// run.json. It lacks the problems, which are in the shards' files, one for each number that it
/// names.
std::string plan_text(const SweepPlan& plan);
/// The inverse; the shards have no problems yet. Throws InputError that starts with `place`.
SweepPlan parse_plan(std::string_view text, const std::string& place);

}  // namespace hgemm::sweep
