#include "studies/ladder/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "families/family.h"
#include "output/json.h"
#include "output/rounds.h"
#include "output/table.h"
#include "output/text.h"
#include "studies/counters/counter_set.h"

namespace hgemm {
namespace {

std::optional<double> counter(const Study& study, std::string_view metric) {
  const auto found = std::ranges::find(study.figures, metric, &Figure::metric);
  return found != study.figures.end() ? std::optional(found->value) : std::nullopt;
}

void add_timing(LadderRow& row, const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  row.started_utc = recorded.started_utc;
  row.status = study.status;
  row.message = study.message;
  const std::vector<Sample>& samples = study.samples(kStepSeries);
  if (study.status != Status::kOk || samples.empty()) return;
  row.time_us = median(times_us(samples));
  const std::vector<Sample>& cublas = study.samples(kCublasLabel);
  const auto ratio = ratio_by_round(cublas, samples);
  if (!ratio) return;
  row.cublas_time_us = median(times_us(cublas));
  row.ratio = ratio->value;
  row.ratio_interval = ratio->interval;
  row.rounds = ratio->rounds;
}

void add(LadderRow& row, const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  if (study.kind == kLadderStudy) {
    add_timing(row, recorded);
  } else if (study.status != Status::kOk) {
    return;
  } else if (study.kind == kProbeStudy) {
    row.cycles = cycles_of(study);
  } else if (study.kind == kCountersStudy) {
    row.tensor_active = counter(study, "tensor_pipe_active");
    row.l2_hit_rate = counter(study, "l2_hit_rate");
  }
}

std::string step_name(const ladder::Step& step) {
  return fmt::format("{}.{} {}", to_string(step.family), step.id, step.name);
}

Json json_of(const LadderRow& row) {
  const ladder::Step& step = row.point.step;
  const auto published = step.tflops > 0 ? std::optional(step.tflops) : std::nullopt;
  const auto text = [](const std::string& value) { return value.empty() ? Json() : Json(value); };
  return {{"family", to_string(step.family)},
          {"step", step.id},
          {"name", step.name},
          {"title", step.title},
          {"label", ladder_label(row.point)},
          {"m", row.problem.m},
          {"n", row.problem.n},
          {"k", row.problem.k},
          {"dtype", types_text(row.problem)},
          {"status", row.status ? Json(to_string(*row.status)) : Json()},
          {"message", text(row.message)},
          {"time_us", number(row.time_us)},
          {"tflops", number(row.tflops())},
          {"cublas_time_us", number(row.cublas_time_us)},
          {"ratio_cublas", number(row.ratio)},
          {"ratio_cublas_low", row.ratio ? number(row.ratio_interval.low) : Json()},
          {"ratio_cublas_high", row.ratio ? number(row.ratio_interval.high) : Json()},
          {"rounds", row.rounds},
          {"gain", number(row.gain)},
          {"load_cycles", number(row.cycles_per("load"))},
          {"wait_full_cycles", number(row.cycles_per("wait_full"))},
          {"wait_empty_cycles", number(row.cycles_per("wait_empty"))},
          {"issue_cycles", number(row.cycles_per("issue"))},
          {"mma_cycles", number(row.cycles_per("mma"))},
          {"store_cycles", number(row.cycles_per("store"))},
          {"kernel_cycles", number(row.cycles_per("kernel"))},
          {"tensor_active", number(row.tensor_active)},
          {"l2_hit_rate", number(row.l2_hit_rate)},
          {"published_tflops", number(published)},
          {"published_source", published ? Json(step.source) : Json()},
          {"gpu", text(row.environment.gpu_name)},
          {"started_utc", text(row.started_utc)}};
}

/// "1.020 [1.018, 1.023]"
std::string ratio_of(const LadderRow& row) {
  return row.ratio ? ratio_text(*row.ratio, row.ratio_interval, Stage::kFinal) : "-";
}

std::string speed_of(const LadderRow& row) {
  if (!row.status) return "-";
  if (*row.status != Status::kOk) return std::string(to_string(*row.status));
  return optional_text(row.tflops(), "{:.1f}");
}

Table table_of(std::span<const LadderRow* const> rows) {
  Table table;
  table.columns = {
      {"step", false}, {.name = "what changed", .right = false, .fit = Table::Fit::kWrapped},
      {"TFLOP/s"},     {"x cuBLAS"},
      {"gain"},        {"load"},
      {"MMA"},         {"store"},
      {"tensor %"},    {"L2 hit %"},
      {"published"}};
  for (const LadderRow* row : rows) {
    const auto load = row->cycles_per("load");
    const auto cycles = [](const std::optional<double>& value) {
      return optional_text(value, "{:.0f}");
    };
    const ladder::Step& step = row->point.step;
    table.rows.push_back(
        {step_name(step), step.title, speed_of(*row), ratio_of(*row),
         optional_text(row->gain, "{:.3f}"), cycles(load ? load : row->cycles_per("wait_full")),
         cycles(row->cycles_per("mma")), cycles(row->cycles_per("store")),
         optional_text(row->tensor_active, "{:.1f}"), optional_text(row->l2_hit_rate, "{:.1f}"),
         step.tflops > 0 ? fmt::format("{:g}", step.tflops) : "-"});
  }
  return table;
}

std::string heading_of(std::span<const LadderRow* const> rows, const Style& style) {
  const LadderRow& first = *rows.front();
  std::string line = to_string(first.problem);
  const auto timed = std::ranges::find_if(rows, [&](const LadderRow* row) {
    return row->cublas_time_us && row->problem.same_problem(first.problem);
  });
  if (!first.environment.gpu_name.empty()) line += " on " + environment_text(first.environment);
  if (timed != rows.end()) {
    const LadderRow& row = **timed;
    line += fmt::format(", {}: cublas {:.1f} TFLOP/s", row.started_utc.substr(0, 10),
                        row.problem.flops() / *row.cublas_time_us * 1e-6);
  }
  return (style.markdown() ? "### " : "") + line + "\n";
}

/// What a tuned step ran, and with operands of 8 bits how that compares with the other steps.
std::string note_of_tuned(const LadderRow& row) {
  std::string note = fmt::format("{}: {} at {}", step_name(row.point.step), row.point.config,
                                 to_string(row.problem));
  if (!is_8_bit(row.point.dtype)) return note;
  note += fmt::format(
      ". Its operands have fewer bits and its sums other errors (hgemm-tune accuracy), the tensor "
      "cores' peak is twice as high, and x cuBLAS is the ratio to the first choice of cuBLASLt's "
      "heuristic for the same types");
  if (row.cublas_time_us) {
    note += fmt::format(", {:.1f} TFLOP/s", row.problem.flops() / *row.cublas_time_us * 1e-6);
  }
  return note;
}

std::vector<std::string> notes_of(std::span<const LadderRow* const> rows) {
  std::vector<std::string> notes;
  if (std::ranges::any_of(rows, [](const LadderRow* row) { return !row->cycles.empty(); })) {
    notes.push_back(
        "load, MMA, store: mean cycles of one thread for each CTA, by stamps in another build. "
        "load: from asking for a k block until it is there; with a producer, what a consumer waits "
        "for it. MMA: issue and wait, for a k block. store: for a tile");
  }
  std::vector<std::string> sources;
  for (const LadderRow* row : rows) {
    const ladder::Step& step = row->point.step;
    if (step.tflops == 0 || std::ranges::find(sources, step.source) != sources.end()) continue;
    sources.emplace_back(step.source);
    notes.push_back(
        fmt::format("published: TFLOP/s, {} ({})", step.source, to_string(step.family)));
  }
  for (const LadderRow* row : rows) {
    if (is_tuned(row->point.step) && row->status) notes.push_back(note_of_tuned(*row));
  }
  for (const LadderRow* row : rows) {
    if (!row->status || *row->status == Status::kOk) continue;
    notes.push_back(fmt::format("{}: {}: {}", step_name(row->point.step), to_string(*row->status),
                                row->message.substr(0, row->message.find('\n'))));
  }
  return notes;
}

std::string block_of(std::span<const LadderRow* const> rows, const Style& style) {
  std::vector<Piece> pieces{heading_of(rows, style), render(table_of(rows), style)};
  const std::vector<std::string> notes = notes_of(rows);
  if (!notes.empty()) pieces.push_back(list_text("Notes:", notes, style));
  return joined(pieces, style);
}

}  // namespace

std::optional<double> LadderRow::tflops() const {
  return time_us ? std::optional(problem.flops() / *time_us * 1e-6) : std::nullopt;
}

std::optional<double> LadderRow::cycles_per(std::string_view phase) const {
  const auto found = std::ranges::find(cycles, phase, &CycleFigure::phase);
  if (found == cycles.end() || found->count == 0) return std::nullopt;
  return found->mean();
}

bool is_of_tuned_step(const Study& study, const GemmProblem& problem) {
  if (study.kind != kLadderStudy || !study.problem || !study.problem->same_problem(problem)) {
    return false;
  }
  try {  // a database from another source may contain any label
    parse_label(study.label);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::vector<LadderRow> ladder_rows(std::span<const LadderPoint> points, const GemmProblem& problem,
                                   std::span<const RecordedStudy> studies) {
  std::vector<Machine> sessions;
  for (const RecordedStudy& study : studies) {
    const bool known = std::ranges::any_of(
        sessions, [&](const Machine& other) { return same_session(other, study); });
    if (!known) sessions.push_back({study.environment, study.run});
  }
  if (sessions.empty()) sessions.emplace_back();

  std::vector<LadderRow> rows;
  for (const Machine& session : sessions) {
    const LadderRow* before = nullptr;
    const std::size_t first = rows.size();
    rows.reserve(first + points.size());
    for (const LadderPoint& point : points) {
      LadderRow row;
      row.point = point;
      row.problem = problem_of(point, problem);
      row.environment = session.environment;
      row.run = session.run;
      for (const RecordedStudy& study : studies) {
        const bool of_row = same_session(study, session) &&
                            study.study.label == ladder_label(point) && study.study.problem &&
                            study.study.problem->same_problem(row.problem);
        if (of_row) add(row, study);
      }
      const bool same_ladder = before != nullptr && before->point.step.family == point.step.family;
      if (same_ladder && before->time_us && row.time_us) row.gain = *before->time_us / *row.time_us;
      rows.push_back(std::move(row));
      before = &rows.back();
    }
  }
  return rows;
}

std::string format_ladder(std::span<const LadderRow> rows, const Style& style) {
  if (style.format == Format::kJson || style.format == Format::kCsv) {
    std::vector<Json> objects;
    for (const LadderRow& row : rows) objects.push_back(json_of(row));
    if (style.format == Format::kCsv) {
      LadderRow any;
      any.point.step = ladder_steps().front();
      return as_csv(json_of(any), objects);
    }
    return dump(Json(objects));
  }
  std::vector<std::string> blocks;
  std::vector<const LadderRow*> block;
  for (const LadderRow& row : rows) {
    if (!block.empty() && !same_session(*block.front(), row)) {
      blocks.push_back(block_of(block, style));
      block.clear();
    }
    block.push_back(&row);
  }
  if (!block.empty()) blocks.push_back(block_of(block, style));
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace hgemm
