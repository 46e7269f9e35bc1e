// State that the races of one tune share. Private to the module.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/monitor.h"
#include "results/current.h"
#include "tune/compile_ahead.h"
#include "tune/loss_policy.h"
#include "tune/stop.h"
#include "tune/tune.h"
#include "tune/turns.h"

namespace hgemm {

/// Thrown if the GPU's memory cannot hold the problem, or no longer can; or if no library computes
/// it, with which candidates are compared.
struct DoesNotFit {
  std::string reason;
};

/// A race cannot go on with this GPU. Either may be at fault.
class GpuLost : public Error {
 public:
  using Error::Error;
};

/// The part of the tune's predicted time that is over, on all GPUs.
class Advance {
 public:
  Advance() = default;
  /// `over_s` of `all_s` predicted seconds are over.
  Advance(double over_s, double all_s) : over_s_(over_s), all_s_(all_s) {}

  void begin(int gpu, double race_s) { running_[gpu] = {race_s, 0}; }
  void at(int gpu, double fraction) { running_[gpu].second = fraction; }  ///< of its race
  void end(int gpu) { over_s_ += take(gpu).first; }
  void take_back(int gpu) { take(gpu); }  ///< the race will begin again
  void takes_no_time(int gpu) { all_s_ -= take(gpu).first; }

  double share() const {
    double sum = over_s_;
    for (const auto& [gpu, race] : running_) sum += race.first * race.second;
    return all_s_ > 0 ? sum / all_s_ : 0;
  }

 private:
  std::pair<double, double> take(int gpu) { return std::exchange(running_[gpu], {0, 0}); }

  double over_s_ = 0, all_s_ = 0;
  std::map<int, std::pair<double, double>> running_;  ///< seconds and finished fraction, by GPU
};

/// What the GPUs of a tune share, and use one at a time.
class SharedTune {
 public:
  SharedTune(Store& store, TuneListener& listener, const std::function<bool()>& stop,
             CurrentKernels kernels)
      : store(store), listener(listener), kernels(std::move(kernels)), stop_(stop) {}

  Store& store;
  TuneListener& listener;
  CurrentKernels kernels;
  TuneOutcome outcome = {};
  Advance advance = {};
  CompileAhead* compiling = nullptr;  ///< nullptr: compiling has not begun
  TuneListener::Compiling compiled = {};
  bool ending = false;  ///< an error on one GPU ends the tune on all

  /// Call it between steps: stops if that was requested, and takes over finished builds.
  void poll() {
    if (ending) throw Stopped();
    poll_stop(stop_);
    if (!compiling) return;
    for (const Build* build : compiling->take()) add(*build);
  }

 private:
  void add(const Build& build) {
    store.record_build(build.facts);
    kernels.add(build.facts);
    ++compiled.done;
    if (build.status != Status::kOk) ++compiled.failed;
    if (build.from_cache) ++compiled.from_cache;
    listener.compiling(compiled);
  }

  const std::function<bool()>& stop_;
};

/// One of the GPUs. Its races run in one thread.
struct GpuContext {
  Monitor<SharedTune>& shared;
  const TunePlan& plan;
  Turns& turns;
  Measurer& measurer;
  Machine machine;
  int gpu = 0;

  std::int64_t run = 0;            ///< id in the store; 0: it has begun no race yet
  LossPolicy losses = {};          ///< of the measurer
  bool has_energy_counter = true;  ///< false once the GPU is known to have none

  /// Calls `report` with the listener.
  template <class Report>
  void tell(Report&& report) {
    shared.use([&](SharedTune& tune) { report(tune.listener); });
  }
};

}  // namespace hgemm
