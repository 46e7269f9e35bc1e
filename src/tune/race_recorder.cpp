#include "tune/race_recorder.h"

#include <utility>
#include <vector>

namespace hgemm {

void RaceRecorder::begin_attempt(const TrialKernel& candidate) {
  context_.shared.use(
      [&](SharedTune& tune) { tune.store.begin_attempt(context_.run, problem_, candidate); });
  attempting_ = true;
}

void RaceRecorder::end_attempts() {
  if (!std::exchange(attempting_, false)) return;
  context_.shared.use([&](SharedTune& tune) { tune.store.end_attempts(context_.run); });
}

void RaceRecorder::record(Roster& roster, Stage phase) {
  std::int64_t new_configs = 0;
  const std::vector<Trial> trials = roster.take_due(phase, new_configs);
  if (trials.empty()) return;
  context_.shared.use([&](SharedTune& tune) {
    tune.outcome.recorded += new_configs;
    if (!race_) {
      Timing timing = timing_.value_or(Timing{});
      timing.neighbours = context_.turns.busy_neighbours(context_.gpu);
      race_ = tune.store.begin_race(context_.run, problem_, regime_, timing);
    }
    tune.store.record(*race_, trials);
  });
}

}  // namespace hgemm
