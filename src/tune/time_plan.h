// What races take, and so how a time budget is shared out and how far a tune has come. Arithmetic
// on predicted times. Private to the module.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "device/measurer.h"

namespace hgemm {

/// Whether its final may be at the own pace (device/protocol.h).
bool may_be_capped(const GemmProblem& problem, Regime regime);

struct RaceToCome {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  double launch_us = 0;     ///< of a fast config, predicted; 0: nothing was, guessed here
  std::size_t configs = 0;  ///< that could be raced
  std::size_t space = 0;    ///< that suit the problem, those measured before among them
  bool energy = false;      ///< is measured of its finalists
};

/// How a race is run.
struct Terms {
  Effort effort = Effort::kFull;
  std::size_t configs = 0;
  int visits = 1;  ///< of a brief race (search/referee.h)
  /// When that is over the final of a brief race is content with one visit.
  std::optional<std::chrono::steady_clock::time_point> until = {};
};

/// About how long the parts of a race take, compiling left out.
struct RaceParts {
  double open_s = 0;
  double prepare_s = 0;      ///< all candidates
  double first_round_s = 0;  ///< of screening
  double later_round_s = 0;  ///< each
  double semifinal_s = 0;
  double final_s = 0;
  double energy_s = 0;
  int screening_rounds = 0;
  int semifinal_rounds = 0;
  double final_rounds = 0;

  double sum() const { return raced_s() + energy_s; }
  // Seconds since the race began, when so much of its candidates are prepared or weighed, or so
  // many rounds of the phase have ended: 2.5 in the midst of the third one.
  double when_prepared(double share) const { return open_s + share * prepare_s; }
  double when_raced(Stage phase, double rounds) const;
  double when_weighed(double share) const { return raced_s() + share * energy_s; }

 private:
  double screened_s() const {
    return open_s + prepare_s + (screening_rounds > 0 ? first_round_s : 0) +
           std::max(screening_rounds - 1, 0) * later_round_s;
  }
  double raced_s() const { return screened_s() + semifinal_s + final_s; }
};
RaceParts parts_of(const RaceToCome& race, const Terms& terms);

double duration_s(const RaceToCome& race, const Terms& terms);

/// A race among those of a tune, each with what it is thought to take.
struct Outlook {
  RaceParts parts;
  double before_s = 0;
  double own_s = 0;
  double all_s = 0;

  /// Of the tune, when the race is so many of its parts' seconds old.
  double share(double race_s) const { return (before_s + own_s * race_s / parts.sum()) / all_s; }
};

/// The best use of so many seconds: at full effort if it can then screen what a search needs
/// (kEnough of the space), and as many configs as there is time for; else in brief, with no more
/// than that, and in more visits if there is time left; with few where even a brief race does not
/// fit. `compile_s`: what each config costs before the race can begin; `most`: kBrief if it may not
/// be at full effort.
Terms terms_for(const RaceToCome& race, double seconds, double compile_s = 0,
                Effort most = Effort::kFull);

/// Of the space: where replayed searches come within 0.1 % of its best (results/h200/replay.md).
inline constexpr double kEnough = 0.03;

}  // namespace hgemm
