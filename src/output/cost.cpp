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

/// Kinds of kernels differ in their terms. There is a column for each term that any of them has.
Piece table_of(std::span<const PredictedConfig> predictions, const Style& style) {
  std::vector<std::string_view> names;
  for (const PredictedConfig& prediction : predictions) {
    for (const CostTerm& term : prediction.cost.terms) {
      if (term.us != 0 && std::ranges::find(names, term.name) == names.end()) {
        names.push_back(term.name);
      }
    }
  }
  // All columns matter. Those that do not fit beside the config go below it.
  constexpr int kMatters = 1;
  Table table{.columns = {{.name = "config", .right = false, .fit = Table::Fit::kBelow, .rank = 0},
                          {.name = "us", .rank = kMatters},
                          {.name = "SM MHz", .rank = kMatters},
                          {.name = "W", .rank = kMatters},
                          {.name = "bound", .right = false, .rank = kMatters}},
              .rows = {}};
  for (const std::string_view name : names) {
    table.columns.push_back({.name = std::string(name), .rank = kMatters});
  }
  for (const PredictedConfig& prediction : predictions) {
    const Cost& cost = prediction.cost;
    Table::Row row = {
        prediction.label, fmt::format("{:.2f}", cost.us()), fmt::format("{:.0f}", cost.mhz),
        cost.watts > 0 ? fmt::format("{:.0f}", cost.watts) : "-", std::string(cost.bound)};
    for (const std::string_view name : names) {
      const auto& terms = prediction.cost.terms;
      const auto term = std::ranges::find(terms, name, &CostTerm::name);
      row.push_back(term == terms.end() ? "-" : fmt::format("{:.2f}", term->us));
    }
    table.rows.push_back(std::move(row));
  }
  return render(table, style);
}

}  // namespace

std::string format_costs(std::span<const PredictedConfig> predictions, const Style& style) {
  if (style.format == Format::kJson || style.format == Format::kCsv) {
    std::vector<Json> objects;
    for (const PredictedConfig& prediction : predictions) {
      objects.push_back(json_of(prediction));
      if (style.format == Format::kCsv) continue;
      objects.back()["terms"] = terms_of(prediction.cost);
      objects.back()["traffic"] = traffic_of(prediction.cost);
    }
    if (style.format == Format::kJson) return dump(Json(objects));
    return as_csv(json_of({}), objects);
  }
  std::vector<std::string> blocks;
  while (!predictions.empty()) {
    std::size_t same = 1;
    while (same < predictions.size() &&
           predictions[same].problem.same_problem(predictions[0].problem)) {
      ++same;
    }
    blocks.push_back(joined(
        std::vector<Piece>{fmt::format("{}{}:\n", style.markdown() ? "### " : "",
                                       for_reader(shape_text(predictions[0].problem), style)),
                           table_of(predictions.first(same), style)},
        style));
    predictions = predictions.subspan(same);
  }
  return fmt::format("{}", fmt::join(blocks, "\n"));
}

}  // namespace hgemm
