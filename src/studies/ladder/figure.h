// What a report draws of the ladder.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// From a naive kernel to the fastest: `ladder` of a report.
Json ladder_section(const report::Known& known);

}  // namespace hgemm
