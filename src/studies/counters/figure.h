// What a report draws of what the hardware counted.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// Which tile comes when, what a wave of them reads, and how often L2 had it: `tile_order` of a
/// report.
Json tile_order_section(const report::Known& known);

}  // namespace hgemm
