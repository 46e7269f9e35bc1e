#include "output/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "output/json.h"
#include "output/table.h"
#include "output/text.h"

namespace hgemm {
namespace {

Json json_of(const ReplayRow& row) {
  Json json = problem_of(row.problem);
  json["regime"] = to_string(row.regime);
  json["gpu"] = row.gpu_name;
  json["strategy"] = row.strategy;
  json["configs"] = row.configs;
  json["measured"] = row.measured;
  json["measured_fraction"] = number(row.measured_fraction());
  json["known"] = row.known ? Json(*row.known) : Json();
  json["reached"] = row.reached ? Json(*row.reached) : Json();
  json["best_fraction"] = number(row.best_fraction);
  json["worst_fraction"] = number(row.worst_fraction);
  json["found"] = row.found;
  json["best"] = row.best;
  return json;
}

std::string fraction(double value) { return fmt::format("{:.4f}", value); }

std::string text(const std::optional<std::size_t>& count) {
  return count ? std::to_string(*count) : "-";
}

void remove_columns(Table& table, std::ptrdiff_t begin, std::ptrdiff_t end) {
  const auto remove = [&](auto& cells) { cells.erase(cells.begin() + begin, cells.begin() + end); };
  remove(table.columns);
  for (Table::Row& row : table.rows) remove(row);
  for (Table::Summary& summary : table.summaries) remove(summary.cells);
}

/// Summaries of the rows of one strategy.
std::vector<Table::Row> summaries_of(std::span<const ReplayRow> rows, const std::string& strategy) {
  double log_sum = 0;
  double share = 0;
  int count = 0;
  int reached = 0;
  double least = 1;
  double worst = 1;
  for (const ReplayRow& row : rows) {
    if (row.strategy != strategy) continue;
    log_sum += std::log(row.best_fraction);
    share += row.measured_fraction();
    least = std::min(least, row.best_fraction);
    worst = std::min(worst, row.worst_fraction);
    if (row.reached) ++reached;
    ++count;
  }
  return {{"", "", "", "", "", fmt::format("{:.1f}", 100 * share / count), "",
           fmt::format("{} rows", reached), fraction(std::exp(log_sum / count)), "", ""},
          {"", "", "", "", "", "", "", "", fraction(least), fraction(worst), ""}};
}

Table table_of(std::span<const ReplayRow> rows) {
  Table table{.columns = {{"shape", false},
                          {"regime", false},
                          {"strategy", false},
                          {"configs"},
                          {"measured"},
                          {"%"},
                          {"known"},
                          {"within 1 % after"},
                          {"of the best"},
                          {"worst seed"},
                          {"found", false}},
              .rows = {}};
  std::vector<std::string> names;
  for (const ReplayRow& row : rows) {
    if (std::ranges::find(names, row.strategy) == names.end()) names.push_back(row.strategy);
    table.rows.push_back({to_string(row.problem), std::string(to_string(row.regime)), row.strategy,
                          std::to_string(row.configs), std::to_string(row.measured),
                          fmt::format("{:.1f}", 100 * row.measured_fraction()), text(row.known),
                          text(row.reached), fraction(row.best_fraction),
                          fraction(row.worst_fraction), row.found});
  }
  for (const std::string& name : names) {
    const auto count = std::ranges::count(rows, name, &ReplayRow::strategy);
    std::vector<Table::Row> cells = summaries_of(rows, name);
    table.summaries.push_back(
        {fmt::format("geomean of {}, {} rows", name, count), std::move(cells[0])});
    table.summaries.push_back({fmt::format("least of {}", name), std::move(cells[1])});
  }
  // Replays of recorded configs have no use for some columns.
  const bool whole =
      std::ranges::any_of(rows, [](const auto& row) { return row.known.has_value(); });
  if (!whole) remove_columns(table, 6, 8);
  return table;
}

}  // namespace

std::string format_replay(std::span<const ReplayRow> rows, const Style& style) {
  if (!for_programs(style.format)) {
    return joined(std::vector{render(table_of(rows), style)}, style);
  }
  std::vector<Json> objects;
  for (const ReplayRow& row : rows) objects.push_back(json_of(row));
  if (style.format == Format::kJson) return dump(Json(objects));
  return as_csv(json_of(ReplayRow{}), objects);
}

std::string format_portfolio(const Portfolio& portfolio, const Style& style) {
  double log_sum = 0;
  double least = 1;
  std::vector<Json> problems;
  Table table{.columns = {{"shape", false}, {"regime", false}, {"of the best"}, {"kernel", false}},
              .rows = {}};
  for (const Portfolio::Choice& choice : portfolio.choices) {
    log_sum += std::log(choice.fraction);
    least = std::min(least, choice.fraction);
    Json json = problem_of(choice.problem);
    json["regime"] = to_string(choice.regime);
    json["label"] = choice.label;
    json["best_fraction"] = number(choice.fraction);
    problems.push_back(std::move(json));
    table.rows.push_back({to_string(choice.problem), std::string(to_string(choice.regime)),
                          fraction(choice.fraction), choice.label});
  }
  const double geomean =
      std::exp(log_sum / std::max(1.0, static_cast<double>(portfolio.choices.size())));
  std::vector<std::string> uncovered;
  for (const GemmProblem& problem : portfolio.uncovered) uncovered.push_back(to_string(problem));
  if (style.format == Format::kCsv) {
    Json names = problem_of({});
    for (const char* name : {"regime", "label", "best_fraction"}) names[name] = nullptr;
    return as_csv(names, problems);
  }
  if (style.format == Format::kJson) {
    return dump({{"kernels", portfolio.kernels},
                 {"geomean", number(geomean)},
                 {"least", number(least)},
                 {"shapes", problems},
                 {"uncovered", uncovered}});
  }
  table.summaries.push_back({fmt::format("geomean of {} kernels", portfolio.kernels.size()),
                             {"", "", fraction(geomean), ""}});
  table.summaries.push_back({"least", {"", "", fraction(least), ""}});
  std::vector<Piece> pieces = {render(table, style)};
  if (!uncovered.empty()) {
    pieces.push_back(list_text("No kernel of these can compute:", uncovered, style));
  }
  return joined(pieces, style);
}

}  // namespace hgemm
