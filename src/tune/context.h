// What the races of one tune share. Private to the module.
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

/// Thrown where the GPU cannot hold the problem, or no longer.
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

  std::int64_t run = 0;               ///< its id in the store; 0: nothing to measure was found yet
  std::int64_t recorded = 0;          ///< configs' trials
  LossPolicy losses = {};             ///< of the measurer
  bool has_energy_counter = true;     ///< as far as is known
  CompileAhead* compiling = nullptr;  ///< none yet

  /// Between steps: stops if that is asked for, and takes over what was compiled meanwhile.
  void poll() const {
    poll_stop(stop);
    if (compiling) compiling->take();
  }
};

}  // namespace hgemm
