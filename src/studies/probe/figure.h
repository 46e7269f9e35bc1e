// The report's section about probes.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// The `cycles` section of a report: the cycles of kernels by phase.
Json cycles_section(const report::Known& known);

}  // namespace hgemm
