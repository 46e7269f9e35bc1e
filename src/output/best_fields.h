// What is said of a best row, field by field.
#pragma once

#include <optional>
#include <span>

#include "output/fields.h"
#include "results/best.h"

namespace hgemm {

using BestField = Field<BestRow>;

/// In the order of JSON and CSV.
std::span<const BestField> best_fields();

/// The time of running each shape as often as its weight says, in us; each has a time.
double weighted_time_us(const BestField::Rows& rows);
/// A baseline's time for the same; each row has a time and the ratio.
double weighted_baseline_us(const BestField::Rows& rows, std::optional<Ratio> BestRow::*ratio);

}  // namespace hgemm
