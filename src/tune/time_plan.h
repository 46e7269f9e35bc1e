// What races take, and so how a time budget is shared out. Arithmetic on predicted times. Private
// to the module.
#pragma once

#include <cstddef>

#include "measure/measurer.h"

namespace hgemm {

/// Whether its final may be at the own pace (measure/protocol.h).
bool may_be_capped(const Shape& shape, Regime regime);

struct RaceToCome {
  Shape shape;
  Regime regime = Regime::kSustained;
  double launch_us = 0;     ///< of a fast config, predicted
  std::size_t configs = 0;  ///< that could be raced
  std::size_t space = 0;    ///< that suit the shape, those measured before among them
};

/// How a race is run.
struct Terms {
  Effort effort = Effort::kFull;
  std::size_t configs = 0;
  int visits = 1;  ///< of a brief race (search/race.h)
};

/// About how long that takes, compiling left out.
double duration_s(const RaceToCome& race, const Terms& terms);

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
