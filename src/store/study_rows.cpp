#include "store/study_rows.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "store/rows.h"

namespace hgemm::sql {

using SQLite::Database;
using SQLite::Statement;

namespace {

/// A verdict that says nothing: no output was compared.
bool is_none(const Verdict& verdict) {
  return !verdict.correct && verdict.error == 0 && verdict.tolerance == 0 &&
         verdict.message.empty();
}

void add_samples(Database& db, std::int64_t id, const Series& series) {
  for (const Sample& s : series.samples) {
    Statement statement = prepare(
        db,
        "INSERT INTO study_sample (study_id, series, round, pace, launches, time_us, sm_mhz, "
        "power_w, temperature_c, clock_events) VALUES (?,?,?,?,?,?,?, :power, :celsius, :events)",
        id, series.name, s.round, std::string(to_string(s.pace)), s.launches, s.time_us, s.sm_mhz);
    bind_what_nvml_said(statement, s);
    statement.exec();
  }
}

}  // namespace

std::vector<StudyRow> read_study_rows(Database& db, const std::string& label) {
  std::map<std::int64_t, Run> runs;
  for (auto& [id, run] : read_runs(db)) runs.emplace(id, std::move(run));
  std::vector<StudyRow> rows;
  Statement row(db,
                "SELECT study.id, run_id, uid, started_utc, kind, label, kernel, status, message, "
                "correct, error, tolerance, verdict_message, key FROM study "
                "LEFT JOIN problem ON problem.id = problem_id WHERE ?1 = '' OR label = ?1 "
                "ORDER BY started_utc, study.id");
  row.bind(1, label);
  while (row.executeStep()) {
    const Run& run = runs.at(integer64(row, 1));
    RecordedStudy recorded{.uid = text(row, 2),
                           .environment = run.environment,
                           .run = run.info,
                           .started_utc = text(row, 3),
                           .command_line = run.command_line,
                           .study = {}};
    Study& study = recorded.study;
    study.kind = text(row, 4);
    study.label = text(row, 5);
    study.kernel_id = text(row, 6);
    study.status = parse_status(text(row, 7));
    study.message = text(row, 8);
    if (const auto correct = integer_or_none(row, 9)) {
      study.verdict = {.correct = *correct != 0,
                       .error = real(row, 10),
                       .tolerance = real(row, 11),
                       .message = text(row, 12)};
    }
    if (!row.getColumn(13).isNull()) study.problem = read_problem(row, 13);
    rows.push_back({.id = integer64(row, 0), .study = {integer64(row, 1), std::move(recorded)}});
  }
  return rows;
}

void read_findings(Database& db, std::int64_t id, Study& study) {
  Statement figure = prepare(db,
                             "SELECT point, metric, unit, value, low, high, samples FROM figure "
                             "WHERE study_id = ? ORDER BY id",
                             id);
  while (figure.executeStep()) {
    study.figures.push_back({.point = text(figure, 0),
                             .metric = text(figure, 1),
                             .unit = text(figure, 2),
                             .value = real(figure, 3),
                             .low = real(figure, 4),
                             .high = real(figure, 5),
                             .samples = integer64(figure, 6)});
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
  Statement part = prepare(db,
                           "SELECT position, variant, key, label FROM part "
                           "JOIN problem ON problem.id = problem_id WHERE study_id = ? "
                           "ORDER BY position, variant",
                           id);
  while (part.executeStep()) {
    study.parts.push_back({.position = integer(part, 0),
                           .variant = text(part, 1),
                           .problem = read_problem(part, 2),
                           .label = text(part, 3)});
  }
  Statement sample = prepare(db,
                             "SELECT series, round, pace, launches, time_us, sm_mhz, power_w, "
                             "temperature_c, clock_events FROM study_sample WHERE study_id = ? "
                             "ORDER BY series, round",
                             id);
  while (sample.executeStep()) {
    study.samples(text(sample, 0)).push_back(read_sample(sample, 1));
  }
}

bool has_spans(Database& db, std::int64_t id) {
  return prepare(db, "SELECT 1 FROM span WHERE study_id = ? LIMIT 1", id).executeStep();
}

bool knows_study(Database& db, const std::string& uid) {
  return prepare(db, "SELECT 1 FROM study WHERE uid = ?", uid).executeStep();
}

namespace {

void add_findings(Database& db, std::int64_t id, const Study& study) {
  for (const Figure& f : study.figures) {
    insert(db,
           "INSERT INTO figure (study_id, point, metric, unit, value, low, high, samples) "
           "VALUES (?,?,?,?,?,?,?,?)",
           id, f.point, f.metric, f.unit, f.value, f.low, f.high, f.samples);
  }
  Statement span(db,
                 "INSERT INTO span (study_id, sm, cta, role, phase, tile, start_ns, end_ns) "
                 "VALUES (?,?,?,?,?,?,?,?)");
  for (const Span& s : study.spans) {  // there may be many thousands
    SQLite::bind(span, id, s.sm, s.cta, s.role, s.phase, s.tile, s.start_ns, s.end_ns);
    span.exec();
    span.reset();
  }
  for (const StudyPart& part : study.parts) {
    insert(db,
           "INSERT INTO part (study_id, position, variant, problem_id, label) VALUES (?,?,?,?,?)",
           id, part.position, part.variant, problem_id(db, part.problem), part.label);
  }
  for (const Series& series : study.series) add_samples(db, id, series);
}

}  // namespace

void add_study(Database& db, std::int64_t run, const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  Statement row = prepare(
      db,
      "INSERT INTO study (uid, run_id, kind, label, kernel, status, message, started_utc, "
      "problem_id, correct, error, tolerance, verdict_message) VALUES (?,?,?,?,?,?,?,?, :problem, "
      ":correct, :error, :tolerance, :verdict_message)",
      recorded.uid, run, study.kind, study.label, study.kernel_id,
      std::string(to_string(study.status)), study.message, recorded.started_utc);
  std::optional<std::int64_t> problem;
  if (study.problem) problem = problem_id(db, *study.problem);
  bind_or_null(row, ":problem", problem);
  if (!is_none(study.verdict)) {
    const Verdict& verdict = study.verdict;
    row.bind(":correct", verdict.correct ? 1 : 0);
    if (!std::isnan(verdict.error)) row.bind(":error", verdict.error);
    row.bind(":tolerance", verdict.tolerance);
    row.bind(":verdict_message", verdict.message);
  }
  row.exec();
  add_findings(db, db.getLastInsertRowid(), study);
}

}  // namespace hgemm::sql
