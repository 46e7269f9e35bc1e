// The hardware counters that are read of a launch, their names here, and values computed from them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/study.h"

namespace hgemm {

inline constexpr std::string_view kCountersStudy = "counters";

/// One hardware metric of compute capability 9.0 (chip GH100), under its name in CUPTI and Nsight
/// Compute.
struct CounterMetric {
  std::string name;  ///< our name: Figure::metric
  std::string unit;
  std::string source;
};

/// The metrics that are read, in the order of tables. The tensor operations are counted by a metric
/// for the input type.
std::vector<CounterMetric> counter_metrics(DataType input);

/// Launches needed to read all metrics, because the hardware cannot count all at once. libcupti of
/// CUDA 13.0 schedules them in this number for GH100, for either 16-bit type, and in one fewer for
/// 8-bit ones.
inline constexpr int kCounterPasses = 8;

/// A value as it is recorded: its point is the hardware's metric, or a formula.
Figure counter_figure(std::string metric, std::string unit, double value, std::string source);

/// Figures computed from the measured ones; their points are formulas. A figure whose inputs are
/// missing or whose divisor is zero is left out.
std::vector<Figure> derived_counters(std::span<const Figure> measured, const GemmProblem& problem,
                                     int sm_count);

/// The title of a metric in tables: "L2 hit rate" for "l2_hit_rate"; the name itself if it is
/// unknown.
std::string counter_title(std::string_view metric);

/// Whether the metric is the share of the resident warps' cycles lost to one stall reason. There
/// are many; most are near zero.
bool is_stall(std::string_view metric);

/// Beginning of errors which say that this machine or user cannot read counters at all (no library,
/// no permission). No study can then be measured, so recorded ones are shown.
inline constexpr std::string_view kCountersUnavailable = "hardware counters cannot be read here";

}  // namespace hgemm
