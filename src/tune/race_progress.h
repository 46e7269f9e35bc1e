// Where a race stands: its phase, its rounds, and how much of the tune is over. Private to the
// module.
#pragma once

#include <cstddef>

#include "record/trial.h"
#include "tune/time_plan.h"
#include "tune/tune.h"

namespace hgemm {

class RaceProgress {
 public:
  RaceProgress(TuneListener& listener, const Outlook& outlook)
      : listener_(listener), outlook_(outlook) {}

  /// kNone until the first round begins.
  Stage phase() const { return phase_; }
  int rounds_of_phase() const { return phase_rounds_; }  ///< that have ended
  /// Of the race, that have ended, or were lost after some racers had left.
  int rounds() const { return rounds_; }

  void prepared(std::size_t done, std::size_t total);
  void begin_round(Stage phase) { phase_ = phase; }
  void measured(std::size_t done, std::size_t total);  ///< of the round under way
  /// What was measured of the round under way cannot be completed.
  void lose_round() { ++rounds_; }
  /// `staying`: the share of racers that are left; `next`: the phase of the round that follows.
  void end_round(double staying, Stage next, int alive, const Referee::Standing& standing);
  void weighed(std::size_t done, std::size_t total);

 private:
  void advance(double race_s);

  TuneListener& listener_;
  Outlook outlook_;
  Stage phase_ = Stage::kNone;
  int phase_rounds_ = 0;
  int rounds_ = 0;
  double share_ = 0;  ///< of the tune that is over
};

}  // namespace hgemm
