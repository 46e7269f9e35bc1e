// One stage of a tune: compiles the kernels of its races together, then runs the races. Private to
// the module.
#pragma once

#include <span>
#include <vector>

#include "tune/choice.h"
#include "tune/context.h"

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

/// Runs the stage and adds to `outcome`, which keeps its content if the tune is stopped.
void run_stage(TuneContext& context, std::vector<Missing> races, const Numbering& numbering,
               const Compiler& compiler, TuneOutcome& outcome);

}  // namespace hgemm
