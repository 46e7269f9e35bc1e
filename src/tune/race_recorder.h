// Writes a race into the store. Private to the module.
#pragma once

#include <cstdint>
#include <optional>

#include "tune/context.h"
#include "tune/roster.h"

namespace hgemm {

class RaceRecorder {
 public:
  RaceRecorder(GpuContext& context, const GemmProblem& problem, Regime regime)
      : context_(context), problem_(problem), regime_(regime) {}

  /// How all samples of the race are launched; known once the measurer has opened the problem.
  void set_timing(const Timing& timing) { timing_ = timing; }
  bool has_timing() const { return timing_.has_value(); }

  /// Notes that a kernel is about to run for the first time at the problem.
  void begin_attempt(const TrialKernel& candidate);
  /// The machine is still up, so none of the noted kernels took it down.
  void end_attempts();

  /// Records all trials that are due, in one transaction. `phase`: the phase of the race.
  void record(Roster& roster, Stage phase);

 private:
  GpuContext& context_;
  GemmProblem problem_;
  Regime regime_;
  std::optional<Timing> timing_;
  std::optional<std::int64_t> race_;  ///< id in the store; none until the first record
  bool attempting_ = false;           ///< the store has a note of an attempt
};

}  // namespace hgemm
