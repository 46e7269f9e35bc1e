// The sections that come from studies: the ladder, cycles, wgmma, and the order of tiles.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "emit/ladder.h"
#include "emit/probe.h"
#include "emit/report_parts.h"
#include "kernels/schedule.h"
#include "model/wgmma.h"
#include "space/label.h"
#include "space/words.h"
#include "study/ladder.h"

namespace hgemm::report {
namespace {

constexpr std::string_view kLadderPrefix = "ladder.";

bool of_ladder(const RecordedStudy& recorded) {
  return recorded.study.label.starts_with(kLadderPrefix);
}

std::vector<RecordedStudy> chosen(std::span<const RecordedStudy> studies, const auto& wanted) {
  std::vector<RecordedStudy> result;
  std::ranges::copy_if(studies, std::back_inserter(result), wanted);
  return result;
}

// ---- Ladder ----

/// Steps of one family that were timed at one shape.
struct Ladder {
  ladder::Family family;
  Shape shape;
  std::vector<LadderPoint> points;
};

/// By family as ladder_steps() has them, each at its shapes in the order of recording.
std::vector<Ladder> ladders_of(std::span<const RecordedStudy> studies) {
  std::vector<Ladder> ladders;
  for (const ladder::Step& step : ladder_steps()) {
    for (const RecordedStudy& recorded : studies) {
      const Study& study = recorded.study;
      if (study.kind != StudyKind::kLadder || !study.shape) continue;
      const auto point = parse_ladder_label(study.label);
      if (!point || point->step.family != step.family ||
          std::string_view(point->step.id) != step.id) {
        continue;
      }
      auto found = std::ranges::find_if(ladders, [&](const Ladder& ladder) {
        return ladder.family == step.family && ladder.shape.same_problem(*study.shape);
      });
      if (found == ladders.end()) {
        found = ladders.insert(found, {step.family, *study.shape, {}});
      }
      found->points.push_back(*point);
    }
  }
  return ladders;
}

// ---- Order of tiles ----

struct Order {
  const char* name;
  TileOrder order;
  int group;
};
constexpr Order kOrders[] = {{"linear", TileOrder::kLinear, 0},
                             {"group8", TileOrder::kGroupedRows, 8},
                             {"hilbert", TileOrder::kHilbert, 0}};

/// A cluster's tile: what the ladder's last steps and most winners of large shapes have.
constexpr int kClusterTile = 256;

/// The order of a ladder step whose grid of tiles is the one above, in the words of a label:
/// kernels/ladder/08_clusters.cuh to 12_tma_store.cuh.
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

/// Rows of A and columns of B that the clusters of a wave read, once each.
double wave_bytes(const Order& order, TileGrid grid, int clusters, const Shape& shape) {
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
             static_cast<double>(shape.k) * element_bytes(shape.dtype);
  }
  return bytes / waves;
}

Json order_json(const Order& order, TileGrid grid, int clusters, const Shape& shape) {
  std::vector<int> positions(static_cast<std::size_t>(grid.tiles()));
  for (int i = 0; i < grid.tiles(); ++i) {
    const TileCoord at = tile_at(order.order, order.group, i, grid);
    positions[static_cast<std::size_t>(at.m * grid.n + at.n)] = i;
  }
  return {{"name", order.name},
          {"positions", positions},
          {"wave_bytes", wave_bytes(order, grid, clusters, shape)}};
}

/// Which SM computed which tile when, of the SMs that a timeline holds.
Json recorded_order(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  KernelConfig config = parse_label(study.label);
  config.probe = false;
  const Shape& shape = *study.shape;
  const TileGrid grid = tile_grid(static_cast<int>(shape.m), static_cast<int>(shape.n), config);
  struct Cell {
    std::set<int> sms;
    double start_ns = 0, end_ns = 0;
  };
  std::map<int, Cell> cells;
  for (const Span& span : study.spans) {
    if (span.tile < 0 || span.phase != "main_loop") continue;
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
          {"shape", to_string(shape)},
          {"rows", grid.m},
          {"columns", grid.n},
          {"started_utc", recorded.started_utc},
          {"command", recorded.command_line},
          {"cells", list}};
}

bool has_tiles(const RecordedStudy& recorded) {
  return recorded.study.kind == StudyKind::kProbe && recorded.study.shape && !of_ladder(recorded) &&
         std::ranges::any_of(recorded.study.spans,
                             [](const Span& span) { return span.phase == "main_loop"; });
}

/// The newest timeline, and the newest of another order at its shape.
std::vector<const RecordedStudy*> timelines_to_compare(const Known& known) {
  std::vector<const RecordedStudy*> all;
  for (const RecordedStudy& recorded : known.studies) {
    if (has_tiles(recorded)) all.push_back(&recorded);
  }
  std::ranges::reverse(all);  // of those of one second the last
  std::ranges::stable_sort(all, std::greater<>(), &RecordedStudy::started_utc);
  if (all.empty()) return all;
  const Study& newest = all.front()->study;
  const auto other = std::ranges::find_if(all, [&](const RecordedStudy* recorded) {
    return recorded->study.shape->same_problem(*newest.shape) &&
           order_of(recorded->study.label) != order_of(newest.label);
  });
  if (other == all.end()) return {all.front()};
  return {all.front(), *other};
}

std::optional<double> l2_hit_rate(const RecordedStudy& recorded) {
  if (recorded.study.kind != StudyKind::kCounters || recorded.study.status != Status::kOk) {
    return std::nullopt;
  }
  for (const CounterFigure& figure : recorded.study.counters) {
    if (figure.metric == "l2_hit_rate") return figure.value;
  }
  return std::nullopt;
}

TileGrid grid_of_orders(const Shape& shape) {
  return {ceil_div(static_cast<int>(shape.m), kClusterTile),
          ceil_div(static_cast<int>(shape.n), kClusterTile)};
}

/// With a wave or two any order is as good as another.
constexpr int kFewTiles = 160;
/// Positions in the order are 32-bit.
constexpr std::int64_t kLargestExtent = 1 << 20;

/// The largest shape whose L2 hits were counted for an order that is drawn, else the largest that
/// was measured at all.
std::optional<Shape> shape_of_orders(const Known& known) {
  std::optional<Shape> counted, largest;
  const auto keep = [](std::optional<Shape>& best, const Shape& shape) {
    if (shape.m > kLargestExtent || shape.n > kLargestExtent) return;
    if (grid_of_orders(shape).tiles() < kFewTiles) return;
    if (!best || shape.flops() > best->flops()) best = shape;
  };
  for (const RecordedStudy& recorded : known.studies) {
    if (!recorded.study.shape) continue;
    keep(largest, *recorded.study.shape);
    if (l2_hit_rate(recorded) && !order_of(recorded.study.label).empty()) {
      keep(counted, *recorded.study.shape);
    }
  }
  for (const RecordedRace& race : known.races) keep(largest, race.race.shape);
  return counted ? counted : largest;
}

}  // namespace

Json ladder_section(const Known& known) {
  const auto ladders = ladders_of(known.studies);
  if (ladders.empty()) {
    return missing("No step of the ladder was timed.", "hgemm-tune ladder");
  }
  Source source;
  Json list = Json::array();
  for (const Ladder& one : ladders) {
    const auto rows = ladder_rows(one.points, one.shape, known.studies);
    const RecordedStudy* timing = nullptr;
    for (const RecordedStudy& recorded : known.studies) {
      if (!of_ladder(recorded) || !recorded.study.shape ||
          !recorded.study.shape->same_problem(one.shape)) {
        continue;
      }
      const auto point = parse_ladder_label(recorded.study.label);
      if (!point || point->step.family != one.family) continue;
      if (recorded.study.kind == StudyKind::kLadder) timing = &recorded;
      source.add(recorded);
    }
    // The environment of the newest timing; ladder_rows() has those of each one together.
    std::vector<LadderRow> newest;
    std::ranges::copy_if(rows, std::back_inserter(newest), [&](const LadderRow& row) {
      return timing != nullptr && row.environment.same_conditions(timing->environment);
    });
    std::optional<double> cublas;
    std::optional<Regime> regime;
    for (const LadderRow& row : newest) {
      if (row.cublas_time_us) cublas = row.shape.flops() / *row.cublas_time_us * 1e-6;
    }
    if (timing != nullptr && !timing->study.samples.empty()) {
      regime =
          timing->study.samples.front().pace == Pace::kRested ? Regime::kBurst : Regime::kSustained;
      source.add_regime(*regime);
    }
    list.push_back({{"family", to_string(one.family)},
                    {"shape", to_string(one.shape)},
                    {"m", one.shape.m},
                    {"n", one.shape.n},
                    {"k", one.shape.k},
                    {"dtype", to_string(one.shape.dtype)},
                    {"regime", regime ? Json(to_string(*regime)) : Json()},
                    {"cublas_tflops", number(cublas)},
                    {"steps", Json::parse(format_ladder(newest, Format::kJson))}});
  }
  return {{"source", source.json()}, {"ladders", list}};
}

Json cycles_section(const Known& known) {
  const auto probes = chosen(known.studies, [](const RecordedStudy& recorded) {
    return recorded.study.kind == StudyKind::kProbe && recorded.study.status == Status::kOk &&
           recorded.study.shape && !of_ladder(recorded) && !recorded.study.cycles.empty();
  });
  if (probes.empty()) {
    return missing("No kernel was looked into with cycle stamps.",
                   "hgemm-tune probe --shapes 8192x8192x8192");
  }
  Source source;
  Json list = Json::parse(format_probe(probes, Format::kJson));
  for (std::size_t i = 0; i < probes.size(); ++i) {
    source.add(probes[i]);
    const KernelConfig config = parse_label(probes[i].study.label);
    const int wgmmas = config.bm * config.bn / (kMmaM * mma_n(config)) * (config.bk / kMmaK);
    list[i]["shape"] = to_string(*probes[i].study.shape);
    list[i]["mma_cycles_needed"] =
        known.device == nullptr
            ? Json()
            : number(wgmmas * wgmma_cycles(*known.device, {}, mma_n(config)).cycles());
  }
  return {{"source", source.json()}, {"probes", list}};
}

Json wgmma_section(const Known& known) {
  Source source;
  Json points = Json::array();
  for (const RecordedStudy& recorded : known.studies) {
    for (const MeasuredWgmma& measured : measured_wgmma({&recorded, 1})) {
      const WgmmaForm& form = measured.form;
      if (form.input != MmaInput::kBf16 || form.f16_accumulators) continue;
      source.add(recorded);
      points.push_back({{"n", measured.n},
                        {"cycles", measured.cycles},
                        {"a_in_registers", form.a_in_registers}});
    }
  }
  if (points.empty()) {
    return missing("The cycles of wgmma were not measured.", "hgemm-tune micro --only wgmma");
  }
  Json devices = Json::array();
  for (const Device& device : known.devices) {
    const bool here = &device == known.device;
    if (!here && device.name != "H800" && device.name != "H20") continue;
    Json n_values = Json::array(), read = Json::array(), compute = Json::array();
    for (int n = kWgmmaStepN; n <= kWgmmaMaxN; n += kWgmmaStepN) {
      const WgmmaCycles cycles = wgmma_cycles(device, {}, n);
      n_values.push_back(n);
      read.push_back(cycles.read);
      compute.push_back(cycles.compute);
    }
    const auto threshold = compute_bound_from(device, {});
    devices.push_back({{"name", device.name},
                       {"this_gpu", here},
                       {"threshold", threshold ? Json(*threshold) : Json()},
                       {"n", n_values},
                       {"read", read},
                       {"compute", compute}});
  }
  return {{"source", source.json()}, {"devices", devices}, {"measured", points}};
}

Json tile_order_section(const Known& known) {
  const auto shape = shape_of_orders(known);
  if (!shape) {
    return missing("No shape was recorded whose tiles take several waves.",
                   "hgemm-tune counters --shapes 8192x8192x8192");
  }
  const TileGrid grid = grid_of_orders(*shape);
  const int sms = known.device != nullptr ? static_cast<int>(known.device->sms.value) : 132;
  const int clusters = sms / 2;
  Json orders = Json::array();
  for (const Order& order : kOrders) orders.push_back(order_json(order, grid, clusters, *shape));

  Source source;
  Json l2 = Json::array();
  for (const RecordedStudy& recorded : known.studies) {
    const auto hit_rate = l2_hit_rate(recorded);
    if (!hit_rate || !recorded.study.shape || !recorded.study.shape->same_problem(*shape)) continue;
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
  return {{"source", source.json()}, {"shape", to_string(*shape)},
          {"m", shape->m},           {"n", shape->n},
          {"k", shape->k},           {"tile_m", kClusterTile},
          {"tile_n", kClusterTile},  {"rows", grid.m},
          {"columns", grid.n},       {"clusters", clusters},
          {"orders", orders},        {"l2", l2},
          {"recorded", timelines}};
}

}  // namespace hgemm::report
