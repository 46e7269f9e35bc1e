#include "store/study_rows.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "store/rows.h"
#include "study/chain.h"

namespace hgemm::sql {

using SQLite::Database;
using SQLite::Statement;

namespace {

/// A verdict that says nothing: no output was compared.
bool is_none(const Verdict& verdict) {
  return !verdict.correct && verdict.error == 0 && verdict.tolerance == 0 &&
         verdict.message.empty();
}

void add_samples(Database& db, std::int64_t id, const char* label,
                 const std::vector<Sample>& samples) {
  for (const Sample& s : samples) {
    Statement statement = prepare(
        db,
        "INSERT INTO study_sample (study_id, label, round, pace, launches, time_us, sm_mhz, "
        "power_w, temperature_c, clock_events) VALUES (?,?,?,?,?,?,?, :power, :celsius, :events)",
        id, std::string(label), s.round, std::string(to_string(s.pace)), s.launches, s.time_us,
        s.sm_mhz);
    bind_what_nvml_said(statement, s);
    statement.exec();
  }
}

/// The label of Study::samples.
const char* own_samples(const Study& study) {
  return study.kind == StudyKind::kChain ? kPdlOff : "step";
}

std::vector<Sample> read_samples(Database& db, std::int64_t id, const char* label) {
  std::vector<Sample> samples;
  Statement row = prepare(db,
                          "SELECT round, pace, launches, time_us, sm_mhz, power_w, temperature_c, "
                          "clock_events FROM study_sample WHERE study_id = ? AND label = ? "
                          "ORDER BY round",
                          id, std::string(label));
  while (row.executeStep()) samples.push_back(read_sample(row, 0));
  return samples;
}

}  // namespace

std::vector<StudyRow> read_study_rows(Database& db, const std::string& label) {
  std::map<std::int64_t, Environment> environments;
  for (auto& [id, known] : read_environments(db)) environments.emplace(id, known);
  std::vector<StudyRow> rows;
  Statement row(db,
                "SELECT study.id, environment_id, run_id, uid, study.started_utc, command_line, "
                "kind, label, cubin_hash, status, message, correct, error, tolerance, "
                "verdict_message, m, n, k, dtype, layout, lda, ldb, ldd FROM study "
                "JOIN run ON run.id = run_id "
                "LEFT JOIN shape ON shape.id = shape_id WHERE ?1 = '' OR label = ?1 "
                "ORDER BY study.started_utc, study.id");
  row.bind(1, label);
  while (row.executeStep()) {
    RecordedStudy recorded;
    recorded.environment = environments.at(integer64(row, 1));
    recorded.uid = text(row, 3);
    recorded.started_utc = text(row, 4);
    recorded.command_line = text(row, 5);
    Study& study = recorded.study;
    study.kind = parse_study_kind(text(row, 6));
    study.label = text(row, 7);
    study.cubin_hash = text(row, 8);
    study.status = parse_status(text(row, 9));
    study.message = text(row, 10);
    if (const auto correct = integer_or_none(row, 11)) {
      study.verdict = {.correct = *correct != 0,
                       .error = real(row, 12),
                       .tolerance = real(row, 13),
                       .message = text(row, 14)};
    }
    if (integer_or_none(row, 15)) study.shape = read_shape(row, 15);
    rows.push_back({.id = integer64(row, 0),
                    .environment = integer64(row, 1),
                    .study = {integer64(row, 2), std::move(recorded)}});
  }
  return rows;
}

void read_figures(Database& db, std::int64_t id, Study& study) {
  Statement micro = prepare(db,
                            "SELECT metric, unit, value, low, high, samples FROM micro "
                            "WHERE study_id = ? ORDER BY metric",
                            id);
  while (micro.executeStep()) {
    study.micro.push_back({.metric = text(micro, 0),
                           .unit = text(micro, 1),
                           .value = real(micro, 2),
                           .low = real(micro, 3),
                           .high = real(micro, 4),
                           .samples = integer(micro, 5)});
  }
  Statement cycle = prepare(db,
                            "SELECT role, phase, unit, count, cycles FROM cycle "
                            "WHERE study_id = ? ORDER BY role, phase",
                            id);
  while (cycle.executeStep()) {
    study.cycles.push_back({.role = text(cycle, 0),
                            .phase = text(cycle, 1),
                            .unit = text(cycle, 2),
                            .count = integer64(cycle, 3),
                            .cycles = real(cycle, 4)});
  }
  Statement span = prepare(db,
                           "SELECT sm, cta, role, phase, tile, start_ns, end_ns FROM span "
                           "WHERE study_id = ? ORDER BY rowid",
                           id);
  while (span.executeStep()) {
    study.spans.push_back({.sm = integer(span, 0),
                           .cta = integer(span, 1),
                           .role = text(span, 2),
                           .phase = text(span, 3),
                           .tile = integer(span, 4),
                           .start_ns = real(span, 5),
                           .end_ns = real(span, 6)});
  }
  Statement counter = prepare(db,
                              "SELECT metric, unit, value, source FROM counter "
                              "WHERE study_id = ? ORDER BY metric",
                              id);
  while (counter.executeStep()) {
    study.counters.push_back({.metric = text(counter, 0),
                              .unit = text(counter, 1),
                              .value = real(counter, 2),
                              .source = text(counter, 3)});
  }
  Statement link =
      prepare(db,
              "SELECT pdl_off, pdl_on, m, n, k, dtype, layout, lda, ldb, ldd FROM link "
              "JOIN shape ON shape.id = shape_id WHERE study_id = ? ORDER BY position",
              id);
  while (link.executeStep()) {
    study.links.push_back(
        {.shape = read_shape(link, 2), .pdl_off = text(link, 0), .pdl_on = text(link, 1)});
  }
  study.samples = read_samples(db, id, own_samples(study));
  study.pdl_samples = read_samples(db, id, kPdlOn);
  study.cublas_samples = read_samples(db, id, "cublas");
}

bool has_spans(Database& db, std::int64_t id) {
  return prepare(db, "SELECT 1 FROM span WHERE study_id = ? LIMIT 1", id).executeStep();
}

bool knows_study(Database& db, const std::string& uid) {
  return prepare(db, "SELECT 1 FROM study WHERE uid = ?", uid).executeStep();
}

void add_study(Database& db, std::int64_t run, const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  Statement row = prepare(
      db,
      "INSERT INTO study (uid, run_id, kind, label, cubin_hash, status, message, started_utc, "
      "shape_id, correct, error, tolerance, verdict_message) VALUES (?,?,?,?,?,?,?,?, :shape, "
      ":correct, :error, :tolerance, :verdict_message)",
      recorded.uid, run, std::string(to_string(study.kind)), study.label, study.cubin_hash,
      std::string(to_string(study.status)), study.message, recorded.started_utc);
  std::optional<std::int64_t> shape;
  if (study.shape) shape = shape_id(db, *study.shape);
  bind_or_null(row, ":shape", shape);
  if (!is_none(study.verdict)) {
    const Verdict& verdict = study.verdict;
    row.bind(":correct", verdict.correct ? 1 : 0);
    if (!std::isnan(verdict.error)) row.bind(":error", verdict.error);
    row.bind(":tolerance", verdict.tolerance);
    row.bind(":verdict_message", verdict.message);
  }
  row.exec();
  const std::int64_t id = db.getLastInsertRowid();

  for (const MicroFigure& f : study.micro) {
    insert(db,
           "INSERT INTO micro (study_id, metric, unit, value, low, high, samples) "
           "VALUES (?,?,?,?,?,?,?)",
           id, f.metric, f.unit, f.value, f.low, f.high, f.samples);
  }
  for (const CycleFigure& f : study.cycles) {
    insert(db,
           "INSERT INTO cycle (study_id, role, phase, unit, count, cycles) VALUES (?,?,?,?,?,?)",
           id, f.role, f.phase, f.unit, f.count, f.cycles);
  }
  Statement span(db,
                 "INSERT INTO span (study_id, sm, cta, role, phase, tile, start_ns, end_ns) "
                 "VALUES (?,?,?,?,?,?,?,?)");
  for (const Span& s : study.spans) {  // there may be many thousands
    SQLite::bind(span, id, s.sm, s.cta, s.role, s.phase, s.tile, s.start_ns, s.end_ns);
    span.exec();
    span.reset();
  }
  for (const CounterFigure& f : study.counters) {
    insert(db, "INSERT INTO counter (study_id, metric, unit, value, source) VALUES (?,?,?,?,?)", id,
           f.metric, f.unit, f.value, f.source);
  }
  for (std::size_t i = 0; i < study.links.size(); ++i) {
    const ChainLink& link = study.links[i];
    insert(db,
           "INSERT INTO link (study_id, position, shape_id, pdl_off, pdl_on) VALUES (?,?,?,?,?)",
           id, static_cast<std::int64_t>(i), shape_id(db, link.shape), link.pdl_off, link.pdl_on);
  }
  add_samples(db, id, own_samples(study), study.samples);
  add_samples(db, id, kPdlOn, study.pdl_samples);
  add_samples(db, id, "cublas", study.cublas_samples);
}

}  // namespace hgemm::sql
