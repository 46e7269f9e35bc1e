// The output fields of a compared row.
#pragma once

#include <span>
#include <string_view>

#include "output/fields.h"
#include "results/compare.h"

namespace hgemm {

using ComparedField = Field<ComparedRow>;

/// In the order of JSON and CSV.
std::span<const ComparedField> compared_fields();

using RepeatabilityField = Field<Repeatability>;
std::span<const RepeatabilityField> repeatability_fields();

/// The members of the JSON object, except its rows.
using ComparisonField = Field<Comparison>;
std::span<const ComparisonField> comparison_fields();

/// "slower", "same", "faster" or "unknown".
std::string_view to_string(ComparedRow::Verdict verdict);

}  // namespace hgemm
