// What a report draws of probes.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// Where the cycles of kernels go: `cycles` of a report.
Json cycles_section(const report::Known& known);

}  // namespace hgemm
