// Totals over the shapes of a model.
#pragma once

#include <optional>
#include <vector>

#include "results/best.h"

namespace hgemm {

/// Total time in us of running each shape as often as its weight says. Every row must have a time.
double weighted_time_us(const std::vector<const BestRow*>& rows);
/// The same total for a baseline. Every row must have a time and the ratio.
double weighted_baseline_us(const std::vector<const BestRow*>& rows,
                            std::optional<Ratio> BestRow::*ratio);

}  // namespace hgemm
