#include <fmt/format.h>

#include <algorithm>

#include "gemm/codec.h"
#include "output/escape.h"
#include "output/export/formats.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

std::string day(const BestRow& row) { return row.started_utc.substr(0, row.started_utc.find('T')); }

std::string range(const std::string& low, const std::string& high) {
  return low == high ? low : fmt::format("{} to {}", low, high);
}

/// Flat, since CSV has the same fields.
Json library_json(const ExportRow& row) {
  const std::optional<Ratio>& ratio = row.best.cublaslt;
  Json json = {{"fastest", row.library ? row.library->label : *row.best.label},
               {"ratio_cublaslt", ratio ? number(ratio->value) : Json()},
               {"cublaslt_algorithm", nullptr},
               {"cublaslt_version", nullptr}};
  if (!row.library || row.library->kind != Fastest::kCublasLt) return json;
  if (row.library->algorithm) json["cublaslt_algorithm"] = to_string(*row.library->algorithm);
  if (row.library->version > 0) json["cublaslt_version"] = row.library->version;
  return json;
}

const char* what_runs(const ExportRow& row) {
  if (row.best.problem.exceeds_product()) return "ours";
  // With 8-bit operands cublas is cuBLASLt's first choice, and a handle of cuBLAS computes nothing.
  const bool has_cublas = !row.best.problem.has_8_bit_operands();
  if (calls_library(row)) {
    return row.library->kind == Fastest::kCublas && has_cublas ? "cuBLAS" : "cuBLASLt";
  }
  return row.gain || !has_cublas ? "ours" : "cuBLAS if linked";
}

}  // namespace

Json validity_json(const Validity& v) {
  return {{"gpu", v.gpu_name},
          {"compute_capability", fmt::format("{}.{}", v.compute_major, v.compute_minor)},
          {"sm_count", v.sm_count},
          {"driver", {{"min", v.driver_min}, {"max", v.driver_max}}},
          {"cuda", {{"min", v.cuda_min}, {"max", v.cuda_max}}},
          {"measured_kernel_hashes", v.measured_kernels},
          {"kernel_hash", v.kernel_hash},
          {"hgemm_tune", v.revision}};
}

Json row_json(const ExportRow& row, bool with_cublaslt) {
  const BestRow& best = row.best;
  Json json = problem_of(best.problem);
  json["problem"] = to_string(best.problem);
  json["d_dtype"] = to_string(best.problem.d_type);
  const auto of = [&](double Interval::*bound) {
    return best.cublas ? number(best.cublas->interval.*bound) : Json();
  };
  json.update(Json{{"tag", best.problem.tag},
                   {"label", *best.label},
                   {"time_us", number(best.time_us)},
                   {"tflops", number(best.tflops)},
                   {"cublas_time_us", number(best.cublas_time_us)},
                   {"ratio_cublas", best.cublas ? number(best.cublas->value) : Json()},
                   {"ratio_cublas_low", of(&Interval::low)},
                   {"ratio_cublas_high", of(&Interval::high)},
                   {"gain", row.gain},
                   {"fraction_of_best", number(row.fraction)},
                   {"regime", to_string(best.regime)},
                   {"effort", best.brief ? "brief" : "full"},
                   {"sm_mhz", number(best.sm_mhz)},
                   {"measured_on", day(best)},
                   {"driver", best.environment.driver},
                   {"cuda", best.environment.cuda},
                   {"cublas", best.environment.cublas},
                   {"kernel_id", best.kernel_id},
                   {"kernel_hash", best.run.kernel_sources},
                   {"command", row.command()}});
  if (with_cublaslt) json.update(library_json(row));
  return json;
}

void add_plan(const ExportPlan& plan, Json& json) {
  std::vector<Json> left_out, replaced;
  for (const auto& [problem, reason] : plan.left_out) {
    left_out.push_back({{"shape", to_string(problem)}, {"reason", reason}});
  }
  for (const ExportPlan::Replaced& one : plan.replaced) {
    replaced.push_back({{"shape", to_string(one.problem)},
                        {"winner", one.winner},
                        {"reason", one.reason},
                        {"fraction_of_winner", number(one.fraction)}});
  }
  json["replaced"] = replaced;
  json["left_out"] = left_out;
}

ExportFile table_json(const ExportPlan& plan, const Validity& validity) {
  std::vector<Json> rows;
  for (const ExportRow& row : plan.rows) rows.push_back(row_json(row, plan.with_cublaslt));
  Json json = {{"schema", "hgemm-tune export 1"},
               {"valid_for", validity_json(validity)},
               {"regime", to_string(plan.regime)},
               {"pdl", to_string(plan.allowed.pdl)},
               {"batch_invariant", plan.allowed.batch_invariant},
               {"rows", rows}};
  add_plan(plan, json);
  return {"hgemm_tuned.json", dump(json)};
}

/// Starts with comment lines, which CSV readers can be told to skip.
ExportFile table_csv(const ExportPlan& plan, const Validity& validity) {
  const std::string text = "# hgemm-tune export 1\n" + comment_lines(validity_json(validity));
  std::vector<Json> rows;
  for (const ExportRow& row : plan.rows) rows.push_back(row_json(row, plan.with_cublaslt));
  return {"hgemm_tuned.csv", text + as_csv(rows.front(), rows)};
}

std::string validity_markdown(const Validity& v) {
  std::string measured;
  for (const std::string& hash : v.measured_kernels) {
    measured += (measured.empty() ? "" : ", ") + hash.substr(0, 12);
  }
  return fmt::format(
      "| valid for | |\n"
      "|---|---|\n"
      "| GPU | {}, compute capability {}.{}, {} SMs |\n"
      "| driver | measured with {} |\n"
      "| CUDA | measured with {} |\n"
      "| kernel sources | measured {}; exported {} |\n"
      "| hgemm-tune | {} |\n",
      markdown_cell(v.gpu_name), v.compute_major, v.compute_minor, v.sm_count,
      markdown_cell(range(v.driver_min, v.driver_max)),
      markdown_cell(range(v.cuda_min, v.cuda_max)), markdown_cell(measured),
      v.kernel_hash.substr(0, 12), markdown_cell(v.revision));
}

std::string rows_markdown(const ExportPlan& plan) {
  Table table;
  table.columns = {{"shape", false}, {"tag", false},      {"config", false},
                   {"time us"},      {"TFLOP/s"},         {"x cuBLAS"},
                   {"runs", false},  {"measured", false}, {"again", false}};
  for (const ExportRow& row : plan.rows) {
    const BestRow& best = row.best;
    const std::string ratio =
        best.cublas ? ratio_text(best.cublas->value, best.cublas->interval, best.stage) : "-";
    table.rows.push_back({to_string(best.problem), best.problem.tag,
                          fmt::format("`{}`", *best.label), optional_text(best.time_us, "{:.2f}"),
                          optional_text(best.tflops, "{:.1f}"), ratio, what_runs(row),
                          fmt::format("{} {}", day(best), best.run.short_kernel_sources()),
                          fmt::format("`{}`", row.command())});
  }
  std::string text = render(table, Format::kMarkdown).text;
  const auto brief =
      std::ranges::count_if(plan.rows, [](const ExportRow& row) { return row.best.brief; });
  if (brief > 0) {
    text += fmt::format(
        "\n{} of {} were measured in brief, within a time budget: times and ratios may be some "
        "percent off. The commands on the right take their time.\n",
        brief, plan.rows.size());
  }
  if (!plan.left_out.empty()) {
    std::vector<std::string> lines;
    for (const auto& [problem, reason] : plan.left_out) {
      lines.push_back(fmt::format("{}: {}", to_string(problem), reason));
    }
    text += '\n' + list_text("Left out:", lines, Format::kMarkdown);
  }
  return text;
}

ExportFile table_markdown(const ExportPlan& plan, const Validity& validity) {
  return {"hgemm_tuned.md",
          fmt::format("# Tuned GEMM kernels, {}\n\n{}\n{}", to_string(plan.regime),
                      validity_markdown(validity), rows_markdown(plan))};
}

}  // namespace hgemm
