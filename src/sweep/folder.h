// The folder of a sweep, on a file system that all nodes share. Tasks on many nodes write to it at
// the same time. They rely on rename() within a folder and on nothing else: no locks, and no SQLite
// (on a network file system its locks and its shared memory do not hold).
//
//   run.json       the plan
//   shards/        0001.yaml ...: the shapes of each task
//   job.sh ...     what Slurm runs
//   jobs.json      what was submitted
//   results/       one small database for each finished race:
//                  <shard>-<race>-<uid>.db, complete from the moment that it has this name
//   done/          <shard>-<attempt>.json: a task came to the end of its shard
//   attempts/      what is in hand, and what died (sweep/attempts.h)
//   set-aside/     <race>.json: races that are not tried again
//   logs/          what tasks printed
//   table.db       all results, once they were merged
//
// A folder may be damaged, and an attempt that Slurm gave up may still write to it. So everything
// is read strictly, and two attempts on a race do no harm: each has published a file of its own,
// and the merge tells races apart by their uid.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweep/attempts.h"
#include "sweep/plan.h"

namespace hgemm::sweep {

enum class RaceState : unsigned char {
  kWaiting,
  kInHand,  ///< of an attempt; whether that still lives, only Slurm knows
  kDone,
  kSkipped,  ///< its problem does not fit the GPU
  kLate,     ///< there was no time left for it
  kSetAside,
};

struct RaceStatus {
  int shard = 0;
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string name;
  RaceState state = RaceState::kWaiting;
};

struct SweepState {
  std::vector<RaceStatus> races;
  std::vector<std::string> warnings;  ///< files that could not be read
  using Time = std::filesystem::file_time_type;
  std::vector<Time> published;  ///< when races were published, in ascending order

  std::size_t count(RaceState state) const;
  std::size_t left() const { return count(RaceState::kWaiting) + count(RaceState::kInHand); }
  bool is_over(int shard) const;
  /// Until nothing is left, at the pace of the last races. None if the pace is not known.
  std::optional<std::chrono::seconds> time_left() const;
};

struct Published {
  int shard = 0;
  std::string race, uid;
  std::filesystem::path path;
};

/// A submitted job or array.
struct SubmittedJob {
  std::string kind;  ///< "race", "compile" or "merge"
  std::string id;
  std::string shards;  ///< array indices: "1-8,11"; empty for a merge
  std::string submitted_utc;
};

/// What became of the races of a shard, as its task says at its end.
struct ShardEnd {
  std::vector<std::string> done, skipped, late;  ///< names of races
};

struct SetAside {
  std::string race;
  int shard = 0;
  RaceHistory history;
};

class RunFolder {
 public:
  /// Throws InputError if the folder exists and is not empty, or cannot be made.
  static void check_new(const std::filesystem::path& path);
  /// Makes the folder. run.json comes last: a folder without it is not a run.
  static RunFolder create(const std::filesystem::path& path, SweepPlan plan,
                          const std::map<std::string, std::string>& scripts);
  /// Throws InputError if it is not a run's, or is damaged.
  static RunFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const SweepPlan& plan() const { return plan_; }
  std::filesystem::path table() const { return path_ / "table.db"; }
  std::filesystem::path logs() const { return path_ / "logs"; }
  Attempts attempts(int shard) const { return Attempts(path_ / "attempts" / shard_name(shard)); }

  /// Copies a closed database of one race into place.
  void publish(int shard, const std::string& race, const std::string& uid,
               const std::filesystem::path& database) const;
  /// In the order of their names; only a shard's own if there is one.
  std::vector<Published> published(std::optional<int> shard = {}) const;
  /// Takes a file out of the results that cannot be read, so that its race is measured again.
  /// Returns its new name.
  std::string put_away(const Published& damaged) const;
  /// Removes temporary files of publishers that were killed. They are an hour old at least: a
  /// younger one may still be written.
  void remove_leftovers() const;

  void end_shard(int shard, const Attempt& attempt, const ShardEnd& end) const;
  void set_aside(const SetAside& race) const;
  std::vector<std::string> set_aside() const;  ///< names of races
  /// Gives races that were set aside, skipped or late another chance. Returns how many.
  int retry() const;

  SweepState state() const;

  std::vector<SubmittedJob> jobs() const;
  void write_jobs(const std::vector<SubmittedJob>& jobs) const;

 private:
  RunFolder(std::filesystem::path path, SweepPlan plan)
      : path_(std::move(path)), plan_(std::move(plan)) {}

  std::filesystem::path path_;
  SweepPlan plan_;
};

/// ISO 8601, in UTC.
std::string now_utc();

}  // namespace hgemm::sweep
