// What it costs that configs must be batch-invariant: the time of the best such config beside that
// of the best config of any kind.
#pragma once

#include <span>

#include "families/allowed.h"
#include "results/best.h"

namespace hgemm {

/// Sets BestRow::price of all rows, which are the best batch-invariant ones. `races`: those that
/// they come from, with configs of any kind as far as `allowed` allows their PDL kind.
void set_prices(std::span<BestRow> rows, std::span<const RecordedRace> races,
                const Allowed& allowed, const IsCurrent& is_current);

}  // namespace hgemm
