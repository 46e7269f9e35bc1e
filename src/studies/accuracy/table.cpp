#include "studies/accuracy/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "base/error.h"
#include "gemm/codec.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "studies/accuracy/accuracy.h"

namespace hgemm {
namespace {

GemmProblem problem_of_study(const Study& study) { return study.problem.value_or(GemmProblem{}); }

std::string_view sums_of(const GemmProblem& problem) {
  if (!problem.has_8_bit_operands()) return "fp32";
  return problem.accumulator == Accumulator::kFast ? "fast" : "promoted";
}

/// The config's interval; none for the library, or for a label of another source.
std::optional<int> interval_of(const Study& study) {
  if (is_baseline(study.label)) return std::nullopt;
  try {
    return promoted_every(parse_label(study.label));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

// ---- For programs ----

Json json_of(const RecordedStudy& recorded, const AccuracyKind* kind) {
  const Study& study = recorded.study;
  const GemmProblem problem = problem_of_study(study);
  const SumErrors errors = kind == nullptr ? SumErrors{} : errors_of(study, kind->name);
  const auto value = [&](double of_kind) { return kind == nullptr ? Json() : number(of_kind); };
  const std::optional<int> interval = interval_of(study);
  return Json{{"problem", to_string(problem)},
              {"m", problem.m},
              {"n", problem.n},
              {"k", problem.k},
              {"sums", sums_of(problem)},
              {"promote", interval ? Json(*interval) : Json()},
              {"label", study.label},
              {"data", kind == nullptr ? Json() : Json(kind->name)},
              {"worst", value(errors.worst)},
              {"rms", value(errors.rms)},
              {"bias", value(errors.bias)},
              {"exact_rms", value(errors.exact_rms)},
              {"outputs", kind == nullptr ? Json() : Json(errors.outputs)},
              {"status", to_string(study.status)},
              {"message", study.message.empty() ? Json() : Json(study.message)},
              {"gpu", recorded.environment.gpu_name},
              {"started_utc", recorded.started_utc}};
}

std::vector<Json> objects_of(std::span<const RecordedStudy> studies) {
  std::vector<Json> objects;
  for (const RecordedStudy& recorded : studies) {
    if (recorded.study.status != Status::kOk) {
      objects.push_back(json_of(recorded, nullptr));
      continue;
    }
    for (const AccuracyKind& kind : accuracy_kinds()) objects.push_back(json_of(recorded, &kind));
  }
  return objects;
}

// ---- For people ----

/// The studies of one environment at one shape, whatever its sums.
struct Block {
  GemmProblem problem;
  std::vector<const RecordedStudy*> studies;
};

GemmProblem without_fast_sums(GemmProblem problem) {
  problem.accumulator = Accumulator::kFp32;
  return problem;
}

std::vector<Block> blocks_of(std::span<const RecordedStudy> studies) {
  std::vector<Block> blocks;
  for (const RecordedStudy& recorded : studies) {
    const GemmProblem problem = without_fast_sums(problem_of_study(recorded.study));
    auto block = std::ranges::find_if(blocks, [&](const Block& known) {
      return known.problem.same_problem(problem) && same_session(*known.studies.front(), recorded);
    });
    if (block == blocks.end()) {
      blocks.push_back({problem, {}});
      block = std::prev(blocks.end());
    }
    block->studies.push_back(&recorded);
  }
  return blocks;
}

std::string sums_text(const Study& study) {
  const GemmProblem problem = problem_of_study(study);
  const std::optional<int> interval = interval_of(study);
  if (!problem.has_8_bit_operands() || problem.accumulator == Accumulator::kFast || !interval) {
    return std::string(sums_of(problem));
  }
  return fmt::format("promoted, {}", *interval);
}

Table table_of(const Block& block) {
  Table table;
  table.columns = {{.name = "data", .right = false},
                   {.name = "sums", .right = false},
                   {.name = "worst"},
                   {.name = "rms"},
                   {.name = "signed mean", .key = "bias"},
                   {.name = "kernel", .right = false, .fit = Table::Fit::kBelow, .key = "label"}};
  for (const AccuracyKind& kind : accuracy_kinds()) {
    for (const RecordedStudy* recorded : block.studies) {
      const Study& study = recorded->study;
      if (study.status != Status::kOk) continue;
      const SumErrors errors = errors_of(study, kind.name);
      table.rows.push_back({std::string(kind.text), sums_text(study),
                            fmt::format("{:.1e}", errors.worst), fmt::format("{:.1e}", errors.rms),
                            fmt::format("{:+.1e}", errors.bias), study.label});
    }
  }
  return table;
}

std::string for_people(std::span<const RecordedStudy> studies, const Style& style) {
  if (studies.empty()) return "No sums of these shapes are recorded.\n";
  std::vector<Piece> pieces;
  const RecordedStudy* last = nullptr;
  for (const Block& block : blocks_of(studies)) {
    const RecordedStudy& first = *block.studies.front();
    if (last == nullptr || !same_session(*last, first)) {
      pieces.emplace_back(
          fmt::format("{}Errors of sums on {}, {}\n", style.markdown() ? "### " : "",
                      environment_text(first.environment), first.started_utc.substr(0, 10)));
    }
    last = &first;
    pieces.emplace_back(fmt::format(fmt::runtime(style.markdown() ? "**{}**\n" : "\n{}\n"),
                                    to_string(block.problem)));
    const Table table = table_of(block);
    if (!table.rows.empty()) pieces.push_back(render(table, style));
    std::vector<std::string> failed;
    for (const RecordedStudy* recorded : block.studies) {
      const Study& study = recorded->study;
      if (study.status == Status::kOk) continue;
      failed.push_back(fmt::format("{}, {}: {}: {}", study.label, sums_text(study),
                                   to_string(study.status),
                                   study.message.substr(0, study.message.find('\n'))));
    }
    if (!failed.empty()) pieces.push_back(list_text("Failed:", failed, style));
  }
  const std::vector<std::string> notes{
      "errors are those of D against the fp64 product of the operands as they are in memory, over "
      "the root mean square of that product",
      "signed mean: with the sign of the exact results; below zero, results are too small in "
      "magnitude",
      "cublas: cublasGemmEx, or with 8-bit operands the first choice of cuBLASLt's heuristic, with "
      "fast accumulation where the sums are fast"};
  pieces.push_back(list_text("Notes:", notes, style));
  return joined(pieces, style);
}

}  // namespace

std::string format_accuracy(std::span<const RecordedStudy> studies, const Style& style) {
  switch (style.format) {
    case Format::kTable:
    case Format::kMarkdown:
      return for_people(studies, style);
    case Format::kJson:
      return dump(Json(objects_of(studies)));
    case Format::kCsv:
      return as_csv(json_of({}, nullptr), objects_of(studies));
  }
  throw Error("an output format outside its enumeration");
}

}  // namespace hgemm
