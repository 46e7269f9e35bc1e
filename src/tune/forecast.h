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

}  // namespace hgemm
