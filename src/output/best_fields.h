// The output fields of a best row.
#pragma once

#include <optional>
#include <span>

#include "output/fields.h"
#include "results/best.h"

namespace hgemm {

using BestField = Field<BestRow>;

/// In the order of JSON and CSV.
std::span<const BestField> best_fields();

/// Total time in us of running each shape as often as its weight says. Every row must have a time.
double weighted_time_us(const BestField::Rows& rows);
/// The same total for a baseline. Every row must have a time and the ratio.
double weighted_baseline_us(const BestField::Rows& rows, std::optional<Ratio> BestRow::*ratio);

}  // namespace hgemm
