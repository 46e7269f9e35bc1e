// The report's section about hardware counters.
#pragma once

#include "output/report_parts.h"

namespace hgemm {

/// The `tile_order` section of a report: the order of tiles, the bytes that a wave reads, and the
/// L2 hit rate.
Json tile_order_section(const report::Known& known);

}  // namespace hgemm
