// Values to rows of the database, and back. Internal to store. All of it runs in a transaction of
// its caller.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <SQLiteCpp/VariadicBind.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/columns.h"
#include "store/store.h"

namespace hgemm::sql {

/// A row's id and what it says.
template <class Value>
struct Row {
  std::int64_t id = 0;
  Value value;
};

/// One invocation of the program.
struct Run {
  Environment environment;
  RunInfo info;
  std::string started_utc;
  std::string command_line;
};

struct RaceOfRun {
  std::int64_t run = 0;
  RecordedRace recorded;
};

// ---- Statements ----

template <class Value>
void bind_or_null(SQLite::Statement& statement, const char* name,
                  const std::optional<Value>& value) {
  if (value) {
    statement.bind(name, *value);
  } else {
    statement.bind(name);
  }
}

template <class... Args>
SQLite::Statement prepare(SQLite::Database& db, const char* sql, const Args&... args) {
  SQLite::Statement statement(db, sql);
  SQLite::bind(statement, args...);
  return statement;
}

/// The id of the new row.
template <class... Args>
std::int64_t insert(SQLite::Database& db, const char* sql, const Args&... args) {
  prepare(db, sql, args...).exec();
  return db.getLastInsertRowid();
}

std::string now_utc(SQLite::Database& db);  ///< ISO 8601
std::string new_uid(SQLite::Database& db);

// ---- Reading: oldest first ----

std::vector<Row<Environment>> read_environments(SQLite::Database& db);
std::vector<Row<Run>> read_runs(SQLite::Database& db);
/// The run that a row of `table` names. Throws InputError if there is none.
const Run& run_of(const std::map<std::int64_t, Run>& runs, std::int64_t id, const char* column);
/// Throws InputError that names the race if its rows are not those that were recorded.
std::vector<RaceOfRun> read_races(SQLite::Database& db,
                                  const std::optional<Environment>& environment = {});
std::vector<Trial> read_trials(SQLite::Database& db, std::int64_t race);
std::vector<BuildFacts> read_builds(SQLite::Database& db);

// ---- The id of what is there, or is added ----

std::optional<std::int64_t> find_environment(SQLite::Database& db, const Environment& environment);
std::int64_t environment_id(SQLite::Database& db, const Environment& environment);
std::int64_t problem_id(SQLite::Database& db, const GemmProblem& problem);
std::optional<std::int64_t> find_problem(SQLite::Database& db, const GemmProblem& problem);
/// From problem.key: without weight and tag.
GemmProblem read_problem(const SQLite::Statement& row, int index);
std::int64_t candidate_id(SQLite::Database& db, const std::string& label);
std::int64_t kernel_row(SQLite::Database& db, const std::string& identity);

// ---- Adding ----

std::int64_t add_run(SQLite::Database& db, const Run& run);
/// Without its trials.
std::int64_t add_race(SQLite::Database& db, std::int64_t run, const RecordedRace& recorded);
void add_build(SQLite::Database& db, const BuildFacts& build);  ///< ignored if it is there

// ---- What samples of trials and of studies share ----

/// round, pace, launches, time_us, sm_mhz, power_w, temperature_c, clock_events from `first` on.
Sample read_sample(const SQLite::Statement& row, int first);
/// What of it can be read again: a clock or a power that no GPU has is none. Throws Error if it has
/// no time.
Sample recordable(const Sample& sample);
/// Binds :power, :celsius and :events.
void bind_what_nvml_said(SQLite::Statement& statement, const Sample& sample);

/// What is read of a verdict: correct, error, tolerance, verdict_message from `first` on.
Verdict read_verdict(const SQLite::Statement& row, int first);

/// Store::record(), trial by trial. The race's checksum, if it has one, is brought up to date.
class TrialWriter {
 public:
  explicit TrialWriter(SQLite::Database& db);
  int write(std::int64_t race, const Trial& trial);  ///< how many samples were new

 private:
  std::int64_t candidate(const std::string& label);
  std::int64_t kernel(const std::string& identity);
  std::uint64_t hash_of_row(std::int64_t race, std::int64_t candidate);
  void add_to_checksum(std::int64_t race, std::uint64_t difference);

  SQLite::Database& db_;
  SQLite::Statement trial_, sample_, energy_, row_;
  std::map<std::string, std::int64_t> candidates_, kernels_;  ///< rows that are known
};

}  // namespace hgemm::sql
