// The report's section about the ladder.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// The `ladder` section of a report: from a naive kernel to the fastest.
Json ladder_section(const report::Known& known);

}  // namespace hgemm
