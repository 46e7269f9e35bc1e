// A counted space as text: what is valid, what each rule rejects, and the trials of each shape.
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

/// What a space would mean for a problem.
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

/// The members of the JSON object, and those of its shapes.
std::span<const Field<SpacePlan>> plan_fields();
std::span<const Field<PlannedShape>> planned_shape_fields();

/// table, md or json; csv, of which there would be several, is as table.
std::string format_plan(const SpacePlan& plan, const Style& style);

}  // namespace hgemm
