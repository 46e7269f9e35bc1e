#include "tune/forecast.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

#include "tune/choice.h"
#include "tune/stage.h"
#include "tune/time_shares.h"

namespace hgemm {
namespace {

constexpr double kSecondsPerHour = 3600;

std::vector<RaceForecast> forecasts_of(std::span<const Missing> races) {
  std::vector<RaceForecast> all;
  for (const Missing& race : races) {
    const double later_s = race.later > 0 ? full_race_s(race, race.later) : 0;
    all.push_back({.problem = race.problem,
                   .regime = race.regime,
                   .seconds = full_race_s(race, race.configs.size()) + later_s,
                   .kernels = race.configs.size() + race.later});
  }
  return all;
}

}  // namespace

std::vector<RaceForecast> forecast(const TunePlan& plan, const Environment& environment) {
  return forecasts_of(first_races(plan, environment));
}

std::vector<Kernel> first_kernels(const TunePlan& plan, const Environment& environment) {
  return needed_kernels(first_races(plan, environment));
}

double makespan_s(std::vector<double> race_s, std::size_t gpus) {
  std::ranges::sort(race_s, std::ranges::greater());
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) free_at.push(0);
  double end_s = 0;
  for (const double seconds : race_s) {
    const double race_end_s = free_at.top() + seconds;
    free_at.pop();
    free_at.push(race_end_s);
    end_s = std::max(end_s, race_end_s);
  }
  return end_s;
}

SweepForecast forecast_sweep(const TunePlan& plan, const Environment& environment,
                             std::size_t gpus) {
  // Once for both: it searches the whole space at each shape, for about half a second.
  const std::vector<Missing> first = first_races(plan, environment);
  SweepForecast sweep{
      .gpus = gpus, .kernels = needed_kernels(first).size(), .by_race = forecasts_of(first)};
  std::vector<double> race_s;
  for (const RaceForecast& race : sweep.by_race) race_s.push_back(race.seconds);
  sweep.races = race_s.size();
  sweep.compile_core_hours = static_cast<double>(sweep.kernels) * kCompileS / kSecondsPerHour;
  sweep.gpu_hours = std::accumulate(race_s.begin(), race_s.end(), 0.0) / kSecondsPerHour;
  sweep.hours = makespan_s(std::move(race_s), gpus) / kSecondsPerHour;
  sweep.kwh = sweep.gpu_hours * environment.power_limit_w * 1e-3;
  return sweep;
}

}  // namespace hgemm
