// Progress of a race: its phase, its rounds, and the fraction of it that is over. Private to the
// module.
#pragma once

#include <cstddef>

#include "record/trial.h"
#include "tune/context.h"
#include "tune/time_plan.h"

namespace hgemm {

class RaceProgress {
 public:
  RaceProgress(GpuContext& context, const RaceParts& parts) : context_(context), parts_(parts) {}

  /// Phase of the race; kNone until the first round begins.
  Stage phase() const { return phase_; }
  int rounds_of_phase() const { return phase_rounds_; }  ///< that have ended
  /// Rounds of the race that have ended, or were lost after some candidates had left in them.
  int rounds() const { return rounds_; }

  void prepared(std::size_t done, std::size_t total);
  void begin_round(Stage phase) { phase_ = phase; }
  void measured(std::size_t done, std::size_t total);  ///< in the round under way
  /// The round under way was lost: its samples cannot be completed.
  void lose_round() { ++rounds_; }
  /// `staying`: the share of candidates that are left; `next`: the phase of the next round.
  void end_round(double staying, Stage next, int alive, const Referee::Standing& standing);
  void weighed(std::size_t done, std::size_t total);

 private:
  template <class Report>
  void advance(double race_s, Report report);

  GpuContext& context_;
  RaceParts parts_;
  Stage phase_ = Stage::kNone;
  int phase_rounds_ = 0;
  int rounds_ = 0;
  double fraction_ = 0;  ///< fraction of the race that is over, from 0 to 1
};

}  // namespace hgemm
