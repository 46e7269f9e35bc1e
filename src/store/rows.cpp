#include "store/rows.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "gemm/codec.h"

namespace hgemm::sql {

using SQLite::Database;
using SQLite::Statement;

// ---- Columns and statements ----

std::optional<double> real_or_none(const Statement& row, int column) {
  if (row.getColumn(column).isNull()) return std::nullopt;
  return row.getColumn(column).getDouble();
}
std::optional<std::int64_t> integer_or_none(const Statement& row, int column) {
  if (row.getColumn(column).isNull()) return std::nullopt;
  return integer64(row, column);
}
double real(const Statement& row, int column) {
  return real_or_none(row, column).value_or(std::numeric_limits<double>::quiet_NaN());
}
std::string text(const Statement& row, int column) { return row.getColumn(column).getString(); }
std::string text_or_none(const Statement& row, int column) {
  return row.getColumn(column).isNull() ? std::string() : text(row, column);
}
int integer(const Statement& row, int column) { return row.getColumn(column).getInt(); }
std::int64_t integer64(const Statement& row, int column) {
  return row.getColumn(column).getInt64();
}

std::string now_utc(Database& db) {
  return db.execAndGet("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now')").getString();
}
std::string new_uid(Database& db) {
  return db.execAndGet("SELECT lower(hex(randomblob(16)))").getString();
}

// ---- Environments and runs ----

std::vector<Row<Environment>> read_environments(Database& db) {
  std::vector<Row<Environment>> rows;
  Statement row(
      db,
      "SELECT environment.id, gpu_name, compute_major, compute_minor, sm_count, l2_bytes, "
      "memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, cublas FROM environment "
      "LEFT JOIN run ON environment_id = environment.id "
      "GROUP BY environment.id ORDER BY MIN(run.started_utc), environment.id");
  while (row.executeStep()) {
    rows.push_back({integer64(row, 0), Environment{.gpu_name = text(row, 1),
                                                   .compute_major = integer(row, 2),
                                                   .compute_minor = integer(row, 3),
                                                   .sm_count = integer(row, 4),
                                                   .l2_bytes = integer64(row, 5),
                                                   .memory_bytes = integer64(row, 6),
                                                   .max_sm_mhz = integer(row, 7),
                                                   .power_limit_w = real(row, 8),
                                                   .driver = text(row, 9),
                                                   .cuda = text(row, 10),
                                                   .cublas = text(row, 11)}});
  }
  return rows;
}

std::vector<Row<Run>> read_runs(Database& db) {
  std::map<std::int64_t, Environment> environments;
  for (auto& [id, environment] : read_environments(db)) environments.emplace(id, environment);
  std::vector<Row<Run>> rows;
  Statement row(db,
                "SELECT id, environment_id, gpu_uuid, host, git_revision, kernel_sources, "
                "started_utc, command_line FROM run ORDER BY started_utc, id");
  while (row.executeStep()) {
    rows.push_back({integer64(row, 0), Run{.environment = environments.at(integer64(row, 1)),
                                           .info = {.gpu_uuid = text(row, 2),
                                                    .host = text(row, 3),
                                                    .git_revision = text(row, 4),
                                                    .kernel_sources = text(row, 5)},
                                           .started_utc = text(row, 6),
                                           .command_line = text(row, 7)}});
  }
  return rows;
}

std::optional<std::int64_t> find_environment(Database& db, const Environment& environment) {
  for (const auto& [id, known] : read_environments(db)) {
    if (known == environment) return id;
  }
  return std::nullopt;
}

std::int64_t environment_id(Database& db, const Environment& e) {
  if (const auto known = find_environment(db, e)) return *known;
  return insert(db,
                "INSERT INTO environment (gpu_name, compute_major, compute_minor, sm_count, "
                "l2_bytes, memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, cublas) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                e.gpu_name, e.compute_major, e.compute_minor, e.sm_count, e.l2_bytes,
                e.memory_bytes, e.max_sm_mhz, e.power_limit_w, e.driver, e.cuda, e.cublas);
}

std::int64_t add_run(Database& db, const Run& run) {
  return insert(db,
                "INSERT INTO run (environment_id, gpu_uuid, host, git_revision, kernel_sources, "
                "started_utc, command_line) VALUES (?,?,?,?,?,?,?)",
                environment_id(db, run.environment), run.info.gpu_uuid, run.info.host,
                run.info.git_revision, run.info.kernel_sources, run.started_utc, run.command_line);
}

// ---- Problems, candidates, kernels and builds ----

std::optional<std::int64_t> find_problem(Database& db, const GemmProblem& problem) {
  Statement known = prepare(db, "SELECT id FROM problem WHERE key = ?", to_string(problem));
  if (!known.executeStep()) return std::nullopt;
  return integer64(known, 0);
}

std::int64_t problem_id(Database& db, const GemmProblem& problem) {
  if (const auto known = find_problem(db, problem)) return *known;
  std::string columns = "key";
  std::string values = "?";
  for (const ProblemField& field : problem_fields()) {
    columns += fmt::format(", {}", field.name);
    values += ", ?";
  }
  Statement row(db, fmt::format("INSERT INTO problem ({}) VALUES ({})", columns, values));
  int index = 0;
  row.bind(++index, to_string(problem));
  for (const ProblemField& field : problem_fields()) {
    const std::string word = field.print(problem);
    if (field.number) {
      row.bind(++index, *find_number(word));
    } else {
      row.bind(++index, word);
    }
  }
  row.exec();
  return db.getLastInsertRowid();
}

GemmProblem read_problem(const Statement& row, int key_column) {
  return parse_problem(text(row, key_column));
}

std::int64_t candidate_id(Database& db, const std::string& label) {
  Statement known = prepare(db, "SELECT id FROM candidate WHERE label = ?", label);
  if (known.executeStep()) return integer64(known, 0);
  return insert(db, "INSERT INTO candidate (label) VALUES (?)", label);
}

std::int64_t kernel_row(Database& db, const std::string& identity) {
  Statement known = prepare(db, "SELECT id FROM kernel WHERE identity = ?", identity);
  if (known.executeStep()) return integer64(known, 0);
  return insert(db, "INSERT INTO kernel (identity) VALUES (?)", identity);
}

std::vector<BuildFacts> read_builds(Database& db) {
  std::vector<BuildFacts> builds;
  Statement row(db,
                "SELECT name, identity, source_key, compiler, flags, registers, spill_bytes, "
                "static_smem_bytes, dynamic_smem_bytes, compile_ms FROM build "
                "JOIN kernel ON kernel.id = kernel_id ORDER BY build.id");
  while (row.executeStep()) {
    BuildFacts build{.name = text(row, 0),
                     .kernel_id = text(row, 1),
                     .source_key = text(row, 2),
                     .compiler = text(row, 3),
                     .flags = text(row, 4),
                     .registers = integer(row, 5),
                     .spill_bytes = integer(row, 6),
                     .static_smem_bytes = integer(row, 7),
                     .dynamic_smem_bytes = integer(row, 8),
                     .compile_ms = real(row, 9)};
    if (build.kernel_id == BuildFacts::unbuilt_identity(build.source_key)) build.kernel_id.clear();
    builds.push_back(std::move(build));
  }
  return builds;
}

void add_build(Database& db, const BuildFacts& build) {
  insert(db,
         "INSERT INTO build (name, kernel_id, source_key, compiler, flags, registers, spill_bytes, "
         "static_smem_bytes, dynamic_smem_bytes, compile_ms) VALUES (?,?,?,?,?,?,?,?,?,?) "
         "ON CONFLICT (name, kernel_id, source_key, compiler, flags) DO NOTHING",
         build.name, kernel_row(db, build.identity()), build.source_key, build.compiler,
         build.flags, build.registers, build.spill_bytes, build.static_smem_bytes,
         build.dynamic_smem_bytes, build.compile_ms);
}

// ---- Races ----

namespace {

// Words of race.effort.
constexpr std::array kEfforts = {Word{"full", false}, Word{"brief", true}};

bool is_brief(const std::string& effort) {
  if (const auto brief = find_word(kEfforts, effort)) return *brief;
  throw InputError(fmt::format("unknown effort '{}': expected full or brief", effort));
}

}  // namespace

std::vector<RaceOfRun> read_races(Database& db, const std::optional<Environment>& environment) {
  std::map<std::int64_t, Run> runs;
  for (auto& [id, run] : read_runs(db)) {
    if (!environment || run.environment == *environment) runs.emplace(id, std::move(run));
  }
  std::vector<RaceOfRun> races;
  Statement row(db,
                "SELECT race.id, run_id, uid, race.started_utc, key, weight, tag, regime, cold, "
                "graph, pdl, effort FROM race JOIN problem ON problem.id = problem_id "
                "ORDER BY race.started_utc, race.id");
  while (row.executeStep()) {
    const auto run = runs.find(integer64(row, 1));
    if (run == runs.end()) continue;
    const std::int64_t id = integer64(row, 0);
    GemmProblem problem = read_problem(row, 4);
    problem.weight = real(row, 5);
    problem.tag = text(row, 6);
    races.push_back({.run = run->first,
                     .recorded = {.id = id,
                                  .uid = text(row, 2),
                                  .environment = run->second.environment,
                                  .run = run->second.info,
                                  .started_utc = text(row, 3),
                                  .command_line = run->second.command_line,
                                  .race = {.problem = problem,
                                           .regime = parse_regime(text(row, 7)),
                                           .timing = {.cold = integer(row, 8) != 0,
                                                      .graph = integer(row, 9) != 0,
                                                      .pdl = integer(row, 10) != 0,
                                                      .brief = is_brief(text(row, 11))},
                                           .trials = read_trials(db, id)}}});
  }
  return races;
}

std::int64_t add_race(Database& db, std::int64_t run, const RecordedRace& recorded) {
  const Race& race = recorded.race;
  return insert(db,
                "INSERT INTO race (uid, run_id, problem_id, regime, cold, graph, pdl, effort, tag, "
                "weight, started_utc) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                recorded.uid, run, problem_id(db, race.problem),
                std::string(to_string(race.regime)), race.timing.cold, race.timing.graph,
                race.timing.pdl, std::string(word_of(kEfforts, race.timing.brief)),
                race.problem.tag, race.problem.weight, recorded.started_utc);
}

// ---- Trials ----

Sample read_sample(const Statement& row, int column) {
  Sample sample{.round = integer(row, column),
                .pace = parse_pace(text(row, column + 1)),
                .launches = integer(row, column + 2),
                .time_us = real(row, column + 3),
                .sm_mhz = real(row, column + 4),
                .power_w = real_or_none(row, column + 5),
                .temperature_c = {},
                .clock_events = {}};
  if (const auto celsius = integer_or_none(row, column + 6)) {
    sample.temperature_c = static_cast<int>(*celsius);
  }
  if (const auto events = integer_or_none(row, column + 7)) {
    sample.clock_events = static_cast<std::uint64_t>(*events);
  }
  return sample;
}

void bind_what_nvml_said(Statement& statement, const Sample& sample) {
  bind_or_null(statement, ":power", sample.power_w);
  bind_or_null(statement, ":celsius", sample.temperature_c);
  std::optional<std::int64_t> events;
  if (sample.clock_events) events = static_cast<std::int64_t>(*sample.clock_events);
  bind_or_null(statement, ":events", events);
}

/// All trials of a race with their samples: two queries.
std::vector<Trial> read_trials(Database& db, std::int64_t race) {
  std::vector<Trial> trials;
  std::vector<std::int64_t> ids;
  Statement row = prepare(db,
                          "SELECT trial.id, label, stage, status, message, correct, error, "
                          "tolerance, verdict_message, window_s, power_w, time_us, identity "
                          "FROM trial JOIN candidate ON candidate.id = candidate_id "
                          "LEFT JOIN kernel ON kernel.id = kernel_id "
                          "LEFT JOIN energy ON trial_id = trial.id "
                          "WHERE race_id = ? ORDER BY trial.id",
                          race);
  while (row.executeStep()) {
    ids.push_back(integer64(row, 0));
    trials.push_back(Trial{.label = text(row, 1),
                           .kernel_id = text_or_none(row, 12),
                           .stage = parse_stage(text(row, 2)),
                           .status = parse_status(text(row, 3)),
                           .message = text(row, 4),
                           .verdict = {.correct = integer(row, 5) != 0,
                                       .error = real(row, 6),
                                       .tolerance = real(row, 7),
                                       .message = text(row, 8)},
                           .samples = {},
                           .energy = {}});
    if (const auto window_s = real_or_none(row, 9)) {
      trials.back().energy =
          Energy{.window_s = *window_s, .power_w = real(row, 10), .time_us = real(row, 11)};
    }
  }

  Statement sample = prepare(db,
                             "SELECT trial_id, round, pace, launches, time_us, sm_mhz, power_w, "
                             "temperature_c, clock_events FROM trial "
                             "JOIN sample ON trial_id = trial.id "
                             "WHERE race_id = ? ORDER BY trial_id, round",
                             race);
  std::size_t at = 0;
  while (sample.executeStep()) {
    while (ids.at(at) != integer64(sample, 0)) ++at;  // both are ordered by trial
    trials[at].samples.push_back(read_sample(sample, 1));
  }
  return trials;
}

TrialWriter::TrialWriter(Database& db)
    : db_(db),
      trial_(
          db,
          "INSERT INTO trial (race_id, candidate_id, kernel_id, stage, status, message, correct, "
          "error, tolerance, verdict_message) VALUES (?,?, :kernel, ?,?,?,?,?,?,?) "
          "ON CONFLICT (race_id, candidate_id) DO UPDATE SET stage = excluded.stage, "
          "status = excluded.status, message = excluded.message, "
          "correct = excluded.correct, error = excluded.error, "
          "tolerance = excluded.tolerance, verdict_message = excluded.verdict_message "
          "RETURNING id"),
      sample_(db,
              "INSERT INTO sample (trial_id, round, pace, launches, time_us, sm_mhz, power_w, "
              "temperature_c, clock_events) VALUES (?,?,?,?,?,?, :power, :celsius, :events) "
              "ON CONFLICT (trial_id, round) DO NOTHING"),
      energy_(db,
              "INSERT OR REPLACE INTO energy (trial_id, window_s, power_w, time_us) "
              "VALUES (?,?,?,?)") {}

std::int64_t TrialWriter::candidate(const std::string& label) {
  const auto [known, is_new] = candidates_.try_emplace(label, 0);
  if (is_new) known->second = candidate_id(db_, label);
  return known->second;
}
std::int64_t TrialWriter::kernel(const std::string& identity) {
  const auto [known, is_new] = kernels_.try_emplace(identity, 0);
  if (is_new) known->second = kernel_row(db_, identity);
  return known->second;
}

int TrialWriter::write(std::int64_t race, const Trial& trial) {
  trial_.bind(1, race);
  trial_.bind(2, candidate(trial.label));
  std::optional<std::int64_t> of_kernel;
  if (!trial.kernel_id.empty()) of_kernel = kernel(trial.kernel_id);
  bind_or_null(trial_, ":kernel", of_kernel);
  trial_.bind(4, std::string(to_string(trial.stage)));
  trial_.bind(5, std::string(to_string(trial.status)));
  trial_.bind(6, trial.message);
  trial_.bind(7, trial.verdict.correct ? 1 : 0);
  trial_.bind(8, trial.verdict.error);
  trial_.bind(9, trial.verdict.tolerance);
  trial_.bind(10, trial.verdict.message);
  trial_.executeStep();
  const std::int64_t id = integer64(trial_, 0);
  trial_.reset();

  int added = 0;
  for (const Sample& s : trial.samples) {
    SQLite::bind(sample_, id, s.round, std::string(to_string(s.pace)), s.launches, s.time_us,
                 s.sm_mhz);
    bind_what_nvml_said(sample_, s);
    added += sample_.exec();
    sample_.reset();
  }
  if (const auto& e = trial.energy) {
    SQLite::bind(energy_, id, e->window_s, e->power_w, e->time_us);
    energy_.exec();
    energy_.reset();
  }
  return added;
}

}  // namespace hgemm::sql
