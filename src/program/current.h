// Which recorded results are of the kernels that this program has.
#pragma once

#include <vector>

#include "results/best.h"

namespace hgemm::cli {

/// For best_rows(): by the builds that stand beside the results in their databases.
IsCurrent current_among(const std::vector<BuildFacts>& builds);

}  // namespace hgemm::cli
