// State that the races of one tune share. Private to the module.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "results/current.h"
#include "tune/compile_ahead.h"
#include "tune/loss_policy.h"
#include "tune/stop.h"
#include "tune/tune.h"

namespace hgemm {

/// Thrown if the GPU's memory cannot hold the problem, or no longer can.
struct DoesNotFit {
  std::string reason;
};

struct TuneContext {
  const TunePlan& plan;
  Measurer& measurer;
  Store& store;
  TuneListener& listener;
  const std::function<bool()>& stop;
  CurrentKernels& kernels;
  Machine machine;

  std::int64_t run = 0;               ///< id in the store; 0: nothing to measure was found so far
  std::int64_t recorded = 0;          ///< number of recorded trials of configs
  LossPolicy losses = {};             ///< of the measurer
  bool has_energy_counter = true;     ///< false once the GPU is known to have none
  CompileAhead* compiling = nullptr;  ///< nullptr: compiling has not begun

  /// Call it between steps: stops if that was requested, and takes over finished builds.
  void poll() const {
    poll_stop(stop);
    if (compiling) compiling->take();
  }
};

}  // namespace hgemm
