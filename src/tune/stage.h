// One stage of a tune: what its races need is compiled together, then they are run. Private to the
// module.
#pragma once

#include <span>
#include <vector>

#include "tune/choice.h"
#include "tune/context.h"

namespace hgemm {

/// Where a stage's races stand among those of the whole tune.
struct Numbering {
  int before = 0;  ///< races of the stage before
  int after = 0;   ///< of the stage to come, as far as is known
  double before_s = 0;
  double after_s = 0;
};

/// What a race with so many configs should take at full effort.
double full_race_s(const Missing& race, std::size_t configs);
/// What the races should take at full effort, in sum.
double seconds_of(std::span<const Missing> races);

/// Adds to `outcome`, which outlives a stop.
void run_stage(TuneContext& context, std::vector<Missing> races, const Numbering& numbering,
               const Compiler& compiler, TuneOutcome& outcome);

}  // namespace hgemm
