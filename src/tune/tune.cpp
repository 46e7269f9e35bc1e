#include "tune/tune.h"

#include <algorithm>
#include <utility>

#include "tune/choice.h"
#include "tune/context.h"
#include "tune/stage.h"

namespace hgemm {
namespace {

void run(TuneContext& context, const Compiler& compiler, TuneOutcome& outcome) {
  const TunePlan& plan = context.plan;
  const auto missing_in = [&](SearchStage stage) {
    return find_missing(plan, context.store, context.machine.environment, context.kernels, stage);
  };
  const bool has_second = plan.search && !plan.search->deadline && learns(plan.search->strategy);
  std::vector<Missing> first = missing_in(SearchStage::kFirst);
  const auto races = static_cast<int>(first.size());
  const double first_s = seconds_of(first);
  Numbering numbering;
  if (has_second) {
    numbering.after = static_cast<int>(plan.problems.size() * plan.regimes.size());
    for (const Missing& race : first) numbering.after_s += full_race_s(race, race.later);
    // Races whose first stage ended in an earlier run are assumed to take as long as the others.
    numbering.after_s *= numbering.after / std::max<double>(races, 1);
  }
  run_stage(context, std::move(first), numbering, compiler, outcome);
  if (!has_second) return;
  // Nothing was compiled during the first stage's races, because these run at full effort.
  run_stage(context, missing_in(SearchStage::kSecond), {.before = races, .before_s = first_s},
            compiler, outcome);
}

}  // namespace

TuneOutcome tune(const TunePlan& plan, Measurer& measurer, Store& store, const Compiler& compiler,
                 TuneListener& listener, const std::function<bool()>& stop) {
  CurrentKernels kernels(compiler.source_key, store.builds());
  TuneContext context{.plan = plan,
                      .measurer = measurer,
                      .store = store,
                      .listener = listener,
                      .stop = stop,
                      .kernels = kernels,
                      .machine = measurer.machine()};
  TuneOutcome outcome;
  try {
    run(context, compiler, outcome);
  } catch (const Stopped&) {
  }
  outcome.recorded = context.recorded;
  return outcome;
}

}  // namespace hgemm
