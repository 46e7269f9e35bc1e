#include "output/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "output/text.h"

namespace hgemm {
namespace {

using Fit = Table::Fit;

Json shapes_json(const SpacePlan& plan) {
  if (plan.shapes.empty()) return {};
  const auto fields = fields_of(planned_shape_fields(), Format::kJson);
  Json list = Json::array();
  for (const PlannedShape& shape : plan.shapes) {
    Json object = object_of(fields, shape);
    if (shape.unsupported.empty()) object.erase("unsupported");
    list.push_back(std::move(object));
  }
  return list;
}

Table rejected_of(const SpaceCount& points) {
  Table table;
  table.columns = {
      {"rejected"}, {"by rule", false}, {.name = "because", .right = false, .fit = Fit::kWrapped}};
  std::vector<std::pair<std::string, std::int64_t>> rejected(points.rejected.begin(),
                                                             points.rejected.end());
  std::ranges::stable_sort(rejected, std::ranges::greater{},
                           &std::pair<std::string, std::int64_t>::second);
  for (const auto& [rule, count] : rejected) {
    table.rows.push_back({std::to_string(count), rule, points.reasons.at(rule)});
  }
  return table;
}

Table axes_of_points(const SpaceCount& points) {
  Table table;
  table.columns = {{"axis", false},
                   {.name = "values among the valid points", .right = false, .fit = Fit::kWrapped}};
  for (const auto& [axis, values] : points.axes) {
    table.rows.push_back({axis, fmt::format("{}", fmt::join(values, " "))});
  }
  return table;
}

Table shapes_of(std::span<const PlannedShape> shapes) {
  Table table;
  table.columns = {{"shape", false},
                   {"trials"},
                   {"weight"},
                   {.name = "tag", .right = false, .fit = Fit::kWrapped}};
  std::int64_t trials = 0;
  for (const PlannedShape& shape : shapes) {
    trials += shape.configs;
    table.rows.push_back({to_string(shape.problem), std::to_string(shape.configs),
                          fmt::format("{}", shape.problem.weight),
                          shape.unsupported.empty()
                              ? Cell(shape.problem.tag)
                              : Cell("invalid_config: " + shape.unsupported, Tone::kBad)});
  }
  table.summaries.push_back({"together", {"", std::to_string(trials), "", ""}});
  return table;
}

Table table_of(const PlannedSweep& planned) {
  Table table;
  table.columns = {{"predicted sweep", false}, {"", false}};
  const SweepForecast& sweep = planned.forecast;
  table.rows = {
      {"races", fmt::format("{} at --budget {}, on {} {}", sweep.races, planned.budget, sweep.gpus,
                            planned.device)},
      {"compiling", fmt::format("{} kernels, {} of one core if none is in a cache", sweep.kernels,
                                duration_text(sweep.compile_core_hours * 3600))},
      {"racing",
       fmt::format("{}, {:.2f} GPU hours", duration_text(sweep.hours * 3600), sweep.gpu_hours)},
      {"energy", fmt::format("at most {:.2f} kWh of the GPUs", sweep.kwh)},
  };
  return table;
}

}  // namespace

std::span<const Field<SpacePlan>> plan_fields() {
  using F = Field<SpacePlan>;
  static const std::vector<F> kFields = {
      F::of("space", "text", "", "the name of the space", "",
            [](const SpacePlan& plan) { return Json(plan.space); }),
      F::of("valid", "integer", "", "points that a kernel can be built of", "",
            [](const SpacePlan& plan) { return Json(plan.points.valid); }),
      F::of("estimated", "boolean", "",
            "whether these numbers and those of the shapes are estimates, as of the whole space",
            "", [](const SpacePlan& plan) { return Json(plan.points.estimated); }),
      F::of("rejected", "object", "", "for each rule that any point breaks first, how many do", "",
            [](const SpacePlan& plan) { return Json(plan.points.rejected); }),
      F::of("axes", "object", "", "for each axis its values among the valid points, as texts", "",
            [](const SpacePlan& plan) { return Json(plan.points.axes); }),
      F::of("shapes", "list of objects", "", "what the space means for each of --shapes",
            "no --shapes were given", shapes_json),
      F::of("sweep", "object", "", "what tuning the shapes takes", "--gpus was not given",
            [](const SpacePlan& plan) {
              return plan.sweep
                         ? object_of(fields_of(planned_sweep_fields(), Format::kJson), *plan.sweep)
                         : Json();
            }),
  };
  return kFields;
}

std::span<const Field<PlannedShape>> planned_shape_fields() {
  using F = Field<PlannedShape>;
  static const std::vector<F> kFields = {
      F::of("shape", "text", "", "the problem's key", "",
            [](const PlannedShape& shape) { return Json(to_string(shape.problem)); }),
      F::of("trials", "integer", "", "valid points that suit the problem", "",
            [](const PlannedShape& shape) { return Json(shape.configs); }),
      F::of("tag", "text", "", "where the problem comes from", "",
            [](const PlannedShape& shape) { return Json(shape.problem.tag); }),
      F::of("weight", "number", "", "how often it runs beside the others", "",
            [](const PlannedShape& shape) { return Json(shape.problem.weight); }),
      F::of("race_s", "number", "s", "predicted time of its race on one GPU",
            "--gpus was not given",
            [](const PlannedShape& shape) { return shape.race_s ? Json(*shape.race_s) : Json(); }),
      F::of("unsupported", "text", "", "why no kernel can compute the problem",
            "left out: a kernel can",
            [](const PlannedShape& shape) { return Json(shape.unsupported); }),
  };
  return kFields;
}

std::span<const Field<PlannedSweep>> planned_sweep_fields() {
  using F = Field<PlannedSweep>;
  static const std::vector<F> kFields = {
      F::of("device", "text", "", "the model of the GPUs", "",
            [](const PlannedSweep& sweep) { return Json(sweep.device); }),
      F::of("budget", "text", "", "the configs of each shape, as --budget says them", "",
            [](const PlannedSweep& sweep) { return Json(sweep.budget); }),
      F::of("gpus", "integer", "", "number of GPUs", "",
            [](const PlannedSweep& sweep) { return Json(sweep.forecast.gpus); }),
      F::of("races", "integer", "", "races, one for each shape and regime", "",
            [](const PlannedSweep& sweep) { return Json(sweep.forecast.races); }),
      F::of("kernels", "integer", "", "kernels to compile, if none is in a cache", "",
            [](const PlannedSweep& sweep) { return Json(sweep.forecast.kernels); }),
      F::of("compile_core_hours", "number", "h", "time of one CPU core for all kernels", "",
            [](const PlannedSweep& sweep) { return Json(sweep.forecast.compile_core_hours); }),
      F::of("gpu_hours", "number", "h", "time of one GPU for all races", "",
            [](const PlannedSweep& sweep) { return Json(sweep.forecast.gpu_hours); }),
      F::of("hours", "number", "h", "time of the races on all GPUs, after compiling", "",
            [](const PlannedSweep& sweep) { return Json(sweep.forecast.hours); }),
      F::of("kwh", "number", "kWh", "energy of the GPUs, racing at their power limit", "",
            [](const PlannedSweep& sweep) { return Json(sweep.forecast.kwh); }),
  };
  return kFields;
}

std::string format_plan(const SpacePlan& plan, const Style& style) {
  if (style.format == Format::kJson) {
    return dump(object_of(fields_of(plan_fields(), style), plan));
  }
  std::int64_t rejections = 0;
  for (const auto& [rule, count] : plan.points.rejected) rejections += count;
  std::vector<Piece> pieces = {
      fmt::format("space {}: {}{} valid points, {} rejected\n", for_reader(plan.space, style),
                  plan.points.estimated ? "about " : "", plan.points.valid, rejections)};
  const auto add = [&](const Table& table) {
    if (!style.markdown()) pieces.emplace_back("\n");
    pieces.push_back(render(table, style));
  };
  if (!plan.points.rejected.empty()) add(rejected_of(plan.points));
  add(axes_of_points(plan.points));
  if (!plan.shapes.empty()) add(shapes_of(plan.shapes));
  if (plan.sweep) add(table_of(*plan.sweep));
  return joined(pieces, style);
}

}  // namespace hgemm
