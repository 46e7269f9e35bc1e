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

// ---- Columns and statements ----

double real(const SQLite::Statement& row, int column);  ///< NaN if NULL
std::string text(const SQLite::Statement& row, int column);
std::string text_or_none(const SQLite::Statement& row, int column);  ///< empty if NULL
int integer(const SQLite::Statement& row, int column);
std::int64_t integer64(const SQLite::Statement& row, int column);

std::optional<double> real_or_none(const SQLite::Statement& row, int column);
std::optional<std::int64_t> integer_or_none(const SQLite::Statement& row, int column);

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
std::vector<RaceOfRun> read_races(SQLite::Database& db,
                                  const std::optional<Environment>& environment = {});
std::vector<Trial> read_trials(SQLite::Database& db, std::int64_t race);
std::vector<BuildFacts> read_builds(SQLite::Database& db);

// ---- The id of what is there, or is added ----

std::optional<std::int64_t> find_environment(SQLite::Database& db, const Environment& environment);
std::int64_t environment_id(SQLite::Database& db, const Environment& environment);
std::int64_t problem_id(SQLite::Database& db, const GemmProblem& problem);
std::optional<std::int64_t> find_problem(SQLite::Database& db, const GemmProblem& problem);
/// Without weight and tag.
GemmProblem read_problem(const SQLite::Statement& row, int key_column);
std::int64_t candidate_id(SQLite::Database& db, const std::string& label);
std::int64_t kernel_row(SQLite::Database& db, const std::string& identity);

// ---- Adding ----

std::int64_t add_run(SQLite::Database& db, const Run& run);
/// Without its trials.
std::int64_t add_race(SQLite::Database& db, std::int64_t run, const RecordedRace& recorded);
void add_build(SQLite::Database& db, const BuildFacts& build);  ///< ignored if it is there

// ---- What samples of trials and of studies share ----

/// round, pace, launches, time_us, sm_mhz, power_w, temperature_c, clock_events from `column` on.
Sample read_sample(const SQLite::Statement& row, int column);
/// Binds :power, :celsius and :events.
void bind_what_nvml_said(SQLite::Statement& statement, const Sample& sample);

/// Store::record(), trial by trial.
class TrialWriter {
 public:
  explicit TrialWriter(SQLite::Database& db);
  int write(std::int64_t race, const Trial& trial);  ///< how many samples were new

 private:
  std::int64_t candidate(const std::string& label);
  std::int64_t kernel(const std::string& identity);

  SQLite::Database& db_;
  SQLite::Statement trial_, sample_, energy_;
  std::map<std::string, std::int64_t> candidates_, kernels_;  ///< rows that are known
};

}  // namespace hgemm::sql
