// Microbenchmarks as text.
#pragma once

#include <span>
#include <string>

#include "output/emit.h"
#include "record/study.h"

namespace hgemm {

/// json: a list of objects with label family status message metric unit value low high samples
/// flops_per_clk peak_fraction gpu started_utc, one for each figure; a failed study is one object
/// without a metric. flops_per_clk and peak_fraction (of 4096 FLOP per cycle and SM, for fp8 8192)
/// are null except for tensor-core instructions. csv: the same columns.
///
/// table and md: for each environment, one table per family and kind of figure. wgmma has N down
/// and types and operand sources across, as cycles and as FLOP per cycle and SM. If there are
/// several studies of one label in one environment, the first one counts, so the newest must come
/// first. Failed studies are listed below.
std::string format_micro(std::span<const RecordedStudy> studies, const Style& style);

}  // namespace hgemm
