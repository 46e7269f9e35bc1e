// The database: SQLite, append-only, typed, one commit per trial or study. Only this module knows
// SQL. schema.sql holds the schema, PRAGMA user_version its version; application_id marks the file
// as one of this program.
#pragma once

#include <cstdint>
#include <functional>
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

/// A race as it is read back: trials that were measured together, and where.
struct RecordedRace {
  std::int64_t id = 0;
  std::string uid;  ///< the same in every database that the race was merged into
  Environment environment;
  RunInfo run;
  std::string started_utc;     ///< ISO 8601
  std::string command_line{};  ///< of the run that the race is part of
  Race race;
};

/// A config's kernel: a label, and Trial::kernel_id.
struct TrialKernel {
  std::string label;
  std::string kernel_id;
  auto operator<=>(const TrialKernel&) const = default;
};

/// What must be known about a config before it counts as finished.
struct Wanted {
  bool energy = false;  ///< required of finalists
  /// True: an ok in brief races only does not count, because losing a brief race says too little.
  bool full_effort = false;
};

class Store {
 public:
  enum class Mode { kReadWrite, kReadOnly };

  /// Opens or (kReadWrite) creates a database. Throws InputError if the file is not one of this
  /// program, is damaged, has a newer schema than this program, or cannot be written; a failed call
  /// leaves nothing half-written. An empty file is a new database. kReadOnly works in a read-only
  /// folder. All reads see one state of the file: a copy of it if no process is writing to it,
  /// otherwise a transaction of SQLite.
  ///
  /// The content of a file is not trusted: it must have exactly the tables of this program, and
  /// every value must be one that its column can have; races and studies have checksums. Functions
  /// that read throw InputError that names the database, and the column or the race.
  ///
  /// One process at a time can open a database for writing; a lock on `<path>.lock` ensures it. Two
  /// runs would measure the same trials twice, and disturb each other's times. Throws Error that
  /// names the other process. The lock ends with its process, however that ends. A file with
  /// several names (hard links) is refused for writing, because each name would have its own lock
  /// and journal. On a network file system the writer warns on stderr (open.h).
  static Store open(const std::string& path, Mode mode);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::string& path() const;

  /// Adds a run: one invocation of the program on one machine. Equal environments share one row.
  /// Returns its id.
  std::int64_t begin_run(const Machine& machine, const std::string& command_line);

  /// Adds a race to a run and returns its id; trials are added to it as they end.
  std::int64_t begin_race(std::int64_t run, const GemmProblem& problem, Regime regime,
                          const Timing& timing);

  /// Notes on disk that a kernel is about to run for the first time at a problem. If it takes the
  /// whole machine down, the next run knows. A run has one attempt: the next call replaces it.
  void begin_attempt(std::int64_t run, const GemmProblem& problem, const TrialKernel& candidate);
  void end_attempts(std::int64_t run);  ///< the last attempt is over
  /// Candidates whose attempt at this problem, in this environment, was under way when a machine
  /// went down: the note is from another boot (/proc/sys/kernel/random/boot_id) and was never
  /// ended. A note from the present boot does not count: its process was killed, for which the
  /// kernel is not to blame.
  std::set<TrialKernel> fatal_attempts(const Environment& environment,
                                       const GemmProblem& problem) const;

  /// Adds trials to a race in one transaction. A label that the race already has keeps its row: its
  /// stage, status, message and verdict are updated, and samples of new rounds are appended.
  void record(std::int64_t race, std::span<const Trial> trials);

  /// Adds the facts of a build; does nothing if the same name, kernel, source, compiler and flags
  /// are there.
  void record_build(const BuildFacts& build);

  /// Candidates that need no further measurement at this problem in this environment and regime,
  /// because they ended with any status, in any run (ok without a sample does not count). Baselines
  /// and candidates without what `wanted` asks for are not among them.
  std::set<TrialKernel> finished(const Environment& environment, const GemmProblem& problem,
                                 Regime regime, const Wanted& wanted = {}) const;

  /// All races with their trials and samples, oldest first; with `environment`, only races in it.
  std::vector<RecordedRace> races(const std::optional<Environment>& environment = {}) const;
  std::vector<BuildFacts> builds() const;

  /// All environments with a run, oldest first.
  std::vector<Environment> environments() const;

  /// Adds one finished study to a run, in one transaction.
  void record_study(std::int64_t run, const Study& study);
  /// Whether the newest study of the same kind, label, shape and conditions has the same cubin,
  /// with any status; or, if it did not compile, failed for the same reason. With `with_spans` it
  /// must also have a timeline, unless it failed.
  bool has_study(const Environment& environment, const Study& like, bool with_spans = false) const;
  /// All studies of a kind, oldest first; only the newest of each label, shape and conditions.
  std::vector<RecordedStudy> studies(std::string_view kind) const;

  struct Added {
    int races = 0;
    int trials = 0;  ///< added or updated
    int samples = 0;
    int studies = 0;
  };
  /// Copies everything from `from` that this database lacks, in one transaction: races and studies
  /// by their uid, and for races that both have, the missing trials and rounds. Adding the same
  /// again adds nothing. `from` may be an older or a newer state of this database, or this
  /// database. Attempts are not copied. The caller decides whether the environments may be mixed.
  ///
  /// With `which`, only the races for which it is true are copied, with the runs that they are part
  /// of and the builds of their kernels, and no studies.
  Added add_all(const Store& from, const std::function<bool(const RecordedRace&)>& which = {});

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hgemm
