#include "tune/race_recorder.h"

#include <utility>
#include <vector>

namespace hgemm {

void RaceRecorder::begin_attempt(const TrialKernel& candidate) {
  context_.store.begin_attempt(context_.run, problem_, candidate);
  attempting_ = true;
}

void RaceRecorder::end_attempts() {
  if (std::exchange(attempting_, false)) context_.store.end_attempts(context_.run);
}

void RaceRecorder::record(Roster& roster, Stage phase) {
  const std::vector<Trial> trials = roster.take_due(phase, context_.recorded);
  if (trials.empty()) return;
  if (!race_) {
    race_ = context_.store.begin_race(context_.run, problem_, regime_, timing_.value_or(Timing{}));
  }
  context_.store.record(*race_, trials);
}

}  // namespace hgemm
