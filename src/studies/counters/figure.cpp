#include "studies/counters/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "families/family.h"
#include "gemm/codec.h"
#include "kernels/tiled/tile_scheduler.h"
#include "studies/counters/counter_set.h"
#include "studies/ladder/ladder.h"
#include "studies/probe/cycles.h"

namespace hgemm {
namespace {

struct Order {
  const char* name;
  TileOrder order;
  int group;
};
constexpr Order kOrders[] = {{"linear", TileOrder::kLinear, 0},
                             {"group8", TileOrder::kGroupedRows, 8},
                             {"hilbert", TileOrder::kHilbert, 0}};

/// Extents of a cluster's tile in the ladder's last steps and in most winners of large problems.
constexpr int kClusterTile = 256;

/// The order of a ladder step with the grid of tiles above, as labels spell it
/// (kernels/studies/ladder/08_clusters.cuh to 12_tma_store.cuh).
std::string order_of_step(const ladder::Step& step) {
  const std::string_view id = step.id;
  if (step.family != ladder::Family::kHopper) return "";
  if (id == "08" || id == "09") return "group8";
  if (id == "11" || id == "12") return "hilbert";
  return "";
}

std::string order_of(const std::string& study_label) {
  if (const auto point = parse_ladder_label(study_label)) return order_of_step(point->step);
  if (is_baseline(study_label)) return "";
  const std::string text = label(parse_label(study_label));
  for (const Order& order : kOrders) {
    if (text.find(fmt::format(".{}.", order.name)) != std::string::npos) return order.name;
  }
  return "";
}

/// Bytes of A's rows and B's columns that the clusters of a wave read, each counted once.
double wave_bytes(const Order& order, TileGrid grid, int clusters, const GemmProblem& problem) {
  double bytes = 0;
  int waves = 0;
  for (int first = 0; first < grid.tiles(); first += clusters, ++waves) {
    std::set<int> rows, columns;
    for (int i = first; i < std::min(first + clusters, grid.tiles()); ++i) {
      const TileCoord at = tile_at(order.order, order.group, i, grid);
      rows.insert(at.m);
      columns.insert(at.n);
    }
    bytes += static_cast<double>(rows.size() + columns.size()) * kClusterTile *
             static_cast<double>(problem.k) * element_bytes(problem.a_type);
  }
  return bytes / waves;
}

Json order_json(const Order& order, TileGrid grid, int clusters, const GemmProblem& problem) {
  std::vector<int> positions(static_cast<std::size_t>(grid.tiles()));
  for (int i = 0; i < grid.tiles(); ++i) {
    const TileCoord at = tile_at(order.order, order.group, i, grid);
    positions[static_cast<std::size_t>(at.m * grid.n + at.n)] = i;
  }
  return {{"name", order.name},
          {"positions", positions},
          {"wave_bytes", wave_bytes(order, grid, clusters, problem)}};
}

TileGrid grid_of(const Study& study) {
  return tile_grid(static_cast<int>(study.problem->m), static_cast<int>(study.problem->n),
                   std::get<TiledConfig>(parse_label(study.label)));
}

bool is_of_tile(const Span& span, TileGrid grid) {
  return span.phase == "main_loop" && span.tile >= 0 && span.tile < grid.tiles();
}

/// For each tile: the SM that computed it and when, for the SMs in a timeline.
Json recorded_order(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  auto config = std::get<TiledConfig>(parse_label(study.label));
  config.probe = false;
  const GemmProblem& problem = *study.problem;
  const TileGrid grid = grid_of(study);
  struct Cell {
    std::set<int> sms;
    double start_ns = 0, end_ns = 0;
  };
  std::map<int, Cell> cells;
  for (const Span& span : study.spans) {
    if (!is_of_tile(span, grid)) continue;
    const auto [cell, fresh] = cells.try_emplace(span.tile);
    cell->second.sms.insert(span.sm);
    cell->second.start_ns = fresh ? span.start_ns : std::min(cell->second.start_ns, span.start_ns);
    cell->second.end_ns = std::max(cell->second.end_ns, span.end_ns);
  }
  Json list = Json::array();
  for (const auto& [position, cell] : cells) {
    const TileCoord at = tile_at(config.order, config.group, position, grid);
    list.push_back({{"row", at.m},
                    {"column", at.n},
                    {"position", position},
                    {"sms", cell.sms},
                    {"start_us", cell.start_ns * 1e-3},
                    {"end_us", cell.end_ns * 1e-3}});
  }
  return {{"label", label(config)},
          {"order", order_of(label(config))},
          {"shape", to_string(problem)},
          {"rows", grid.m},
          {"columns", grid.n},
          {"started_utc", recorded.started_utc},
          {"command", recorded.command_line},
          {"cells", list}};
}

bool has_tiles(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  if (study.kind != kProbeStudy || !study.problem || parse_ladder_label(study.label) ||
      study.spans.empty() || !has_stamped_config(study)) {
    return false;
  }
  const TileGrid grid = grid_of(study);
  return std::ranges::any_of(study.spans, [&](const Span& span) { return is_of_tile(span, grid); });
}

/// The newest timeline, and the newest one with another order at the same problem.
std::vector<const RecordedStudy*> timelines_to_compare(const report::Known& known) {
  std::vector<const RecordedStudy*> all;
  for (const RecordedStudy& recorded : known.studies) {
    if (has_tiles(recorded)) all.push_back(&recorded);
  }
  std::ranges::reverse(all);  // so that of studies in the same second the last one comes first
  std::ranges::stable_sort(all, std::greater<>(), &RecordedStudy::started_utc);
  if (all.empty()) return all;
  const Study& newest = all.front()->study;
  const auto other = std::ranges::find_if(all, [&](const RecordedStudy* recorded) {
    return recorded->study.problem->same_problem(*newest.problem) &&
           order_of(recorded->study.label) != order_of(newest.label);
  });
  if (other == all.end()) return {all.front()};
  return {all.front(), *other};
}

std::optional<double> l2_hit_rate(const RecordedStudy& recorded) {
  if (recorded.study.kind != kCountersStudy || recorded.study.status != Status::kOk) {
    return std::nullopt;
  }
  const auto found = std::ranges::find(recorded.study.figures, "l2_hit_rate", &Figure::metric);
  return found != recorded.study.figures.end() ? std::optional(found->value) : std::nullopt;
}

TileGrid grid_of_orders(const GemmProblem& problem) {
  return {ceil_div(static_cast<int>(problem.m), kClusterTile),
          ceil_div(static_cast<int>(problem.n), kClusterTile)};
}

/// With one or two waves all orders are equally good.
constexpr int kFewTiles = 160;
/// Positions in the order are 32-bit.
constexpr std::int64_t kLargestExtent = 1 << 20;

/// The largest problem for which L2 hits of a drawn order were counted; otherwise the largest
/// problem measured at all.
std::optional<GemmProblem> problem_of_orders(const report::Known& known) {
  std::optional<GemmProblem> counted, largest;
  const auto keep = [](std::optional<GemmProblem>& best, const GemmProblem& problem) {
    if (problem.m > kLargestExtent || problem.n > kLargestExtent) return;
    if (grid_of_orders(problem).tiles() < kFewTiles) return;
    if (!best || problem.flops() > best->flops()) best = problem;
  };
  for (const RecordedStudy& recorded : known.studies) {
    if (!recorded.study.problem) continue;
    keep(largest, *recorded.study.problem);
    if (l2_hit_rate(recorded) && !order_of(recorded.study.label).empty()) {
      keep(counted, *recorded.study.problem);
    }
  }
  for (const RecordedRace& race : known.races) keep(largest, race.race.problem);
  return counted ? counted : largest;
}

}  // namespace

Json tile_order_section(const report::Known& known) {
  const auto problem = problem_of_orders(known);
  if (!problem) {
    return report::missing("No shape was recorded whose tiles take several waves.",
                           "hgemm-tune counters --shapes 8192x8192x8192");
  }
  const TileGrid grid = grid_of_orders(*problem);
  const int sms = known.device != nullptr ? static_cast<int>(known.device->sms.value) : 132;
  const int clusters = sms / 2;
  Json orders = Json::array();
  for (const Order& order : kOrders) orders.push_back(order_json(order, grid, clusters, *problem));

  report::Source source;
  Json l2 = Json::array();
  for (const RecordedStudy& recorded : known.studies) {
    const auto hit_rate = l2_hit_rate(recorded);
    if (!hit_rate || !recorded.study.problem || !recorded.study.problem->same_problem(*problem))
      continue;
    const std::string order = order_of(recorded.study.label);
    if (order.empty()) continue;
    source.add(recorded);
    l2.push_back({{"label", recorded.study.label}, {"order", order}, {"hit_rate", *hit_rate}});
  }
  Json timelines = Json::array();
  for (const RecordedStudy* timeline : timelines_to_compare(known)) {
    source.add(*timeline);
    timelines.push_back(recorded_order(*timeline));
  }
  return {{"source", source.json()}, {"shape", to_string(*problem)},
          {"m", problem->m},         {"n", problem->n},
          {"k", problem->k},         {"tile_m", kClusterTile},
          {"tile_n", kClusterTile},  {"rows", grid.m},
          {"columns", grid.n},       {"clusters", clusters},
          {"orders", orders},        {"l2", l2},
          {"recorded", timelines}};
}

}  // namespace hgemm
