// One stage of a tune: compiles the kernels of its races together, then runs the races. Private to
// the module.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "tune/choice.h"
#include "tune/context.h"
#include "tune/gpu_threads.h"

namespace hgemm {

/// The position of a stage's races among those of the whole tune.
struct Numbering {
  int before = 0;  ///< races of the stage before
  int after = 0;   ///< races of the next stage, as far as is known
  double before_s = 0;
  double after_s = 0;
};

/// Predicted seconds of a race with `configs` configs at full effort.
double full_race_s(const Missing& race, std::size_t configs);
/// Predicted seconds of all these races at full effort, in sum.
double seconds_of(std::span<const Missing> races);

/// The kernels of all races, each once: this share of each race's, the likeliest, race by race;
/// then the others, ordered by their rank within their race.
std::vector<Kernel> needed_kernels(std::span<const Missing> races, double share = 1);

/// The GPUs of a tune, each with a thread.
struct Gpus {
  const TunePlan& plan;
  Monitor<SharedTune>& shared;
  Turns& turns;
  std::vector<GpuContext> contexts;
  std::set<int> lost = {};  ///< GPUs that run no more races
  GpuThreads threads{contexts.size()};
};

/// Runs the races of a stage on all GPUs; with a deadline, as far as there is time.
/// SharedTune::outcome keeps its content if the tune is stopped. Throws GpuLost if all GPUs are
/// lost.
void run_stage(Gpus& gpus, std::vector<Missing> races, const Numbering& numbering,
               const Compiler& compiler,
               std::optional<std::chrono::steady_clock::time_point> deadline);

}  // namespace hgemm
