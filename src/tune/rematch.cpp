#include "tune/rematch.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/statistics.h"
#include "families/family.h"
#include "results/best.h"

namespace hgemm {
namespace {

constexpr std::size_t kMostConfigs = 4;
/// Most configs of a race for the energy of its winner. After a search in brief the least are
/// enough, since results at full effort replace brief ones. After one at full effort older results
/// stay, so a config that is near the winner and not in this race may win after it, without energy.
std::size_t most_weighed(const RacePolicy& policy, const BestRow& row) {
  if (row.brief) return kLeastWeighed;
  const bool has_own_pace = may_be_capped(row.problem, row.regime);
  return static_cast<std::size_t>(has_own_pace ? policy.own_finalists : policy.finalists);
}

double median_time_us(const Trial& trial) {
  std::vector<double> times_us;
  for (const Sample& sample : trial.samples) times_us.push_back(sample.time_us);
  return median(times_us);
}

/// Whether the config of a recorded label may answer at problems of this kind.
bool is_allowed(const Allowed& allowed, const std::string& name, const GemmKind& kind) {
  try {
    return allows(allowed, parse_label(name), kind);
  } catch (const InputError&) {
    return false;  // of a version that is not known
  }
}

/// Whether a variant of the peer, or the peer as a whole, has ended in the race.
bool has_met(const Race& race, const Peer& peer) {
  return std::ranges::any_of(race.trials, [&](const Trial& trial) {
    return is_peer(trial.label) && peer_name(trial.label) == peer.name &&
           trial.kernel_id == peer.identity();
  });
}

}  // namespace

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

std::vector<RecordedRace> races_of(const TunePlan& plan, const Store& store,
                                   const Environment& environment) {
  std::set<std::string> listed;
  for (const KernelConfig& config : plan.configs) listed.insert(label(config));
  const auto is_in_space = [&](const std::string& name, const GemmProblem& problem) {
    if (!plan.whole) return listed.contains(name);
    return is_allowed(plan.whole->allowed, name, problem.kind());
  };
  std::vector<RecordedRace> races = store.races(environment);
  for (RecordedRace& race : races) {
    std::erase_if(race.race.trials, [&](const Trial& trial) {
      return !is_baseline(trial.label) && !is_in_space(trial.label, race.race.problem);
    });
  }
  return races;
}

std::vector<BestRow> finished_rows_of_all_regimes(const TunePlan& plan,
                                                  std::span<const RecordedRace> races,
                                                  CurrentKernels& kernels) {
  const auto is_current = [&](const Trial& trial, const GemmProblem& problem) {
    return kernels.is_current(trial, problem);
  };
  auto rows = best_rows(races, plan.problems, Objective::kTime, is_current);
  std::erase_if(rows, [](const BestRow& row) { return !row.label || row.stage != Stage::kFinal; });
  return rows;
}

std::vector<BestRow> finished_rows(const TunePlan& plan, std::span<const RecordedRace> races,
                                   CurrentKernels& kernels) {
  auto rows = finished_rows_of_all_regimes(plan, races, kernels);
  std::erase_if(rows, [&](const BestRow& row) {
    return std::ranges::find(plan.regimes, row.regime) == plan.regimes.end();
  });
  return rows;
}

namespace {

/// The first of the row's finalists, at most so many, as far as their ratios are near the winner's.
std::vector<KernelConfig> leading(const BestRow& row, std::size_t most) {
  std::vector<KernelConfig> configs;
  for (const Finalist& finalist : row.finalists) {
    if (configs.size() == most) break;
    const bool is_near = finalist.cublas && row.cublas &&
                         finalist.cublas->value >= row.cublas->value * (1 - kCloseMargin);
    if (finalist.label == *row.label || is_near) configs.push_back(parse_label(finalist.label));
  }
  return configs;
}

Missing rematch_of(const BestRow& row, std::vector<KernelConfig> configs) {
  Missing race{.problem = row.problem, .regime = row.regime, .configs = std::move(configs)};
  race.space = race.configs.size();
  race.is_rematch = true;
  return race;
}

}  // namespace

std::vector<Missing> find_unconfirmed(const TunePlan& plan, const Store& store,
                                      const Environment& environment, CurrentKernels& kernels,
                                      const std::vector<std::string>& gpus) {
  const std::vector<RecordedRace> races = races_of(plan, store, environment);
  std::vector<Missing> unconfirmed;
  for (const BestRow& row : finished_rows(plan, races, kernels)) {
    if (row.second_card) continue;
    Missing race = rematch_of(row, close_configs(row, races));
    if (race.configs.size() < 2) continue;
    for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
      if (gpus[gpu] == row.run.gpu_uuid) race.avoids.insert(static_cast<int>(gpu));
    }
    if (race.avoids.size() < gpus.size()) unconfirmed.push_back(std::move(race));
  }
  return unconfirmed;
}

std::vector<Missing> find_unmet(const TunePlan& plan, const Store& store,
                                const Environment& environment, CurrentKernels& kernels) {
  const std::vector<RecordedRace> races = races_of(plan, store, environment);
  std::vector<Missing> unmet;
  for (const BestRow& row : finished_rows(plan, races, kernels)) {
    const auto is_meeting = [&](const RecordedRace& recorded) {
      const Race& race = recorded.race;
      if (race.regime != row.regime || !race.problem.same_problem(row.problem)) return false;
      const auto met = [&](const Peer& peer) { return has_met(race, peer); };
      return std::ranges::any_of(race.trials,
                                 [&](const Trial& trial) {
                                   return trial.label == *row.label &&
                                          trial.kernel_id == row.kernel_id;
                                 }) &&
             std::ranges::all_of(plan.peers, met);
    };
    // The meeting need not be the race that makes it the winner: its ratio there may be lower.
    if (std::ranges::none_of(races, is_meeting)) {
      unmet.push_back(rematch_of(row, close_configs(row, races)));
    }
  }
  return unmet;
}

std::vector<Missing> find_unweighed(const TunePlan& plan, const Store& store,
                                    const Environment& environment, CurrentKernels& kernels) {
  const std::vector<RecordedRace> races = races_of(plan, store, environment);
  std::vector<Missing> unweighed;
  for (const BestRow& row : finished_rows(plan, races, kernels)) {
    if (row.regime != Regime::kSustained || row.joules) continue;
    // Those that may win after one more race, whatever race they were in.
    unweighed.push_back(rematch_of(row, leading(row, most_weighed(plan.policy, row))));
    unweighed.back().weighed = Weighed::kWinners;
    // One that left early would keep its older ratio, with which it may still be the winner.
    unweighed.back().to_the_end = true;
  }
  return unweighed;
}

std::vector<double> weighing_s(const TunePlan& plan, const Store& store,
                               const Environment& environment, CurrentKernels& kernels) {
  const std::vector<BestRow> rows =
      finished_rows(plan, races_of(plan, store, environment), kernels);
  std::vector<double> races_s;
  for (const GemmProblem& problem : plan.problems) {
    const bool has_energy = std::ranges::any_of(rows, [&](const BestRow& row) {
      return row.regime == Regime::kSustained && row.joules && row.problem.same_problem(problem);
    });
    if (has_energy) continue;
    races_s.push_back(duration_s({.problem = problem, .weighed = Weighed::kWinners},
                                 {.effort = Effort::kFull, .configs = kLeastWeighed}));
  }
  return races_s;
}

}  // namespace hgemm
