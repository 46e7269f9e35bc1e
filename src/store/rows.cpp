#include "store/rows.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "store/checksum.h"

namespace hgemm::sql {

using SQLite::Database;
using SQLite::Statement;

// ---- Statements ----

std::string now_utc(Database& db) {
  return db.execAndGet("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', 'now')").getString();
}
std::string new_uid(Database& db) {
  return db.execAndGet("SELECT lower(hex(randomblob(16)))").getString();
}

// ---- Environments and runs ----

namespace {
constexpr Range<int> kFew{0, 1'000'000};
}

std::vector<Row<Environment>> read_environments(Database& db) {
  std::vector<Row<Environment>> rows;
  Statement row(
      db,
      "SELECT environment.id, gpu_name, compute_major, compute_minor, sm_count, l2_bytes, "
      "memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, cublas FROM environment "
      "LEFT JOIN run ON environment_id = environment.id "
      "GROUP BY environment.id ORDER BY MIN(run.started_utc), environment.id");
  while (row.executeStep()) {
    Environment e;
    e.gpu_name = text(row, 1, "environment.gpu_name", Form::kName);
    e.compute_major = integer(row, 2, "environment.compute_major", kFew);
    e.compute_minor = integer(row, 3, "environment.compute_minor", kFew);
    e.sm_count = integer(row, 4, "environment.sm_count", kFew);
    e.l2_bytes = integer64(row, 5, "environment.l2_bytes", kLongCount);
    e.memory_bytes = integer64(row, 6, "environment.memory_bytes", kLongCount);
    e.max_sm_mhz = integer(row, 7, "environment.max_sm_mhz", kFew);
    e.power_limit_w = real(row, 8, "environment.power_limit_w", kPowerW);
    e.driver = text(row, 9, "environment.driver", Form::kName);
    e.cuda = text(row, 10, "environment.cuda", Form::kName);
    e.cublas = text(row, 11, "environment.cublas", Form::kName);
    rows.push_back({row_id(row, 0), std::move(e)});
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
    const auto environment = environments.find(row_id(row, 1));
    if (environment == environments.end()) {
      throw InputError(
          fmt::format("run.environment_id holds {}, which no environment has", row_id(row, 1)));
    }
    Run run{.environment = environment->second,
            .info = {},
            .started_utc = text(row, 6, "run.started_utc", Form::kTime),
            .command_line = text(row, 7, "run.command_line", Form::kLine)};
    run.info.gpu_uuid = text(row, 2, "run.gpu_uuid", Form::kName);
    run.info.host = text(row, 3, "run.host", Form::kName);
    run.info.git_revision = text(row, 4, "run.git_revision", Form::kName);
    run.info.kernel_sources = text(row, 5, "run.kernel_sources", Form::kName);
    rows.push_back({row_id(row, 0), std::move(run)});
  }
  return rows;
}

const Run& run_of(const std::map<std::int64_t, Run>& runs, std::int64_t id, const char* column) {
  const auto run = runs.find(id);
  if (run != runs.end()) return run->second;
  throw InputError(fmt::format("{} holds {}, which no run has", column, id));
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
                recordable(e.gpu_name, "environment.gpu_name", Form::kName), e.compute_major,
                e.compute_minor, e.sm_count, e.l2_bytes, e.memory_bytes, e.max_sm_mhz,
                e.power_limit_w, recordable(e.driver, "environment.driver", Form::kName),
                recordable(e.cuda, "environment.cuda", Form::kName),
                recordable(e.cublas, "environment.cublas", Form::kName));
}

std::int64_t add_run(Database& db, const Run& run) {
  return insert(db,
                "INSERT INTO run (environment_id, gpu_uuid, host, git_revision, kernel_sources, "
                "started_utc, command_line) VALUES (?,?,?,?,?,?,?)",
                environment_id(db, run.environment),
                recordable(run.info.gpu_uuid, "run.gpu_uuid", Form::kName),
                recordable(run.info.host, "run.host", Form::kName),
                recordable(run.info.git_revision, "run.git_revision", Form::kName),
                recordable(run.info.kernel_sources, "run.kernel_sources", Form::kName),
                run.started_utc, fitting(run.command_line, Form::kLine));
}

// ---- Problems, candidates, kernels and builds ----

std::optional<std::int64_t> find_problem(Database& db, const GemmProblem& problem) {
  Statement known = prepare(db, "SELECT id FROM problem WHERE key = ?", to_string(problem));
  if (!known.executeStep()) return std::nullopt;
  return row_id(known, 0);
}

std::int64_t problem_id(Database& db, const GemmProblem& problem) {
  if (const auto known = find_problem(db, problem)) return *known;
  std::string columns = "key";
  std::string values = "?";
  for (const ProblemField& field : problem_fields()) {
    if (!field.column) continue;
    columns += fmt::format(", {}", field.name);
    values += ", ?";
  }
  Statement row(db, fmt::format("INSERT INTO problem ({}) VALUES ({})", columns, values));
  int index = 0;
  row.bind(++index, to_string(problem));
  for (const ProblemField& field : problem_fields()) {
    if (!field.column) continue;
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

GemmProblem read_problem(const Statement& row, int index) {
  return word(row, index, "problem.key", [](const std::string& key) { return parse_problem(key); });
}

std::int64_t candidate_id(Database& db, const std::string& label) {
  Statement known = prepare(db, "SELECT id FROM candidate WHERE label = ?", label);
  if (known.executeStep()) return row_id(known, 0);
  return insert(db, "INSERT INTO candidate (label) VALUES (?)",
                recordable(label, "candidate.label", Form::kLabel));
}

std::int64_t kernel_row(Database& db, const std::string& identity) {
  Statement known = prepare(db, "SELECT id FROM kernel WHERE identity = ?", identity);
  if (known.executeStep()) return row_id(known, 0);
  return insert(db, "INSERT INTO kernel (identity) VALUES (?)",
                recordable(identity, "kernel.identity", Form::kLabel));
}

std::vector<BuildFacts> read_builds(Database& db) {
  std::vector<BuildFacts> builds;
  Statement row(db,
                "SELECT name, identity, source_key, compiler, flags, registers, spill_bytes, "
                "static_smem_bytes, dynamic_smem_bytes, compile_ms FROM build "
                "JOIN kernel ON kernel.id = kernel_id ORDER BY build.id");
  while (row.executeStep()) {
    BuildFacts build{.name = text(row, 0, "build.name", Form::kLabel),
                     .kernel_id = text(row, 1, "kernel.identity", Form::kLabel),
                     .source_key = text(row, 2, "build.source_key", Form::kLabel),
                     .compiler = text(row, 3, "build.compiler", Form::kLine),
                     .flags = text(row, 4, "build.flags", Form::kLine),
                     .registers = integer(row, 5, "build.registers", kFew),
                     .spill_bytes = integer(row, 6, "build.spill_bytes", kCount),
                     .static_smem_bytes = integer(row, 7, "build.static_smem_bytes", kCount),
                     .dynamic_smem_bytes = integer(row, 8, "build.dynamic_smem_bytes", kCount),
                     .compile_ms = real(row, 9, "build.compile_ms", {0, 1e12})};
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
         recordable(build.name, "build.name", Form::kLabel), kernel_row(db, build.identity()),
         recordable(build.source_key, "build.source_key", Form::kLabel),
         fitting(build.compiler, Form::kLine), fitting(build.flags, Form::kLine), build.registers,
         build.spill_bytes, build.static_smem_bytes, build.dynamic_smem_bytes, build.compile_ms);
}

// ---- Races ----

namespace {

// Words of race.effort.
constexpr std::array kEfforts = {Word{"full", false}, Word{"brief", true}};

bool is_brief(const std::string& effort) {
  if (const auto brief = find_word(kEfforts, effort)) return *brief;
  throw InputError(fmt::format("unknown effort '{}': expected full or brief", effort));
}

/// Checks that the labels of trials are baselines or configs of this program, so that no reader of
/// a race has to check again.
void check_labels(const std::vector<Trial>& trials, std::set<std::string>& known) {
  for (const Trial& trial : trials) {
    if (is_baseline(trial.label) || !known.insert(trial.label).second) continue;
    try {
      parse_label(trial.label);
    } catch (const InputError& error) {
      throw InputError(
          fmt::format("candidate.label holds {}, which this version of hgemm-tune does "
                      "not know ({})",
                      in_quotes(trial.label), error.what()));
    }
  }
}

}  // namespace

namespace {

std::optional<int> neighbours(const Statement& row, int index) {
  if (is_null(row, index)) return std::nullopt;
  return integer(row, index, "race.neighbours", kCount);
}

}  // namespace

std::vector<RaceOfRun> read_races(Database& db, const std::optional<Environment>& environment) {
  std::map<std::int64_t, Run> runs;
  for (auto& [id, run] : read_runs(db)) runs.emplace(id, std::move(run));
  std::set<std::string> known_labels;
  std::vector<RaceOfRun> races;
  Statement row(
      db,
      "SELECT race.id, run_id, uid, race.started_utc, key, weight, tag, regime, cold, "
      "graph, pdl, effort, checksum, neighbours FROM race JOIN problem ON problem.id = problem_id "
      "ORDER BY race.started_utc, race.id");
  while (row.executeStep()) {
    const std::int64_t id = row_id(row, 0);
    const std::int64_t run_id = row_id(row, 1);
    const Run& run = run_of(runs, run_id, "race.run_id");
    if (environment && run.environment != *environment) continue;
    GemmProblem problem = read_problem(row, 4);
    problem.weight = real(row, 5, "race.weight", {0, 1e15});
    problem.tag = text(row, 6, "race.tag", Form::kLine);
    RecordedRace recorded{.id = id,
                          .uid = text(row, 2, "race.uid", Form::kUid),
                          .environment = run.environment,
                          .run = run.info,
                          .started_utc = text(row, 3, "race.started_utc", Form::kTime),
                          .command_line = run.command_line,
                          .race = {.problem = std::move(problem),
                                   .regime = word(row, 7, "race.regime", parse_regime),
                                   .timing = {.cold = flag(row, 8, "race.cold"),
                                              .graph = flag(row, 9, "race.graph"),
                                              .pdl = flag(row, 10, "race.pdl"),
                                              .brief = word(row, 11, "race.effort", is_brief),
                                              .neighbours = neighbours(row, 13)},
                                   .trials = read_trials(db, id)}};
    check_labels(recorded.race.trials, known_labels);
    if (!is_null(row, 12) && static_cast<std::uint64_t>(row_id(row, 12)) != checksum(recorded)) {
      throw InputError(
          fmt::format("the race {} of {} is not as it was recorded: a value in it or "
                      "in its trials, samples or energies changed, or rows are gone",
                      recorded.uid, recorded.started_utc));
    }
    races.push_back({.run = run_id, .recorded = std::move(recorded)});
  }
  return races;
}

std::int64_t add_race(Database& db, std::int64_t run, const RecordedRace& recorded) {
  std::map<std::int64_t, Run> runs;
  for (auto& [id, known] : read_runs(db)) runs.emplace(id, std::move(known));
  const Run& its_run = run_of(runs, run, "race.run_id");
  RecordedRace written = recorded;
  written.environment = its_run.environment;
  written.run = its_run.info;
  written.race.problem.tag = fitting(recorded.race.problem.tag, Form::kLine);
  const Race& race = written.race;
  Statement statement(db,
                      "INSERT INTO race (uid, run_id, problem_id, regime, cold, graph, pdl, "
                      "effort, tag, weight, started_utc, checksum, neighbours) VALUES "
                      "(?,?,?,?,?,?,?,?,?,?,?,?,:neighbours)");
  SQLite::bind(statement, written.uid, run, problem_id(db, race.problem),
               std::string(to_string(race.regime)), race.timing.cold, race.timing.graph,
               race.timing.pdl, std::string(word_of(kEfforts, race.timing.brief)), race.problem.tag,
               race.problem.weight, written.started_utc,
               static_cast<std::int64_t>(hash_of_race(written)));
  bind_or_null(statement, ":neighbours", race.timing.neighbours);
  statement.exec();
  return db.getLastInsertRowid();
}

// ---- Trials ----

Sample read_sample(const Statement& row, int first) {
  Sample sample{.round = integer(row, first, "sample.round", kCount),
                .pace = word(row, first + 1, "sample.pace", parse_pace),
                .launches = integer(row, first + 2, "sample.launches", {1, kCount.most}),
                .time_us = real(row, first + 3, "sample.time_us", kTimeUs),
                .sm_mhz = real(row, first + 4, "sample.sm_mhz", kSmMhz),
                .power_w = real_or_none(row, first + 5, "sample.power_w", kPowerW),
                .temperature_c = {},
                .clock_events = {}};
  if (const auto celsius = integer_or_none(row, first + 6, "sample.temperature_c", {-300, 1000})) {
    sample.temperature_c = static_cast<int>(*celsius);
  }
  if (const auto events = integer_or_none(row, first + 7, "sample.clock_events", kAnyInteger)) {
    sample.clock_events = static_cast<std::uint64_t>(*events);
  }
  return sample;
}

Verdict read_verdict(const Statement& row, int first) {
  // The error is infinite if the output is.
  constexpr Range<double> kError{0, std::numeric_limits<double>::infinity()};
  return {.correct = flag(row, first, "trial.correct"),
          .error = real_or_nan(row, first + 1, "trial.error", kError),
          .tolerance = real_or_nan(row, first + 2, "trial.tolerance", {0, 1e300}),
          .message = text(row, first + 3, "trial.verdict_message", Form::kText)};
}

Sample recordable(const Sample& sample) {
  const auto within = [](double value, const Range<double>& range) {
    return value >= range.least && value <= range.most;
  };
  Sample fit = sample;
  if (!within(fit.sm_mhz, kSmMhz)) fit.sm_mhz = 0;
  if (fit.power_w && !within(*fit.power_w, kPowerW)) fit.power_w.reset();
  if (!within(fit.time_us, kTimeUs) || fit.launches < 1 || fit.round < 0) {
    throw Error(
        fmt::format("a sample of {} launches of {} us cannot be recorded; this is a defect "
                    "of hgemm-tune, please report it",
                    fit.launches, fit.time_us));
  }
  return fit;
}

void bind_what_nvml_said(Statement& statement, const Sample& sample) {
  bind_or_null(statement, ":power", sample.power_w);
  bind_or_null(statement, ":celsius", sample.temperature_c);
  std::optional<std::int64_t> events;
  if (sample.clock_events) events = static_cast<std::int64_t>(*sample.clock_events);
  bind_or_null(statement, ":events", events);
}

namespace {

constexpr const char* kTrialColumns =
    "SELECT trial.id, label, identity, stage, status, message, correct, error, tolerance, "
    "verdict_message, window_s, power_w, time_us, kernel_id, calls, host_us, kernels, kernel_us "
    "FROM trial "
    "JOIN candidate ON candidate.id = candidate_id LEFT JOIN kernel ON kernel.id = kernel_id "
    "LEFT JOIN energy ON energy.trial_id = trial.id "
    "LEFT JOIN call_time ON call_time.trial_id = trial.id ";

/// A row of kTrialColumns as a trial without its samples.
Trial read_trial(const Statement& row) {
  Trial trial{.label = text(row, 1, "candidate.label", Form::kLabel),
              .stage = word(row, 3, "trial.stage", parse_stage),
              .status = word(row, 4, "trial.status", parse_status),
              .message = text(row, 5, "trial.message", Form::kText),
              .verdict = read_verdict(row, 6),
              .samples = {},
              .energy = {}};
  if (!is_null(row, 13)) trial.kernel_id = text(row, 2, "kernel.identity", Form::kLabel);
  if (!is_null(row, 10)) {
    trial.energy = Energy{.window_s = real(row, 10, "energy.window_s", {1e-6, 1e9}),
                          .power_w = real(row, 11, "energy.power_w", kPowerW),
                          .time_us = real(row, 12, "energy.time_us", kTimeUs)};
  }
  if (!is_null(row, 14)) {
    trial.calls = CallTime{.calls = integer(row, 14, "call_time.calls", {1, kMostCalls}),
                           .host_us = real(row, 15, "call_time.host_us", kTimeUs),
                           .kernels = integer(row, 16, "call_time.kernels", {0, kMostCalls}),
                           .kernel_us = real_or_none(row, 17, "call_time.kernel_us", kTimeUs)};
  }
  return trial;
}

}  // namespace

/// All trials of a race with their samples, by two queries.
std::vector<Trial> read_trials(Database& db, std::int64_t race) {
  static const std::string kTrials =
      std::string(kTrialColumns) + "WHERE race_id = ? ORDER BY trial.id";
  std::vector<Trial> trials;
  std::map<std::int64_t, std::size_t> at;
  Statement row = prepare(db, kTrials.c_str(), race);
  while (row.executeStep()) {
    at.emplace(row_id(row, 0), trials.size());
    trials.push_back(read_trial(row));
  }
  Statement sample = prepare(db,
                             "SELECT trial_id, round, pace, launches, time_us, sm_mhz, power_w, "
                             "temperature_c, clock_events FROM trial "
                             "JOIN sample ON trial_id = trial.id "
                             "WHERE race_id = ? ORDER BY trial_id, round",
                             race);
  while (sample.executeStep()) {
    const auto trial = at.find(row_id(sample, 0));
    if (trial == at.end()) continue;  // a trial without a candidate, which was refused above
    trials[trial->second].samples.push_back(read_sample(sample, 1));
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
              "VALUES (?,?,?,?)"),
      calls_(db,
             "INSERT OR REPLACE INTO call_time (trial_id, calls, host_us, kernels, kernel_us) "
             "VALUES (?,?,?,?, :kernel_us)"),
      row_(db, std::string(kTrialColumns) + "WHERE race_id = ? AND candidate_id = ?") {}

std::int64_t TrialWriter::candidate(const std::string& label) {
  std::int64_t& id = candidates_[label];
  if (id == 0) id = candidate_id(db_, label);
  return id;
}
std::int64_t TrialWriter::kernel(const std::string& identity) {
  std::int64_t& id = kernels_[identity];
  if (id == 0) id = kernel_row(db_, identity);
  return id;
}

/// The contribution of a trial's row, its energy and its calls to the checksum of the race; 0 if
/// there is no row.
std::uint64_t TrialWriter::hash_of_row(std::int64_t race, std::int64_t candidate) {
  row_.bind(1, race);
  row_.bind(2, candidate);
  std::uint64_t sum = 0;
  if (row_.executeStep()) {
    const Trial trial = read_trial(row_);
    sum = hash_of_trial(trial);
    if (trial.energy) sum += hash_of_energy(trial.label, *trial.energy);
    if (trial.calls) sum += hash_of_calls(trial.label, *trial.calls);
  }
  row_.reset();
  return sum;
}

/// Changes the checksum of a race. Races recorded before version 8 have none, and get none.
void TrialWriter::add_to_checksum(std::int64_t race, std::uint64_t difference) {
  Statement known =
      prepare(db_, "SELECT checksum FROM race WHERE id = ? AND checksum NOTNULL", race);
  if (!known.executeStep()) return;
  const std::uint64_t sum = static_cast<std::uint64_t>(row_id(known, 0)) + difference;
  prepare(db_, "UPDATE race SET checksum = ? WHERE id = ?", static_cast<std::int64_t>(sum), race)
      .exec();
}

int TrialWriter::write(std::int64_t race, const Trial& trial) {
  const std::int64_t of_candidate = candidate(trial.label);
  const std::uint64_t before = hash_of_row(race, of_candidate);
  trial_.bind(1, race);
  trial_.bind(2, of_candidate);
  std::optional<std::int64_t> of_kernel;
  if (!trial.kernel_id.empty()) of_kernel = kernel(trial.kernel_id);
  bind_or_null(trial_, ":kernel", of_kernel);
  trial_.bind(4, std::string(to_string(trial.stage)));
  trial_.bind(5, std::string(to_string(trial.status)));
  trial_.bind(6, fitting(trial.message, Form::kText));
  trial_.bind(7, trial.verdict.correct ? 1 : 0);
  trial_.bind(8, trial.verdict.error);
  trial_.bind(9, trial.verdict.tolerance);
  trial_.bind(10, fitting(trial.verdict.message, Form::kText));
  trial_.executeStep();
  const std::int64_t id = row_id(trial_, 0);
  trial_.reset();

  int added = 0;
  std::uint64_t of_samples = 0;
  for (const Sample& given : trial.samples) {
    const Sample s = recordable(given);
    SQLite::bind(sample_, id, s.round, std::string(to_string(s.pace)), s.launches, s.time_us,
                 s.sm_mhz);
    bind_what_nvml_said(sample_, s);
    if (sample_.exec() > 0) {
      ++added;
      of_samples += hash_of_sample(trial.label, s);
    }
    sample_.reset();
  }
  if (const auto& e = trial.energy) {
    SQLite::bind(energy_, id, e->window_s, e->power_w, e->time_us);
    energy_.exec();
    energy_.reset();
  }
  if (const auto& time = trial.calls) {
    SQLite::bind(calls_, id, time->calls, time->host_us, time->kernels);
    bind_or_null(calls_, ":kernel_us", time->kernel_us);
    calls_.exec();
    calls_.reset();
  }
  add_to_checksum(race, hash_of_row(race, of_candidate) - before + of_samples);
  return added;
}

}  // namespace hgemm::sql
