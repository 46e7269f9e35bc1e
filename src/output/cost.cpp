#include "output/cost.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

Json json_of(const PredictedConfig& prediction) {
  Json json = problem_of(prediction.problem);
  json["label"] = prediction.label;
  json["predicted_us"] = number(prediction.cost.us());
  json["bound"] = prediction.cost.bound;
  json["sm_mhz"] = number(prediction.cost.mhz);
  json["power_w"] = prediction.cost.watts > 0 ? number(prediction.cost.watts) : Json();
  return json;
}

Json traffic_of(const Cost& cost) {
  if (cost.watts == 0) return {};
  return {{"flops", number(cost.traffic.flops)},
          {"smem_bytes", number(cost.traffic.smem_bytes)},
          {"l2_bytes", number(cost.traffic.l2_bytes)},
          {"dram_bytes", number(cost.traffic.dram_bytes)}};
}

Json terms_of(const Cost& cost) {
  Json terms = Json::object();
  for (const CostTerm& term : cost.terms) terms[std::string(term.name)] = number(term.us);
  return terms;
}

/// Kernels of other kinds have other terms; a column for each that any has.
std::string table_of(std::span<const PredictedConfig> predictions, bool markdown) {
  std::vector<std::string_view> names;
  for (const PredictedConfig& prediction : predictions) {
    for (const CostTerm& term : prediction.cost.terms) {
      if (term.us != 0 && std::ranges::find(names, term.name) == names.end()) {
        names.push_back(term.name);
      }
    }
  }
  Table table{.columns = {{"config", false}, {"us"}, {"SM MHz"}, {"W"}, {"bound", false}},
              .rows = {}};
  for (const std::string_view name : names) table.columns.push_back({std::string(name)});
  for (const PredictedConfig& prediction : predictions) {
    const Cost& cost = prediction.cost;
    std::vector<std::string> row = {
        prediction.label, fmt::format("{:.2f}", cost.us()), fmt::format("{:.0f}", cost.mhz),
        cost.watts > 0 ? fmt::format("{:.0f}", cost.watts) : "-", std::string(cost.bound)};
    for (const std::string_view name : names) {
      const auto& terms = prediction.cost.terms;
      const auto term = std::ranges::find(terms, name, &CostTerm::name);
      row.push_back(term == terms.end() ? "-" : fmt::format("{:.2f}", term->us));
    }
    table.rows.push_back(std::move(row));
  }
  return render(table, markdown);
}

}  // namespace

std::string format_costs(std::span<const PredictedConfig> predictions, Format format) {
  if (format == Format::kJson || format == Format::kCsv) {
    std::vector<Json> objects;
    for (const PredictedConfig& prediction : predictions) {
      objects.push_back(json_of(prediction));
      if (format == Format::kCsv) continue;
      objects.back()["terms"] = terms_of(prediction.cost);
      objects.back()["traffic"] = traffic_of(prediction.cost);
    }
    if (format == Format::kJson) return dump(Json(objects));
    return as_csv(json_of({}), objects);
  }
  std::vector<std::string> blocks;
  while (!predictions.empty()) {
    std::size_t same = 1;
    while (same < predictions.size() &&
           predictions[same].problem.same_problem(predictions[0].problem)) {
      ++same;
    }
    const bool markdown = format == Format::kMarkdown;
    blocks.push_back(fmt::format("{}{}:\n", markdown ? "### " : "",
                                 for_reader(shape_text(predictions[0].problem), markdown)) +
                     (markdown ? "\n" : "") + table_of(predictions.first(same), markdown));
    predictions = predictions.subspan(same);
  }
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace hgemm
