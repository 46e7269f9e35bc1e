// A counted space as text: the valid points, what each rule rejects, and the trials of each shape.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gemm/problem.h"
#include "output/fields.h"
#include "output/style.h"
#include "search/space.h"

namespace hgemm {

/// The size of a space for one problem.
struct PlannedShape {
  GemmProblem problem;
  std::int64_t configs = 0;      ///< valid points that suit the problem
  std::string unsupported = "";  ///< why no kernel can compute the problem; empty if one can
};

struct SpacePlan {
  std::string space;  ///< its name
  Enumeration points;
  std::vector<PlannedShape> shapes;
};

/// The members of the JSON object, and the members of its shapes.
std::span<const Field<SpacePlan>> plan_fields();
std::span<const Field<PlannedShape>> planned_shape_fields();

/// Formats as table, md or json. csv would need several tables, so it gives the same as table.
std::string format_plan(const SpacePlan& plan, const Style& style);

}  // namespace hgemm
