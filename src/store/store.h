// The database: SQLite, append-only, typed, one commit per trial or study. Only this module knows
// SQL. schema.sql holds the schema; PRAGMA user_version its version; application_id marks the file
// ours.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "record/environment.h"
#include "record/study.h"
#include "record/trial.h"

namespace hgemm {

/// A race as it is read back: what was measured together, and where.
struct RecordedRace {
  std::int64_t id = 0;
  std::string uid;  ///< the same in every database that the race was merged into
  Environment environment;
  RunInfo run;
  std::string started_utc;     ///< ISO 8601
  std::string command_line{};  ///< of the run that it is a part of
  Race race;
};

/// A config's kernel: a label, and Trial::kernel_id.
struct TrialKernel {
  std::string label;
  std::string kernel_id;
  auto operator<=>(const TrialKernel&) const = default;
};

/// What is to be known of a config, for it to be finished.
struct Wanted {
  bool energy = false;  ///< of a finalist
  /// That it ended ok in brief races only is no end: to lose there says too little.
  bool full_effort = false;
};

class Store {
 public:
  enum class Mode { kReadWrite, kReadOnly };

  /// Opens or (kReadWrite) creates a database. Throws InputError if the file is not one of ours, is
  /// damaged, has a newer schema than this program, or cannot be written; nothing is left
  /// half-written. An empty file is a new database. kReadOnly works in a read-only folder. What is
  /// read is one state of the file: of one that nobody writes to a copy as it was then, else
  /// SQLite sees to it.
  ///
  /// Nothing that a file holds is believed: its tables must be ours, and every value one that its
  /// column can have; races and studies have checksums. What reads them throws InputError that
  /// names the database, and the column or the race.
  ///
  /// One process at a time has a database open for writing, by a lock on `<path>.lock`: two runs
  /// would measure the same trials twice, and disturb each other's times. Throws Error that names
  /// the other process. The lock goes with its process, however that ends. A file with several
  /// names (hard links) is not written: each name would have its own lock and journal. On a network
  /// file system the writer warns on stderr (open.h).
  static Store open(const std::string& path, Mode mode);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::string& path() const;

  /// One invocation of the program on one machine. Equal environments share one row.
  std::int64_t begin_run(const Machine& machine, const std::string& command_line);

  /// A race of that run; trials are added to it as they end.
  std::int64_t begin_race(std::int64_t run, const GemmProblem& problem, Regime regime,
                          const Timing& timing);

  /// Notes on disk, before it happens, that a kernel runs for the first time at a problem: if the
  /// whole machine goes down with it, the next run knows. One a run: the next call replaces it.
  void begin_attempt(std::int64_t run, const GemmProblem& problem, const TrialKernel& candidate);
  void end_attempts(std::int64_t run);  ///< the last one is over too
  /// Candidates whose attempt at this problem, in this environment, was under way when a machine
  /// went down: noted in another boot (/proc/sys/kernel/random/boot_id) than now, and never over.
  /// One that was merely killed in the same boot is not among them: that was not the kernel's
  /// doing.
  std::set<TrialKernel> fatal_attempts(const Environment& environment,
                                       const GemmProblem& problem) const;

  /// Adds trials to a race in one transaction. A label that the race already has keeps its row: its
  /// stage, status, message and verdict are brought up to date and samples of new rounds are
  /// appended.
  void record(std::int64_t race, std::span<const Trial> trials);

  /// Facts of a build; the same name, kernel, source, compiler and flags again is ignored.
  void record_build(const BuildFacts& build);

  /// Candidates that need no further measurement at this problem in this environment and regime:
  /// they ended with any status, in any run (ok but never timed is no end). Baselines are never
  /// among them, nor those that lack what is wanted.
  std::set<TrialKernel> finished(const Environment& environment, const GemmProblem& problem,
                                 Regime regime, const Wanted& wanted = {}) const;

  /// All races with their trials and samples, oldest first; with `environment`, only races in it.
  std::vector<RecordedRace> races(const std::optional<Environment>& environment = {}) const;
  std::vector<BuildFacts> builds() const;

  /// All environments that have a run, oldest first.
  std::vector<Environment> environments() const;

  /// One finished study of that run, in one transaction.
  void record_study(std::int64_t run, const Study& study);
  /// Whether the newest study of this kind, label and shape in these conditions is of this cubin,
  /// with any status; of one that did not compile, for the same reason. `with_spans`: and has a
  /// timeline, unless it failed.
  bool has_study(const Environment& environment, const Study& like, bool with_spans = false) const;
  /// All studies of a kind, oldest first; of each label, shape and conditions only the newest.
  std::vector<RecordedStudy> studies(std::string_view kind) const;

  struct Added {
    int races = 0;
    int trials = 0;  ///< new here, or brought up to date
    int samples = 0;
    int studies = 0;
  };
  /// Takes over everything that `from` has and this database lacks, in one transaction: races and
  /// studies by their uid, of races that both have the trials and rounds that are missing here.
  /// Adding the same again adds nothing. `from` may be an older or a newer state of this database,
  /// or this one. Attempts stay behind. Whether the environments may be mixed is the caller's
  /// decision.
  Added add_all(const Store& from);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hgemm
