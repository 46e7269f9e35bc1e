// A counted space as text: the valid points, what each rule rejects, and the trials of each shape.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gemm/problem.h"
#include "output/fields.h"
#include "output/style.h"
#include "search/space.h"
#include "tune/forecast.h"

namespace hgemm {

/// The size of a space for one problem.
struct PlannedShape {
  GemmProblem problem;
  std::int64_t configs = 0;           ///< valid points that suit the problem
  std::string unsupported = "";       ///< why no kernel can compute the problem; empty if one can
  std::optional<double> race_s = {};  ///< predicted time of its race on one GPU
};

/// The predicted cost of tuning the shapes on GPUs of a device.
struct PlannedSweep {
  std::string device, budget;
  SweepForecast forecast;
};

struct SpacePlan {
  std::string space;  ///< its name
  SpaceCount points;
  std::vector<PlannedShape> shapes;
  std::optional<PlannedSweep> sweep = {};
};

/// The members of the JSON object, of its shapes, and of its sweep.
std::span<const Field<SpacePlan>> plan_fields();
std::span<const Field<PlannedShape>> planned_shape_fields();
std::span<const Field<PlannedSweep>> planned_sweep_fields();

/// Formats as table, md or json. csv would need several tables, so it gives the same as table.
std::string format_plan(const SpacePlan& plan, const Style& style);

}  // namespace hgemm
