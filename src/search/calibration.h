// Calibrates the cost model's figures of a GPU with `hgemm-tune micro` results from it.
#pragma once

#include <span>
#include <string_view>

#include "record/study.h"
#include "search/figures.h"

namespace hgemm {

/// Replaces the figures for which there is a microbenchmark by the newest ok study of each on a GPU
/// with this name. Kernels do not see the rates of a microbenchmark (requests of neighbouring SMs
/// for the same bytes merge, and part of the data is in L2). Therefore the new figure is the H200's
/// figure times the ratio of the rates that micro measured here and on the H200. Returns the number
/// of replaced figures.
int calibrate(CostFigures& figures, std::span<const RecordedStudy> studies,
              std::string_view gpu_name);

/// cost_figures(), calibrated with those of `studies` that are from this GPU.
CostFigures calibrated_figures(std::span<const Device> devices, const Environment& environment,
                               Regime regime, std::span<const RecordedStudy> studies);

/// Labels of the microbenchmarks that calibrate() uses, for `hgemm-tune micro --only`.
std::span<const std::string_view> calibrating_labels();

}  // namespace hgemm
