#include "tune/confirm.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "base/statistics.h"
#include "families/family.h"
#include "results/best.h"

namespace hgemm {
namespace {

constexpr std::size_t kMostConfigs = 4;

double median_time_us(const Trial& trial) {
  std::vector<double> times_us;
  for (const Sample& sample : trial.samples) times_us.push_back(sample.time_us);
  return median(times_us);
}

/// The winner, and the configs near it that it met in the final of its race.
std::vector<KernelConfig> close_configs(const BestRow& row, std::span<const RecordedRace> races) {
  std::vector<KernelConfig> configs = {parse_label(*row.label)};
  const Race& race = std::ranges::find(races, row.race_uid, &RecordedRace::uid)->race;
  const Trial& winner = *std::ranges::find(race.trials, *row.label, &Trial::label);
  std::vector<const Trial*> met = met_in_final(race, winner);
  std::ranges::sort(met, {}, [](const Trial* trial) { return median_time_us(*trial); });
  for (const Trial* trial : met) {
    if (configs.size() == kMostConfigs) break;
    if (median_time_us(*trial) * (1 - kCloseMargin) > median_time_us(winner)) break;
    configs.push_back(parse_label(trial->label));
  }
  return configs;
}

}  // namespace

std::vector<Missing> find_unconfirmed(const TunePlan& plan, const Store& store,
                                      const Environment& environment, CurrentKernels& kernels,
                                      const std::vector<std::string>& gpus) {
  const std::vector<RecordedRace> races = store.races(environment);
  std::set<std::string> chosen;
  for (const KernelConfig& config : plan.configs) chosen.insert(label(config));
  const auto is_current = [&](const Trial& trial, const GemmProblem& problem) {
    return kernels.is_current(trial, problem);
  };
  std::vector<Missing> unconfirmed;
  for (const BestRow& row : best_rows(races, plan.problems, Objective::kTime, is_current)) {
    if (!row.label || row.stage != Stage::kFinal || row.second_card) continue;
    if (!chosen.contains(*row.label)) continue;
    if (std::ranges::find(plan.regimes, row.regime) == plan.regimes.end()) continue;
    Missing race{
        .problem = row.problem, .regime = row.regime, .configs = close_configs(row, races)};
    if (race.configs.size() < 2) continue;
    race.space = race.configs.size();
    race.is_confirmation = true;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
      if (gpus[gpu] == row.run.gpu_uuid) race.avoids.insert(static_cast<int>(gpu));
    }
    if (race.avoids.size() < gpus.size()) unconfirmed.push_back(std::move(race));
  }
  return unconfirmed;
}

}  // namespace hgemm
