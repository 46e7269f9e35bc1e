// The cost model's figures of a GPU by what `hgemm-tune micro` measured on it.
#pragma once

#include <span>
#include <string_view>

#include "record/study.h"
#include "search/figures.h"

namespace hgemm {

/// Replaces the figures that have a microbenchmark, by the newest ok study of each on a GPU of this
/// name. What kernels see is not what a microbenchmark sees (requests of neighbouring SMs for the
/// same bytes merge, some of what is read is in L2), so that a figure is the H200's times what
/// micro measured here over what it measured there. Returns how many were replaced.
int calibrate(CostFigures& figures, std::span<const RecordedStudy> studies,
              std::string_view gpu_name);

/// cost_figures(), calibrated by those of `studies` that are of this GPU.
CostFigures calibrated_figures(std::span<const Device> devices, const Environment& environment,
                               Regime regime, std::span<const RecordedStudy> studies);

/// Labels of those microbenchmarks, for `hgemm-tune micro --only`.
std::span<const std::string_view> calibrating_labels();

}  // namespace hgemm
