#include "store/store.h"

#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "space/label.h"
#include "space/words.h"
#include "store/open.h"

namespace hgemm {
namespace {

using SQLite::Database;
using SQLite::Statement;

/// SQLite has no NaN: it stores NULL.
double real(const Statement& row, int column) {
  const SQLite::Column value = row.getColumn(column);
  return value.isNull() ? std::numeric_limits<double>::quiet_NaN() : value.getDouble();
}
std::string text(const Statement& row, int column) { return row.getColumn(column).getString(); }
int integer(const Statement& row, int column) { return row.getColumn(column).getInt(); }
std::int64_t integer64(const Statement& row, int column) {
  return row.getColumn(column).getInt64();
}

template <class... Args>
Statement prepare(Database& db, const char* sql, const Args&... args) {
  Statement statement(db, sql);
  SQLite::bind(statement, args...);
  return statement;
}

template <class... Args>
std::int64_t insert(Database& db, const char* sql, const Args&... args) {
  prepare(db, sql, args...).exec();
  return db.getLastInsertRowid();
}

// ---- Environments ----

constexpr const char* kSelectEnvironments =
    "SELECT id, gpu_name, gpu_uuid, compute_major, compute_minor, sm_count, l2_bytes, "
    "memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, cublas, nvrtc, kernel_hash, "
    "git_revision FROM environment ORDER BY id";

using EnvironmentRow = std::pair<std::int64_t, Environment>;

std::vector<EnvironmentRow> environment_rows(Database& db) {
  std::vector<EnvironmentRow> rows;
  Statement row(db, kSelectEnvironments);
  while (row.executeStep()) {
    rows.emplace_back(integer64(row, 0), Environment{.gpu_name = text(row, 1),
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
                                                     .git_revision = text(row, 15)});
  }
  return rows;
}

std::int64_t environment_id(Database& db, const Environment& e) {
  for (const auto& [id, known] : environment_rows(db)) {
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

// ---- Shapes and candidates ----

std::int64_t shape_id(Database& db, const Shape& s) {
  const std::string dtype(to_string(s.dtype));
  const std::string layout(to_string(s.layout));
  Statement known = prepare(
      db, "SELECT id FROM shape WHERE m = ? AND n = ? AND k = ? AND dtype = ? AND layout = ?", s.m,
      s.n, s.k, dtype, layout);
  if (known.executeStep()) return integer64(known, 0);
  return insert(db, "INSERT INTO shape (m, n, k, dtype, layout) VALUES (?,?,?,?,?)", s.m, s.n, s.k,
                dtype, layout);
}

std::int64_t candidate_id(Database& db, const std::string& label) {
  Statement known = prepare(db, "SELECT id FROM candidate WHERE label = ?", label);
  if (known.executeStep()) return integer64(known, 0);
  const std::int64_t id = insert(db, "INSERT INTO candidate (label) VALUES (?)", label);
  if (!is_baseline(label)) {
    const KernelConfig c = parse_label(label);
    insert(db,
           "INSERT INTO config (candidate_id, bm, bn, bk, stages, cluster_m, cluster_n, consumers, "
           "mma_depth, tile_order, epilogue, persistent, dtype) "
           "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
           id, c.bm, c.bn, c.bk, c.stages, c.cluster_m, c.cluster_n, c.consumers, c.mma_depth,
           order_word(c.order, c.group), std::string(epilogue_word(c.epilogue)), c.persistent,
           std::string(to_string(c.dtype)));
  }
  return id;
}

// ---- Races ----

/// All trials of a race with their samples: two queries.
std::vector<Trial> read_trials(Database& db, std::int64_t race) {
  std::vector<Trial> trials;
  std::vector<std::int64_t> ids;
  Statement row = prepare(db,
                          "SELECT trial.id, label, stage, status, message, correct, error, "
                          "tolerance, verdict_message FROM trial "
                          "JOIN candidate ON candidate.id = candidate_id "
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
                           .samples = {}});
  }

  Statement sample = prepare(db,
                             "SELECT trial_id, round, launches, time_us, sm_mhz FROM trial "
                             "JOIN sample ON trial_id = trial.id "
                             "WHERE race_id = ? ORDER BY trial_id, round",
                             race);
  std::size_t at = 0;
  while (sample.executeStep()) {
    while (ids.at(at) != integer64(sample, 0)) ++at;  // both are ordered by trial
    trials[at].samples.push_back(Sample{.round = integer(sample, 1),
                                        .launches = integer(sample, 2),
                                        .time_us = real(sample, 3),
                                        .sm_mhz = real(sample, 4)});
  }
  return trials;
}

}  // namespace

struct Store::Impl {
  std::string path;
  Database db;

  /// Runs `work` in one transaction, so that it sees one state of the database.
  template <class Work>
  auto read(const Work& work) {
    return transact(SQLite::TransactionBehavior::DEFERRED, work);
  }
  /// Takes the write lock first: a transaction that turns into a writer half-way can fail as busy.
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
    }
  }
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

Store Store::open(const std::string& path, Mode mode) {
  return Store(std::make_unique<Impl>(path, open_database(path, mode)));
}

const std::string& Store::path() const { return impl_->path; }

std::int64_t Store::begin_run(const Environment& environment, const std::string& command_line) {
  Database& db = impl_->db;
  return impl_->write([&] {
    return insert(db,
                  "INSERT INTO run (environment_id, started_utc, command_line) "
                  "VALUES (?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?)",
                  environment_id(db, environment), command_line);
  });
}

std::int64_t Store::begin_race(std::int64_t run, const Shape& shape, Regime regime) {
  Database& db = impl_->db;
  return impl_->write([&] {
    return insert(db,
                  "INSERT INTO race (run_id, shape_id, regime, tag, weight, started_utc) "
                  "VALUES (?,?,?,?,?, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))",
                  run, shape_id(db, shape), std::string(to_string(regime)), shape.tag,
                  shape.weight);
  });
}

void Store::record(std::int64_t race, std::span<const Trial> trials) {
  Database& db = impl_->db;
  impl_->write([&] {
    Statement upsert(db,
                     "INSERT INTO trial (race_id, candidate_id, stage, status, message, correct, "
                     "error, tolerance, verdict_message) VALUES (?,?,?,?,?,?,?,?,?) "
                     "ON CONFLICT (race_id, candidate_id) DO UPDATE SET stage = excluded.stage, "
                     "status = excluded.status, message = excluded.message, "
                     "correct = excluded.correct, error = excluded.error, "
                     "tolerance = excluded.tolerance, verdict_message = excluded.verdict_message "
                     "RETURNING id");
    Statement add_sample(db,
                         "INSERT INTO sample (trial_id, round, launches, time_us, sm_mhz) "
                         "VALUES (?,?,?,?,?) ON CONFLICT (trial_id, round) DO NOTHING");
    for (const Trial& trial : trials) {
      SQLite::bind(upsert, race, candidate_id(db, trial.label), std::string(to_string(trial.stage)),
                   std::string(to_string(trial.status)), trial.message, trial.verdict.correct,
                   trial.verdict.error, trial.verdict.tolerance, trial.verdict.message);
      upsert.executeStep();
      const std::int64_t id = integer64(upsert, 0);
      upsert.reset();
      for (const Sample& s : trial.samples) {
        SQLite::bind(add_sample, id, s.round, s.launches, s.time_us, s.sm_mhz);
        add_sample.exec();
        add_sample.reset();
      }
    }
  });
}

void Store::record_build(const BuildFacts& build) {
  Database& db = impl_->db;
  impl_->write([&] {
    insert(db,
           "INSERT INTO build (candidate_id, kernel_hash, compiler, flags, cubin_hash, registers, "
           "spill_bytes, static_smem_bytes, dynamic_smem_bytes, compile_ms) "
           "VALUES (?,?,?,?,?,?,?,?,?,?) "
           "ON CONFLICT (candidate_id, kernel_hash, compiler, flags, cubin_hash) DO NOTHING",
           candidate_id(db, build.label), build.kernel_hash, build.compiler, build.flags,
           build.cubin_hash, build.registers, build.spill_bytes, build.static_smem_bytes,
           build.dynamic_smem_bytes, build.compile_ms);
  });
}

std::set<std::string> Store::finished(const Environment& environment, const Shape& shape,
                                      Regime regime) const {
  Database& db = impl_->db;
  return impl_->read([&] {
    std::set<std::string> labels;
    for (const auto& [id, known] : environment_rows(db)) {
      if (!known.same_conditions(environment)) continue;
      Statement row =
          prepare(db,
                  "SELECT DISTINCT label FROM shape "
                  "JOIN race ON shape_id = shape.id JOIN run ON run.id = run_id "
                  "JOIN trial ON race_id = race.id JOIN candidate ON candidate.id = candidate_id "
                  "WHERE m = ? AND n = ? AND k = ? AND dtype = ? AND layout = ? AND regime = ? "
                  "AND environment_id = ? AND NOT (status = 'ok' AND stage = 'none')",
                  shape.m, shape.n, shape.k, std::string(to_string(shape.dtype)),
                  std::string(to_string(shape.layout)), std::string(to_string(regime)), id);
      while (row.executeStep()) {
        if (std::string label = text(row, 0); !is_baseline(label)) labels.insert(std::move(label));
      }
    }
    return labels;
  });
}

std::vector<RecordedRace> Store::races(const std::optional<Environment>& environment) const {
  Database& db = impl_->db;
  return impl_->read([&] {
    std::map<std::int64_t, Environment> environments;
    for (auto& [id, known] : environment_rows(db)) {
      if (!environment || known.same_conditions(*environment)) environments.emplace(id, known);
    }
    std::vector<RecordedRace> races;
    Statement row(db,
                  "SELECT race.id, environment_id, race.started_utc, m, n, k, dtype, layout, "
                  "weight, tag, regime FROM race "
                  "JOIN shape ON shape.id = shape_id JOIN run ON run.id = run_id ORDER BY race.id");
    while (row.executeStep()) {
      const auto place = environments.find(integer64(row, 1));
      if (place == environments.end()) continue;
      const std::int64_t id = integer64(row, 0);
      races.push_back(RecordedRace{.id = id,
                                   .environment = place->second,
                                   .started_utc = text(row, 2),
                                   .race = {.shape = {.m = integer64(row, 3),
                                                      .n = integer64(row, 4),
                                                      .k = integer64(row, 5),
                                                      .dtype = parse_dtype(text(row, 6)),
                                                      .layout = parse_layout(text(row, 7)),
                                                      .weight = real(row, 8),
                                                      .tag = text(row, 9)},
                                            .regime = parse_regime(text(row, 10)),
                                            .trials = read_trials(db, id)}});
    }
    return races;
  });
}

std::vector<BuildFacts> Store::builds() const {
  return impl_->read([&] {
    std::vector<BuildFacts> builds;
    Statement row(impl_->db,
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
  });
}

}  // namespace hgemm
