#include "store/rows.h"

#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "space/label.h"
#include "space/words.h"

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
  Statement row(db,
                "SELECT environment.id, gpu_name, gpu_uuid, compute_major, compute_minor, "
                "sm_count, l2_bytes, memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, "
                "cublas, nvrtc, kernel_hash, git_revision FROM environment "
                "LEFT JOIN run ON environment_id = environment.id "
                "GROUP BY environment.id ORDER BY MIN(run.started_utc), environment.id");
  while (row.executeStep()) {
    rows.push_back({integer64(row, 0), Environment{.gpu_name = text(row, 1),
                                                   .gpu_uuid = text(row, 2),
                                                   .compute_major = integer(row, 3),
                                                   .compute_minor = integer(row, 4),
                                                   .sm_count = integer(row, 5),
                                                   .l2_bytes = integer64(row, 6),
                                                   .memory_bytes = integer64(row, 7),
                                                   .max_sm_mhz = integer(row, 8),
                                                   .power_limit_w = real(row, 9),
                                                   .driver = text(row, 10),
                                                   .cuda = text(row, 11),
                                                   .cublas = text(row, 12),
                                                   .nvrtc = text(row, 13),
                                                   .kernel_hash = text(row, 14),
                                                   .git_revision = text(row, 15)}});
  }
  return rows;
}

std::vector<Row<Run>> read_runs(Database& db) {
  std::map<std::int64_t, Environment> environments;
  for (auto& [id, environment] : read_environments(db)) environments.emplace(id, environment);
  std::vector<Row<Run>> rows;
  Statement row(db,
                "SELECT id, environment_id, started_utc, command_line FROM run "
                "ORDER BY started_utc, id");
  while (row.executeStep()) {
    rows.push_back({integer64(row, 0), Run{.environment = environments.at(integer64(row, 1)),
                                           .started_utc = text(row, 2),
                                           .command_line = text(row, 3)}});
  }
  return rows;
}

std::int64_t environment_id(Database& db, const Environment& e) {
  for (const auto& [id, known] : read_environments(db)) {
    if (known == e) return id;
  }
  return insert(db,
                "INSERT INTO environment (gpu_name, gpu_uuid, compute_major, compute_minor, "
                "sm_count, l2_bytes, memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, "
                "cublas, nvrtc, kernel_hash, git_revision) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                e.gpu_name, e.gpu_uuid, e.compute_major, e.compute_minor, e.sm_count, e.l2_bytes,
                e.memory_bytes, e.max_sm_mhz, e.power_limit_w, e.driver, e.cuda, e.cublas, e.nvrtc,
                e.kernel_hash, e.git_revision);
}

std::int64_t add_run(Database& db, const Run& run) {
  return insert(db, "INSERT INTO run (environment_id, started_utc, command_line) VALUES (?,?,?)",
                environment_id(db, run.environment), run.started_utc, run.command_line);
}

// ---- Shapes, candidates and builds ----

std::optional<std::int64_t> find_shape(Database& db, const Shape& s) {
  Statement known =
      prepare(db,
              "SELECT id FROM shape WHERE m = ? AND n = ? AND k = ? AND dtype = ? "
              "AND layout = ? AND lda = ? AND ldb = ? AND ldd = ?",
              s.m, s.n, s.k, std::string(to_string(s.dtype)), std::string(to_string(s.layout)),
              s.leading_a(), s.leading_b(), s.leading_d());
  if (!known.executeStep()) return std::nullopt;
  return integer64(known, 0);
}

std::int64_t shape_id(Database& db, const Shape& s) {
  if (const auto known = find_shape(db, s)) return *known;
  return insert(db,
                "INSERT INTO shape (m, n, k, dtype, layout, lda, ldb, ldd) "
                "VALUES (?,?,?,?,?,?,?,?)",
                s.m, s.n, s.k, std::string(to_string(s.dtype)), std::string(to_string(s.layout)),
                s.leading_a(), s.leading_b(), s.leading_d());
}

Shape read_shape(const Statement& row, int column) {
  Shape shape{.m = integer64(row, column),
              .n = integer64(row, column + 1),
              .k = integer64(row, column + 2),
              .dtype = parse_dtype(text(row, column + 3)),
              .layout = parse_layout(text(row, column + 4)),
              .tag = ""};
  const auto padded = [&](int of, std::int64_t length) {
    const std::int64_t leading = integer64(row, column + of);
    return leading == length ? 0 : leading;
  };
  shape.lda = padded(5, shape.k);
  shape.ldb = padded(6, shape.k);
  shape.ldd = padded(7, shape.n);
  return shape;
}

std::int64_t candidate_id(Database& db, const std::string& label) {
  Statement known = prepare(db, "SELECT id FROM candidate WHERE label = ?", label);
  if (known.executeStep()) return integer64(known, 0);
  const std::int64_t id = insert(db, "INSERT INTO candidate (label) VALUES (?)", label);
  if (!is_baseline(label)) {
    const KernelConfig c = parse_label(label);
    insert(db,
           "INSERT INTO config (candidate_id, bm, bn, bk, stages, cluster_m, cluster_n, schedule, "
           "consumers, mma_depth, tile_order, epilogue, walk, dtype, options) "
           "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
           id, c.bm, c.bn, c.bk, c.stages, c.cluster_m, c.cluster_n,
           std::string(schedule_word(c.schedule)), c.consumers, c.mma_depth,
           order_word(c.order, c.group), std::string(epilogue_word(c.epilogue)),
           walk_word(c.walk, c.splits), std::string(to_string(c.dtype)), option_fields(c));
  }
  return id;
}

std::vector<BuildFacts> read_builds(Database& db) {
  std::vector<BuildFacts> builds;
  Statement row(db,
                "SELECT label, kernel_hash, compiler, flags, cubin_hash, registers, spill_bytes, "
                "static_smem_bytes, dynamic_smem_bytes, compile_ms FROM build "
                "JOIN candidate ON candidate.id = candidate_id ORDER BY build.id");
  while (row.executeStep()) {
    builds.push_back(BuildFacts{.label = text(row, 0),
                                .kernel_hash = text(row, 1),
                                .compiler = text(row, 2),
                                .flags = text(row, 3),
                                .cubin_hash = text(row, 4),
                                .registers = integer(row, 5),
                                .spill_bytes = integer(row, 6),
                                .static_smem_bytes = integer(row, 7),
                                .dynamic_smem_bytes = integer(row, 8),
                                .compile_ms = real(row, 9)});
  }
  return builds;
}

void add_build(Database& db, const BuildFacts& build) {
  insert(db,
         "INSERT INTO build (candidate_id, kernel_hash, compiler, flags, cubin_hash, registers, "
         "spill_bytes, static_smem_bytes, dynamic_smem_bytes, compile_ms) "
         "VALUES (?,?,?,?,?,?,?,?,?,?) "
         "ON CONFLICT (candidate_id, kernel_hash, compiler, flags, cubin_hash) DO NOTHING",
         candidate_id(db, build.label), build.kernel_hash, build.compiler, build.flags,
         build.cubin_hash, build.registers, build.spill_bytes, build.static_smem_bytes,
         build.dynamic_smem_bytes, build.compile_ms);
}

// ---- Races ----

std::vector<RaceOfRun> read_races(Database& db, const std::optional<Environment>& environment) {
  std::map<std::int64_t, Environment> environments;
  for (auto& [id, known] : read_environments(db)) {
    if (!environment || known.same_conditions(*environment)) environments.emplace(id, known);
  }
  std::vector<RaceOfRun> races;
  Statement row(db,
                "SELECT race.id, environment_id, run_id, uid, race.started_utc, m, n, k, dtype, "
                "layout, lda, ldb, ldd, weight, tag, regime, cold, graph, pdl, "
                "effort = 'brief', command_line FROM race "
                "JOIN shape ON shape.id = shape_id JOIN run ON run.id = run_id "
                "ORDER BY race.started_utc, race.id");
  while (row.executeStep()) {
    const auto place = environments.find(integer64(row, 1));
    if (place == environments.end()) continue;
    const std::int64_t id = integer64(row, 0);
    Shape shape = read_shape(row, 5);
    shape.weight = real(row, 13);
    shape.tag = text(row, 14);
    races.push_back({.run = integer64(row, 2),
                     .recorded = {.id = id,
                                  .uid = text(row, 3),
                                  .environment = place->second,
                                  .started_utc = text(row, 4),
                                  .command_line = text(row, 20),
                                  .race = {.shape = shape,
                                           .regime = parse_regime(text(row, 15)),
                                           .timing = {.cold = integer(row, 16) != 0,
                                                      .graph = integer(row, 17) != 0,
                                                      .pdl = integer(row, 18) != 0,
                                                      .brief = integer(row, 19) != 0},
                                           .trials = read_trials(db, id)}}});
  }
  return races;
}

std::int64_t add_race(Database& db, std::int64_t run, const RecordedRace& recorded) {
  const Race& race = recorded.race;
  return insert(db,
                "INSERT INTO race (uid, run_id, shape_id, regime, cold, graph, pdl, tag, weight, "
                "started_utc, effort) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                recorded.uid, run, shape_id(db, race.shape), std::string(to_string(race.regime)),
                race.timing.cold, race.timing.graph, race.timing.pdl, race.shape.tag,
                race.shape.weight, recorded.started_utc,
                std::string(race.timing.brief ? "brief" : "full"));
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
                          "tolerance, verdict_message, window_s, power_w, time_us FROM trial "
                          "JOIN candidate ON candidate.id = candidate_id "
                          "LEFT JOIN energy ON trial_id = trial.id "
                          "WHERE race_id = ? ORDER BY trial.id",
                          race);
  while (row.executeStep()) {
    ids.push_back(integer64(row, 0));
    trials.push_back(Trial{.label = text(row, 1),
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
      trial_(db,
             "INSERT INTO trial (race_id, candidate_id, stage, status, message, correct, "
             "error, tolerance, verdict_message) VALUES (?,?,?,?,?,?,?,?,?) "
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

int TrialWriter::write(std::int64_t race, const Trial& trial) {
  SQLite::bind(trial_, race, candidate_id(db_, trial.label), std::string(to_string(trial.stage)),
               std::string(to_string(trial.status)), trial.message, trial.verdict.correct,
               trial.verdict.error, trial.verdict.tolerance, trial.verdict.message);
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
