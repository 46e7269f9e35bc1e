#include "store/study_rows.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "store/checksum.h"
#include "store/rows.h"

namespace hgemm::sql {

using SQLite::Database;
using SQLite::Statement;

namespace {

/// Whether the verdict is empty: no output was compared.
bool is_none(const Verdict& verdict) {
  return !verdict.correct && verdict.error == 0 && verdict.tolerance == 0 &&
         verdict.message.empty();
}

/// Tables and figures of these kinds rely on having one problem.
bool is_of_one_problem(std::string_view kind) {
  return kind == "probe" || kind == "counters" || kind == "ladder";
}

void add_samples(Database& db, std::int64_t id, const Series& series) {
  for (const Sample& s : series.samples) {  // recordable() was applied before
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
                "correct, error, tolerance, verdict_message, key, checksum, problem_id FROM study "
                "LEFT JOIN problem ON problem.id = problem_id WHERE ?1 = '' OR label = ?1 "
                "ORDER BY started_utc, study.id");
  row.bind(1, label);
  while (row.executeStep()) {
    const Run& run = run_of(runs, row_id(row, 1), "study.run_id");
    RecordedStudy recorded{.uid = text(row, 2, "study.uid", Form::kUid),
                           .environment = run.environment,
                           .run = run.info,
                           .started_utc = text(row, 3, "study.started_utc", Form::kTime),
                           .command_line = run.command_line,
                           .study = {}};
    Study& study = recorded.study;
    study.kind = text(row, 4, "study.kind", Form::kLabel);
    study.label = text(row, 5, "study.label", Form::kLabel);
    study.kernel_id = text(row, 6, "study.kernel", Form::kName);
    study.status = word(row, 7, "study.status", parse_status);
    study.message = text(row, 8, "study.message", Form::kText);
    if (!is_null(row, 9)) study.verdict = read_verdict(row, 9);
    if (!is_null(row, 15)) study.problem = read_problem(row, 13);
    if (!study.problem && is_of_one_problem(study.kind)) {
      throw InputError(
          fmt::format("study.problem_id holds nothing, and a {} is of one problem", study.kind));
    }
    std::optional<std::uint64_t> sum;
    if (!is_null(row, 14)) sum = static_cast<std::uint64_t>(row_id(row, 14));
    rows.push_back({.id = row_id(row, 0),
                    .checksum = sum,
                    .study = {.run = row_id(row, 1), .recorded = std::move(recorded)}});
  }
  return rows;
}

void read_findings(Database& db, StudyRow& row) {
  Study& study = row.study.recorded.study;
  constexpr Range<double> kValue{-1e30, 1e30};
  constexpr Range<double> kNs{-1e15, 1e15};
  constexpr Range<int> kIndex{-1, kCount.most};
  Statement figure = prepare(db,
                             "SELECT point, metric, unit, value, low, high, samples FROM figure "
                             "WHERE study_id = ? ORDER BY id",
                             row.id);
  while (figure.executeStep()) {
    study.figures.push_back({.point = text(figure, 0, "figure.point", Form::kName),
                             .metric = text(figure, 1, "figure.metric", Form::kLabel),
                             .unit = text(figure, 2, "figure.unit", Form::kName),
                             .value = real(figure, 3, "figure.value", kValue),
                             .low = real(figure, 4, "figure.low", kValue),
                             .high = real(figure, 5, "figure.high", kValue),
                             .samples = integer64(figure, 6, "figure.samples", kLongCount)});
  }
  Statement span = prepare(db,
                           "SELECT sm, cta, role, phase, tile, start_ns, end_ns FROM span "
                           "WHERE study_id = ? ORDER BY rowid",
                           row.id);
  while (span.executeStep()) {
    study.spans.push_back({.sm = integer(span, 0, "span.sm", kCount),
                           .cta = integer(span, 1, "span.cta", kCount),
                           .role = text(span, 2, "span.role", Form::kName),
                           .phase = text(span, 3, "span.phase", Form::kName),
                           .tile = integer(span, 4, "span.tile", kIndex),
                           .start_ns = real(span, 5, "span.start_ns", kNs),
                           .end_ns = real(span, 6, "span.end_ns", kNs)});
  }
  Statement part = prepare(db,
                           "SELECT position, variant, key, label FROM part "
                           "JOIN problem ON problem.id = problem_id WHERE study_id = ? "
                           "ORDER BY position, variant",
                           row.id);
  while (part.executeStep()) {
    study.parts.push_back({.position = integer(part, 0, "part.position", kCount),
                           .variant = text(part, 1, "part.variant", Form::kLabel),
                           .problem = read_problem(part, 2),
                           .label = text(part, 3, "part.label", Form::kLabel)});
  }
  Statement sample = prepare(db,
                             "SELECT series, round, pace, launches, time_us, sm_mhz, power_w, "
                             "temperature_c, clock_events FROM study_sample WHERE study_id = ? "
                             "ORDER BY series, round",
                             row.id);
  while (sample.executeStep()) {
    study.samples(text(sample, 0, "study_sample.series", Form::kLabel))
        .push_back(read_sample(sample, 1));
  }
  if (row.checksum && *row.checksum != checksum(row.study.recorded)) {
    throw InputError(
        fmt::format("the study {} of {} is not as it was recorded: a value in it or "
                    "in its figures, spans, parts or samples changed, or rows are "
                    "gone",
                    row.study.recorded.uid, row.study.recorded.started_utc));
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

/// The study as it will be read again: free text that fits, and samples in the order of their
/// series.
Study as_read(const Study& study) {
  Study fit = study;
  fit.message = fitting(study.message, Form::kText);
  fit.verdict.message = fitting(study.verdict.message, Form::kText);
  if (is_none(fit.verdict)) fit.verdict = {};
  for (Series& series : fit.series) {
    for (Sample& sample : series.samples) sample = recordable(sample);
  }
  recordable(study.kind, "study.kind", Form::kLabel);
  recordable(study.label, "study.label", Form::kLabel);
  recordable(study.kernel_id, "study.kernel", Form::kName);
  for (const Figure& figure : study.figures) {
    recordable(figure.point, "figure.point", Form::kName);
    recordable(figure.metric, "figure.metric", Form::kLabel);
    recordable(figure.unit, "figure.unit", Form::kName);
  }
  for (const Span& span : study.spans) {
    recordable(span.role, "span.role", Form::kName);
    recordable(span.phase, "span.phase", Form::kName);
  }
  for (const StudyPart& part : study.parts) {
    recordable(part.variant, "part.variant", Form::kLabel);
    recordable(part.label, "part.label", Form::kLabel);
  }
  for (const Series& series : study.series) {
    recordable(series.name, "study_sample.series", Form::kLabel);
  }
  return fit;
}

}  // namespace

void add_study(Database& db, std::int64_t run_id, const RecordedStudy& recorded) {
  std::map<std::int64_t, Run> runs;
  for (auto& [id, known] : read_runs(db)) runs.emplace(id, std::move(known));
  const Run& run = run_of(runs, run_id, "study.run_id");
  RecordedStudy written = recorded;
  written.environment = run.environment;
  written.run = run.info;
  written.study = as_read(recorded.study);
  const Study& study = written.study;
  Statement row =
      prepare(db,
              "INSERT INTO study (uid, run_id, kind, label, kernel, status, message, started_utc, "
              "checksum, problem_id, correct, error, tolerance, verdict_message) VALUES "
              "(?,?,?,?,?,?,?,?,?, :problem, :correct, :error, :tolerance, :verdict_message)",
              written.uid, run_id, study.kind, study.label, study.kernel_id,
              std::string(to_string(study.status)), study.message, written.started_utc,
              static_cast<std::int64_t>(checksum(written)));
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
