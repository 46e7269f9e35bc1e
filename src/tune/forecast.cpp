#include "tune/forecast.h"

#include "tune/choice.h"
#include "tune/stage.h"

namespace hgemm {

std::vector<RaceForecast> forecast(const TunePlan& plan, const Environment& environment) {
  std::vector<RaceForecast> all;
  for (const Missing& race : first_races(plan, environment)) {
    const double later_s = race.later > 0 ? full_race_s(race, race.later) : 0;
    all.push_back({.problem = race.problem,
                   .regime = race.regime,
                   .seconds = full_race_s(race, race.configs.size()) + later_s,
                   .kernels = race.configs.size() + race.later});
  }
  return all;
}

std::vector<Kernel> first_kernels(const TunePlan& plan, const Environment& environment) {
  return needed_kernels(first_races(plan, environment), true);
}

}  // namespace hgemm
