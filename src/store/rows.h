// Converts values to rows of the database, and back. Internal to store. The caller opens the
// transaction.
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

/// A row: its id and its value.
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
/// The run with this id. Throws InputError that names `column` if there is none.
const Run& run_of(const std::map<std::int64_t, Run>& runs, std::int64_t id, const char* column);
/// Throws InputError that names the race if its rows do not have the recorded checksum.
std::vector<RaceOfRun> read_races(SQLite::Database& db,
                                  const std::optional<Environment>& environment = {});
std::vector<Trial> read_trials(SQLite::Database& db, std::int64_t race);
std::vector<BuildFacts> read_builds(SQLite::Database& db);

// ---- Ids of rows: found, or added if missing ----

std::optional<std::int64_t> find_environment(SQLite::Database& db, const Environment& environment);
std::int64_t environment_id(SQLite::Database& db, const Environment& environment);
std::int64_t problem_id(SQLite::Database& db, const GemmProblem& problem);
std::optional<std::int64_t> find_problem(SQLite::Database& db, const GemmProblem& problem);
/// Reads problem.key; weight and tag are not part of it.
GemmProblem read_problem(const SQLite::Statement& row, int index);
std::int64_t candidate_id(SQLite::Database& db, const std::string& label);
std::int64_t kernel_row(SQLite::Database& db, const std::string& identity);

// ---- Adding ----

std::int64_t add_run(SQLite::Database& db, const Run& run);
/// Adds a race without its trials.
std::int64_t add_race(SQLite::Database& db, std::int64_t run, const RecordedRace& recorded);
void add_build(SQLite::Database& db, const BuildFacts& build);  ///< ignored if it is there

// ---- What samples of trials and of studies share ----

/// Reads round, pace, launches, time_us, sm_mhz, power_w, temperature_c and clock_events, from
/// column `first` on.
Sample read_sample(const SQLite::Statement& row, int first);
/// The sample as it can be read again: a clock or a power that no GPU can have is dropped. Throws
/// Error if the time is not a possible one.
Sample recordable(const Sample& sample);
/// Binds :power, :celsius and :events.
void bind_what_nvml_said(SQLite::Statement& statement, const Sample& sample);

/// Reads correct, error, tolerance and verdict_message, from column `first` on.
Verdict read_verdict(const SQLite::Statement& row, int first);

/// Implements Store::record() for one trial at a time, and updates the checksum of the race if it
/// has one.
class TrialWriter {
 public:
  explicit TrialWriter(SQLite::Database& db);
  int write(std::int64_t race, const Trial& trial);  ///< returns the number of new samples

 private:
  std::int64_t candidate(const std::string& label);
  std::int64_t kernel(const std::string& identity);
  std::uint64_t hash_of_row(std::int64_t race, std::int64_t candidate);
  void add_to_checksum(std::int64_t race, std::uint64_t difference);

  SQLite::Database& db_;
  SQLite::Statement trial_, sample_, energy_, calls_, row_;
  std::map<std::string, std::int64_t> candidates_, kernels_;  ///< ids of rows; 0: not looked up
};

}  // namespace hgemm::sql
