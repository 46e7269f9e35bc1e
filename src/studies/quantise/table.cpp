#include "studies/quantise/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "gemm/codec.h"
#include "output/json.h"
#include "output/table.h"
#include "output/text.h"
#include "studies/quantise/series.h"

namespace hgemm {
namespace {

/// Bytes that quantising moves at least: activations of 16 bits, A and its scales.
double moved_bytes(const GemmProblem& problem) {
  return 3 * problem.a_bytes() +
         static_cast<double>(problem.scales_of_a()) * element_bytes(DataType::kFp32);
}

std::optional<double> median_us(const std::vector<Sample>& samples) {
  return samples.empty() ? std::nullopt : std::optional(median(times_us(samples)));
}

// ---- For programs ----

void add_ratio(Json& json, const std::string& name, const std::optional<RoundsRatio>& ratio) {
  json[name] = ratio ? number(ratio->value) : Json();
  json[name + "_low"] = ratio ? number(ratio->interval.low) : Json();
  json[name + "_high"] = ratio ? number(ratio->interval.high) : Json();
}

Json json_of(const QuantiseRow& row) {
  const Study& study = row.recorded.study;
  Json json{{"problem", to_string(row.problem)},
            {"label", study.label},
            {"status", to_string(study.status)},
            {"message", study.message.empty() ? Json() : Json(study.message)},
            {"gemm_us", number(row.gemm_us)},
            {"gemm_quantised_us", number(row.gemm_after_us)},
            {"cublas_us", number(row.cublas_us)},
            {"cublas_quantised_us", number(row.cublas_after_us)},
            {"quantise_us", number(row.quantise_us)},
            {"quantise_tbps", number(row.tbps())},
            {"read_tbps", row.read_tbps ? number(row.read_tbps->value) : Json()}};
  add_ratio(json, "ratio_cublas", row.alone);
  add_ratio(json, "ratio_quantised", row.after);
  json["rounds"] = study.samples(kCublasLabel).size();
  json["gpu"] = row.recorded.environment.gpu_name;
  json["started_utc"] = row.recorded.started_utc;
  return json;
}

// ---- For people ----

std::string ratio_of(const std::optional<RoundsRatio>& ratio) {
  return ratio ? ratio_text(ratio->value, ratio->interval, Stage::kFinal) : "-";
}

Table table_of(std::span<const QuantiseRow* const> rows) {
  Table table;
  table.columns = {
      {"shape", false},     {"ours us"}, {"cuBLASLt us"},        {"x cuBLASLt"},
      {"quantise us"},      {"TB/s"},    {"quantise + ours us"}, {"quantise + cuBLASLt us"},
      {"x with quantising"}};
  for (const QuantiseRow* row : rows) {
    const Study& study = row->recorded.study;
    table.rows.push_back({to_string(row->problem),
                          study.status == Status::kOk ? optional_text(row->gemm_us, "{:.1f}")
                                                      : std::string(to_string(study.status)),
                          optional_text(row->cublas_us, "{:.1f}"), ratio_of(row->alone),
                          optional_text(row->quantise_us, "{:.1f}"),
                          optional_text(row->tbps(), "{:.2f}"),
                          optional_text(row->gemm_after_us, "{:.1f}"),
                          optional_text(row->cublas_after_us, "{:.1f}"), ratio_of(row->after)});
  }
  return table;
}

std::vector<std::string> notes_of(std::span<const QuantiseRow* const> rows) {
  std::vector<std::string> notes{
      "ours, cuBLASLt: the GEMM alone, whose A has 8 bits already; cuBLASLt is the first choice of "
      "its heuristic",
      "quantise: this program's kernel alone, which makes A and its scales from bf16 activations "
      "(the scale of a tensor is given). L2 does not hold them, unless the shape is small",
      "quantise + ...: the same kernel, then the GEMM, timed as one. The GEMM then finds in L2 "
      "what "
      "it holds of A",
      "TB/s: of quantising alone, by the bytes of activations, A and its scales"};
  const QuantiseRow& first = *rows.front();
  if (first.read_tbps) {
    notes.push_back(fmt::format("memory reads at {:g} TB/s ({})", first.read_tbps->value,
                                first.read_tbps->source));
  }
  for (const QuantiseRow* row : rows) {
    const Study& study = row->recorded.study;
    if (study.status == Status::kOk) continue;
    notes.push_back(fmt::format("{}: {}: {}", to_string(row->problem), to_string(study.status),
                                study.message.substr(0, study.message.find('\n'))));
  }
  return notes;
}

std::string block_of(std::span<const QuantiseRow* const> rows, const Style& style) {
  const RecordedStudy& first = rows.front()->recorded;
  std::vector<std::string> configs;
  for (const QuantiseRow* row : rows) {
    configs.push_back(fmt::format("{}: {}", to_string(row->problem), row->recorded.study.label));
  }
  const std::vector<Piece> pieces{
      fmt::format("{}Quantising on {}, {}\n", style.markdown() ? "### " : "",
                  environment_text(first.environment), first.started_utc.substr(0, 10)),
      render(table_of(rows), style), list_text("Kernels:", configs, style),
      list_text("Notes:", notes_of(rows), style)};
  return joined(pieces, style);
}

}  // namespace

std::optional<double> QuantiseRow::tbps() const {
  return quantise_us ? std::optional(moved_bytes(problem) / *quantise_us * 1e-6) : std::nullopt;
}

std::vector<QuantiseRow> quantise_rows(std::span<const RecordedStudy> studies,
                                       std::span<const Device> devices) {
  std::vector<QuantiseRow> rows;
  for (const RecordedStudy& recorded : studies) {
    const Study& study = recorded.study;
    if (!study.problem) continue;
    const std::vector<Sample>& ours = study.samples(kOurGemm);
    const std::vector<Sample>& ours_after = study.samples(kOurGemmAfter);
    const std::vector<Sample>& cublas = study.samples(kCublasLabel);
    const std::vector<Sample>& cublas_after = study.samples(kCublasAfter);
    QuantiseRow row{.recorded = recorded,
                    .problem = *study.problem,
                    .gemm_us = median_us(ours),
                    .gemm_after_us = median_us(ours_after),
                    .cublas_us = median_us(cublas),
                    .cublas_after_us = median_us(cublas_after),
                    .quantise_us = median_us(study.samples(kQuantisingAlone)),
                    .alone = ratio_by_round(cublas, ours),
                    .after = ratio_by_round(cublas_after, ours_after),
                    .read_tbps = {}};
    if (const Device* device = find_device(devices, recorded.environment.gpu_name)) {
      row.read_tbps = device->read_tbps;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string format_quantise(std::span<const QuantiseRow> rows, const Style& style) {
  if (style.format == Format::kJson || style.format == Format::kCsv) {
    std::vector<Json> objects;
    for (const QuantiseRow& row : rows) objects.push_back(json_of(row));
    if (style.format == Format::kCsv) return as_csv(json_of({}), objects);
    return dump(Json(objects));
  }
  std::vector<std::string> blocks;
  std::vector<const QuantiseRow*> left;
  for (const QuantiseRow& row : rows) left.push_back(&row);
  while (!left.empty()) {
    const RecordedStudy& first = left.front()->recorded;
    const auto others = std::ranges::stable_partition(
        left, [&](const QuantiseRow* row) { return same_session(row->recorded, first); });
    const auto size = left.size() - others.size();
    blocks.push_back(block_of(std::span(left).first(size), style));
    left.erase(left.begin(), others.begin());
  }
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace hgemm
