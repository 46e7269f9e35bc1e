// Which hardware counters are read of a launch, what we call them, and what is computed from them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/study.h"

namespace hgemm {

inline constexpr std::string_view kCountersStudy = "counters";

/// One hardware metric of compute capability 9.0 (chip GH100), as CUPTI and Nsight Compute name it.
struct CounterMetric {
  std::string name;  ///< ours: Figure::metric
  std::string unit;
  std::string source;
};

/// What is read, in the order in which tables show it. The tensor path counts its operations by
/// input type.
std::vector<CounterMetric> counter_metrics(DataType input);

/// Launches that it takes to read all of them: the hardware cannot count everything at once. As
/// libcupti of CUDA 13.0 schedules them for GH100, either type.
inline constexpr int kCounterPasses = 8;

/// A value as it is recorded: its point is the hardware's metric, or a formula.
Figure counter_figure(std::string metric, std::string unit, double value, std::string source);

/// What follows from the measured figures; their points are formulas. A figure whose inputs are
/// missing or whose divisor is zero is left out.
std::vector<Figure> derived_counters(std::span<const Figure> measured, const GemmProblem& problem,
                                     int sm_count);

/// What a metric of ours is called in tables: "L2 hit rate" for "l2_hit_rate". The name itself for
/// one that is not known.
std::string counter_title(std::string_view metric);

/// Share of the resident warps' cycles that is lost to one reason: there are many, most near zero.
bool is_stall(std::string_view metric);

/// How an error begins that says that this machine or this user cannot read counters at all (no
/// library, no permission): no study can be made, and recorded ones are the answer.
inline constexpr std::string_view kCountersUnavailable = "hardware counters cannot be read here";

}  // namespace hgemm
