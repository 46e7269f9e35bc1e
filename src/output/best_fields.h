// The output fields of a best row.
#pragma once

#include <span>

#include "output/fields.h"
#include "results/best.h"

namespace hgemm {

using BestField = Field<BestRow>;

/// In the order of JSON and CSV.
std::span<const BestField> best_fields();

}  // namespace hgemm
