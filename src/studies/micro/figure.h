// The report's section about microbenchmarks.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// The `wgmma` section of a report: cycles of wgmma by N, measured and modelled.
Json wgmma_section(const report::Known& known);

}  // namespace hgemm
