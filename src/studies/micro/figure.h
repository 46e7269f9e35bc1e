// What a report draws of microbenchmarks.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// Cycles of wgmma by N, measured and modelled: `wgmma` of a report.
Json wgmma_section(const report::Known& known);

}  // namespace hgemm
