// Tells whether recorded results come from this program's kernels.
#pragma once

#include <vector>

#include "results/best.h"

namespace hgemm::cli {

/// The predicate for best_rows(). It uses the builds that the databases record with the results.
IsCurrent current_among(const std::vector<BuildFacts>& builds);

}  // namespace hgemm::cli
