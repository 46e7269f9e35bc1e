// Predicts what a tune would take, without a GPU and without a database.
#pragma once

#include <cstddef>
#include <vector>

#include "families/family.h"
#include "record/environment.h"
#include "tune/tune.h"

namespace hgemm {

struct RaceForecast {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  double seconds = 0;       ///< on one GPU, at full effort, all stages of the search together
  std::size_t kernels = 0;  ///< that its configs need
};

/// One forecast for each race of the plan, problem by problem in one regime, then in the next;
/// problems that no config of the plan can compute are left out. A deadline is ignored: its time
/// would be shared out, whatever the races need. The cost model answers for a GPU in this
/// environment.
std::vector<RaceForecast> forecast(const TunePlan& plan, const Environment& environment);

/// The kernels of the first stage of the search, each once, race by race. The configs of a second
/// stage are not known before the races of the first have ended.
std::vector<Kernel> first_kernels(const TunePlan& plan, const Environment& environment);

/// What a sweep takes on equal GPUs.
struct SweepForecast {
  std::size_t gpus = 1;
  std::size_t races = 0;
  std::size_t kernels = 0;  ///< none of them in a cache
  double compile_core_hours = 0;
  double gpu_hours = 0;  ///< of all races in sum
  double hours = 0;      ///< from the first race to the end of the last, without compiling
  double kwh = 0;        ///< of the GPUs, racing at their power limit of `power_limit_w`
  std::vector<RaceForecast> by_race;  ///< as forecast() has them
};
SweepForecast forecast_sweep(const TunePlan& plan, const Environment& environment,
                             std::size_t gpus);

/// Seconds until the last race ends if each GPU that is free takes the longest race that is left.
double makespan_s(std::vector<double> race_s, std::size_t gpus);

}  // namespace hgemm
