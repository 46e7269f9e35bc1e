#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "store/lock.h"
#include "store/open.h"
#include "store/rows.h"
#include "store/study_rows.h"

namespace hgemm {

using namespace sql;

namespace {

using SQLite::Database;
using SQLite::Statement;

/// Boot id of the running Linux, different at every boot; empty on other systems.
std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

std::int64_t find_or_add_run(Database& db, const Run& run) {
  Statement known = prepare(
      db,
      "SELECT id FROM run WHERE environment_id = ? AND gpu_uuid = ? AND started_utc = ? "
      "AND command_line = ?",
      environment_id(db, run.environment), run.info.gpu_uuid, run.started_utc, run.command_line);
  return known.executeStep() ? row_id(known, 0) : add_run(db, run);
}

std::optional<std::int64_t> find_race(Database& db, const std::string& uid) {
  Statement known = prepare(db, "SELECT id FROM race WHERE uid = ?", uid);
  if (!known.executeStep()) return std::nullopt;
  return row_id(known, 0);
}

/// Whether `a` is the later of two records of one trial in one race: a trial only gains rounds,
/// an energy and a time of its calls, and fails at most once.
bool is_later(const Trial& a, const Trial& b) {
  return a.samples.size() > b.samples.size() || (a.energy && !b.energy) || (a.calls && !b.calls) ||
         (a.status != Status::kOk && b.status == Status::kOk);
}

bool same_subject(const Study& a, const Study& b) {
  return a.kind == b.kind && a.label == b.label && a.problem.has_value() == b.problem.has_value() &&
         (!a.problem || a.problem->same_problem(*b.problem));
}

struct Contents {
  std::vector<Row<Run>> runs;
  std::vector<RaceOfRun> races;
  std::vector<BuildFacts> builds;
  std::vector<StudyOfRun> studies;
};

Contents contents_of(Database& db) {
  Contents contents{read_runs(db), read_races(db), read_builds(db), {}};
  for (StudyRow& row : read_study_rows(db)) {
    read_findings(db, row);
    contents.studies.push_back(std::move(row.study));
  }
  return contents;
}

/// Leaves the races for which `which` is true, and what belongs to them.
void keep_races(Contents& contents, const std::function<bool(const RecordedRace&)>& which) {
  std::erase_if(contents.races, [&](const RaceOfRun& race) { return !which(race.recorded); });
  std::set<std::int64_t> runs;
  std::set<std::string> kernels;
  for (const auto& [run, recorded] : contents.races) {
    runs.insert(run);
    for (const Trial& trial : recorded.race.trials) kernels.insert(trial.kernel_id);
  }
  std::erase_if(contents.runs, [&](const Row<Run>& run) { return !runs.contains(run.id); });
  std::erase_if(contents.builds,
                [&](const BuildFacts& build) { return !kernels.contains(build.identity()); });
  contents.studies.clear();
}

}  // namespace

struct Store::Impl {
  std::string path;
  std::optional<WriterLock> lock;  // declared before `db`, so that `db` is closed first
  Database db;

  /// Runs `work` in one transaction, so that it sees one state of the database.
  template <class Work>
  auto read(const Work& work) {
    return transact(SQLite::TransactionBehavior::DEFERRED, work);
  }
  /// Takes the write lock at the start: a transaction that begins as a reader can fail as busy when
  /// it starts to write.
  template <class Work>
  auto write(const Work& work) {
    return transact(SQLite::TransactionBehavior::IMMEDIATE, work);
  }

 private:
  template <class Work>
  auto transact(SQLite::TransactionBehavior behavior, const Work& work) {
    try {
      SQLite::Transaction transaction(db, behavior);
      if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
        work();
        transaction.commit();
      } else {
        auto result = work();
        transaction.commit();
        return result;
      }
    } catch (const SQLite::Exception& error) {
      throw_explained(path, error);
    } catch (const InputError& error) {  // thrown for a value in the database
      throw InputError(fmt::format("database {}: {}; restore it from a copy, or name another file",
                                   path, error.what()));
    } catch (const Error& error) {
      throw Error(fmt::format("database {}: {}", path, error.what()));
    }
  }
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

Store Store::open(const std::string& path, Mode mode) {
  OpenDatabase opened = open_database(path, mode);
  return Store(std::make_unique<Impl>(path, std::move(opened.lock), std::move(opened.db)));
}

const std::string& Store::path() const { return impl_->path; }

std::int64_t Store::begin_run(const Machine& machine, const std::string& command_line) {
  Database& db = impl_->db;
  return impl_->write([&] {
    // The runs that left these attempts have ended, and the machine did not go down: they were
    // killed.
    prepare(db, "DELETE FROM attempt WHERE boot_id = ?", boot_id()).exec();
    return add_run(db, {machine.environment, machine.run, now_utc(db), command_line});
  });
}

std::int64_t Store::begin_race(std::int64_t run, const GemmProblem& problem, Regime regime,
                               const Timing& timing) {
  Database& db = impl_->db;
  return impl_->write([&] {
    RecordedRace race;
    race.uid = new_uid(db);
    race.started_utc = now_utc(db);
    race.race = {.problem = problem, .regime = regime, .timing = timing, .trials = {}};
    return add_race(db, run, race);
  });
}

void Store::begin_attempt(std::int64_t run, const GemmProblem& problem,
                          const TrialKernel& candidate) {
  Database& db = impl_->db;
  impl_->write([&] {
    insert(db,
           "INSERT OR REPLACE INTO attempt (run_id, problem_id, candidate_id, kernel_id, boot_id, "
           "started_utc) VALUES (?,?,?,?,?,?)",
           run, problem_id(db, problem), candidate_id(db, candidate.label),
           kernel_row(db, candidate.kernel_id), boot_id(), now_utc(db));
  });
}

void Store::end_attempts(std::int64_t run) {
  impl_->write([&] { prepare(impl_->db, "DELETE FROM attempt WHERE run_id = ?", run).exec(); });
}

std::set<TrialKernel> Store::fatal_attempts(const Environment& environment,
                                            const GemmProblem& problem) const {
  Database& db = impl_->db;
  return impl_->read([&] {
    std::set<TrialKernel> fatal;
    const auto known = find_problem(db, problem);
    const auto place = find_environment(db, environment);
    if (!known || !place) return fatal;
    const std::string now = boot_id();
    Statement row = prepare(db,
                            "SELECT label, identity, boot_id FROM attempt "
                            "JOIN run ON run.id = run_id "
                            "JOIN candidate ON candidate.id = candidate_id "
                            "JOIN kernel ON kernel.id = kernel_id "
                            "WHERE problem_id = ? AND environment_id = ?",
                            *known, *place);
    while (row.executeStep()) {
      const std::string then = text(row, 2, "attempt.boot_id", Form::kName);
      const bool booted_since = !then.empty() && !now.empty() && then != now;
      if (booted_since) {
        fatal.insert({text(row, 0, "candidate.label", Form::kLabel),
                      text(row, 1, "kernel.identity", Form::kLabel)});
      }
    }
    return fatal;
  });
}

void Store::record(std::int64_t race, std::span<const Trial> trials) {
  Database& db = impl_->db;
  impl_->write([&] {
    TrialWriter writer(db);
    for (const Trial& trial : trials) writer.write(race, trial);
  });
}

void Store::record_build(const BuildFacts& build) {
  impl_->write([&] { add_build(impl_->db, build); });
}

std::set<TrialKernel> Store::finished(const Environment& environment, const GemmProblem& problem,
                                      Regime regime, const Wanted& wanted) const {
  Database& db = impl_->db;
  return impl_->read([&] {
    std::set<TrialKernel> finished, weighed, thorough;
    const auto known = find_problem(db, problem);
    const auto place = find_environment(db, environment);
    if (!known || !place) return finished;
    Statement row =
        prepare(db,
                "SELECT label, identity, stage = 'final' AND status = 'ok', window_s NOTNULL, "
                "effort = 'full', status = 'ok' "
                "FROM race JOIN run ON run.id = run_id "
                "JOIN trial ON race_id = race.id JOIN candidate ON candidate.id = candidate_id "
                "JOIN kernel ON kernel.id = kernel_id LEFT JOIN energy ON trial_id = trial.id "
                "WHERE problem_id = ? AND environment_id = ? AND regime = ? "
                "AND NOT (status = 'ok' AND stage = 'none') ORDER BY race.started_utc, race.id",
                *known, *place, std::string(to_string(regime)));
    while (row.executeStep()) {
      const TrialKernel candidate{text(row, 0, "candidate.label", Form::kLabel),
                                  text(row, 1, "kernel.identity", Form::kLabel)};
      const bool finalist = flag(row, 2, "trial.stage");
      if (flag(row, 3, "energy.window_s")) weighed.insert(candidate);
      if (flag(row, 4, "race.effort")) thorough.insert(candidate);
      const bool lacks =
          (wanted.energy && finalist && !weighed.contains(candidate)) ||
          (wanted.full_effort && flag(row, 5, "trial.status") && !thorough.contains(candidate));
      // The newest trial decides. A config that was tried again for a missing energy or effort, and
      // lost, is finished.
      if (lacks) {
        finished.erase(candidate);
      } else {
        finished.insert(candidate);
      }
    }
    return finished;
  });
}

std::vector<RecordedRace> Store::races(const std::optional<Environment>& environment) const {
  return impl_->read([&] {
    std::vector<RecordedRace> races;
    for (RaceOfRun& race : read_races(impl_->db, environment)) {
      races.push_back(std::move(race.recorded));
    }
    return races;
  });
}

std::vector<BuildFacts> Store::builds() const {
  return impl_->read([&] { return read_builds(impl_->db); });
}

std::vector<Environment> Store::environments() const {
  return impl_->read([&] {
    std::vector<Environment> environments;
    for (auto& [id, environment] : read_environments(impl_->db)) {
      environments.push_back(std::move(environment));
    }
    return environments;
  });
}

void Store::record_study(std::int64_t run, const Study& study) {
  Database& db = impl_->db;
  impl_->write([&] {
    RecordedStudy recorded;
    recorded.uid = new_uid(db);
    recorded.started_utc = now_utc(db);
    recorded.study = study;
    add_study(db, run, recorded);
  });
}

bool Store::has_study(const Environment& environment, const Study& like, bool with_spans) const {
  Database& db = impl_->db;
  return impl_->read([&] {
    auto rows = read_study_rows(db, like.label);
    const auto newest = std::find_if(rows.rbegin(), rows.rend(), [&](const StudyRow& row) {
      const RecordedStudy& recorded = row.study.recorded;
      return same_subject(recorded.study, like) && recorded.environment == environment;
    });
    if (newest == rows.rend()) return false;
    const Study& known = newest->study.recorded.study;
    if (known.kernel_id != like.kernel_id) return false;
    const bool did_not_compile = known.status == Status::kCompileFailed;
    if (did_not_compile || like.status == Status::kCompileFailed) {
      return known.status == like.status && known.message == fitting(like.message, Form::kText);
    }
    return !with_spans || known.status != Status::kOk || has_spans(db, newest->id);
  });
}

std::vector<RecordedStudy> Store::studies(std::string_view kind) const {
  Database& db = impl_->db;
  return impl_->read([&] {
    std::vector<RecordedStudy> newest;
    auto rows = read_study_rows(db);
    std::reverse(rows.begin(), rows.end());
    for (StudyRow& row : rows) {
      RecordedStudy& recorded = row.study.recorded;
      const bool superseded = std::ranges::any_of(newest, [&](const RecordedStudy& later) {
        return same_subject(later.study, recorded.study) && same_session(later, recorded);
      });
      if (recorded.study.kind != kind || superseded) continue;
      read_findings(db, row);
      newest.push_back(std::move(recorded));
    }
    std::reverse(newest.begin(), newest.end());
    return newest;
  });
}

Store::Added Store::add_all(const Store& from,
                            const std::function<bool(const RecordedRace&)>& which) {
  // Reads before it writes, because `from` may be this very database.
  Contents theirs = from.impl_->read([&] { return contents_of(from.impl_->db); });
  if (which) keep_races(theirs, which);

  Database& db = impl_->db;
  return impl_->write([&] {
    Added added;
    std::map<std::int64_t, std::int64_t> our_run;
    for (const auto& [id, run] : theirs.runs) our_run[id] = find_or_add_run(db, run);

    TrialWriter writer(db);
    for (const auto& [run, recorded] : theirs.races) {
      std::optional<std::int64_t> race = find_race(db, recorded.uid);
      std::map<std::string, Trial> ours;
      if (race) {
        for (Trial& trial : read_trials(db, *race)) ours.emplace(trial.label, std::move(trial));
      } else {
        race = add_race(db, our_run.at(run), recorded);
        ++added.races;
      }
      for (const Trial& trial : recorded.race.trials) {
        const auto known = ours.find(trial.label);
        if (known != ours.end() && !is_later(trial, known->second)) continue;
        added.samples += writer.write(*race, trial);
        ++added.trials;
      }
    }
    for (const BuildFacts& build : theirs.builds) add_build(db, build);
    for (const auto& [run, recorded] : theirs.studies) {
      if (knows_study(db, recorded.uid)) continue;
      add_study(db, our_run.at(run), recorded);
      ++added.studies;
    }
    return added;
  });
}

}  // namespace hgemm
