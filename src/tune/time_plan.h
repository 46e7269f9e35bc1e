// Predicts the duration of races, to share out a time budget and to show progress. Arithmetic on
// predicted times. Private to the module.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

#include "device/measurer.h"
#include "tune/tune.h"

namespace hgemm {

/// Whether the final of this race may be at the own pace (device/protocol.h).
bool may_be_capped(const GemmProblem& problem, Regime regime);

struct RaceToCome {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  double launch_us = 0;     ///< predicted time of a fast config; 0: unknown, estimated here
  std::size_t configs = 0;  ///< configs that could be raced
  std::size_t space = 0;    ///< configs that suit the problem, including those measured before
  Weighed weighed = Weighed::kNothing;  ///< in this race: whose energy is measured
  bool to_the_end = false;              ///< no finalist leaves early, however slow
};

/// The effort of a race.
struct Terms {
  Effort effort = Effort::kFull;
  std::size_t configs = 0;
  int visits = 1;  ///< of a brief race (search/referee.h)
  /// After this time the final of a brief race ends with one visit.
  std::optional<std::chrono::steady_clock::time_point> until = {};
};

/// Predicted seconds of the parts of a race, without compiling.
struct RaceParts {
  double open_s = 0;
  double prepare_s = 0;      ///< for all candidates
  double first_round_s = 0;  ///< of screening
  double later_round_s = 0;  ///< each one
  double semifinal_s = 0;
  double final_s = 0;
  double energy_s = 0;
  int screening_rounds = 0;
  int semifinal_rounds = 0;
  double final_rounds = 0;

  double sum() const { return raced_s() + energy_s; }
  // Seconds from the start of the race until this share of its candidates is prepared or weighed,
  // or until so many rounds of the phase have ended (2.5: the middle of the third round).
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

/// The best use of `seconds` for a race. It runs at full effort if it can then screen at least the
/// share kEnough of the space; it takes as many configs as there is time for. Otherwise it is
/// brief, with no more configs than that share, and with more visits if there is time left. If even
/// a brief race does not fit, it gets few configs. `compile_s`: seconds that each config costs
/// before the race can begin; `most`: kBrief if full effort is not allowed.
Terms terms_for(const RaceToCome& race, double seconds, double compile_s = 0,
                Effort most = Effort::kFull);

/// Share of the space with which replayed searches come within 0.1 % of its best
/// (results/h200/replay.md).
inline constexpr double kEnough = 0.03;

}  // namespace hgemm
