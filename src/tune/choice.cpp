#include "tune/choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "families/family.h"
#include "results/speeds.h"
#include "search/calibration.h"
#include "search/figures.h"
#include "search/space.h"

namespace hgemm {
namespace {

/// The configs that a search may choose from.
struct Candidates {
  std::vector<KernelConfig> configs;
  std::vector<double> predicted_us;  ///< for each config, if there is a search
};

Candidates candidates_for(const GemmProblem& problem, const TunePlan& plan,
                          const CostFigures& figures) {
  Candidates found;
  for (const KernelConfig& config : plan.configs) {
    if (!plan.only_suitable || suits(config, problem)) found.configs.push_back(config);
  }
  if (!plan.search) return found;
  std::erase_if(found.configs, [&](const auto& c) { return why_not(c, problem) != nullptr; });
  for (const KernelConfig& config : found.configs) {
    found.predicted_us.push_back(predict_cost(figures, config, problem).us());
  }
  return found;
}

/// The configs whose present kernels have ended at a problem.
class Ended {
 public:
  Ended(std::set<TrialKernel> trials, CurrentKernels& kernels, const GemmProblem& problem)
      : trials_(std::move(trials)), kernels_(kernels), problem_(problem) {}

  bool has(const KernelConfig& config) const {
    const std::string name = label(config);
    const auto first = trials_.lower_bound({name, ""});
    // Returns early, without making the kernel's source.
    if (first == trials_.end() || first->label != name) return false;
    return trials_.contains({name, kernels_.identity(config, problem_)});
  }
  bool has_all(std::span<const KernelConfig> configs) const {
    return std::ranges::all_of(configs, [this](const auto& config) { return has(config); });
  }

 private:
  std::set<TrialKernel> trials_;
  CurrentKernels& kernels_;
  const GemmProblem& problem_;
};

/// Speeds of configs in races at full effort, by label. A race with none of these configs belongs
/// to the second stage and is ignored. The other configs of a race show at which round its final
/// began.
std::map<std::string, double> speeds_of(std::span<const KernelConfig> configs,
                                        const GemmProblem& problem, Regime regime,
                                        std::span<const RecordedRace> races,
                                        CurrentKernels& kernels) {
  std::set<std::string> labels;
  for (const KernelConfig& config : configs) labels.insert(label(config));
  KnownSpeeds known;
  for (const RecordedRace& recorded : races) {
    if (recorded.race.regime != regime || !recorded.race.problem.same_problem(problem)) continue;
    if (recorded.race.timing.brief) continue;
    Race race = recorded.race;
    std::erase_if(race.trials, [&](const Trial& trial) {
      return !is_baseline(trial.label) && !kernels.is_current(trial, problem);
    });
    const bool has_any = std::ranges::any_of(
        race.trials, [&](const Trial& trial) { return labels.contains(trial.label); });
    if (has_any) known.add(race);
  }
  std::map<std::string, double> speeds = known.all();
  std::erase_if(speeds, [&](const auto& item) { return !labels.contains(item.first); });
  return speeds;
}

/// One search at one problem in one regime.
class Search {
 public:
  Search(const SearchPlan& plan, const Candidates& candidates)
      : plan_(plan),
        candidates_(candidates),
        budget_(plan.deadline ? candidates.configs.size()
                              : plan.budget.of(candidates.configs.size())),
        strategy_(candidates.configs, candidates.predicted_us, {.kind = plan.strategy}) {}

  std::vector<KernelConfig> first() {
    first_ = strategy_.next(plan_.deadline ? budget_ : first_stage(plan_.strategy, budget_));
    return configs_of(first_);
  }
  /// Configs of the budget that the first stage leaves.
  std::size_t left() const { return budget_ - first_.size(); }
  /// The second stage's configs, given the speeds of the first stage's configs by label.
  std::vector<KernelConfig> second(const std::map<std::string, double>& speeds) {
    for (const std::size_t index : first_) {
      const auto found = speeds.find(label(candidates_.configs[index]));
      strategy_.tell(index, told_time(found == speeds.end() ? 0 : found->second));
    }
    return configs_of(strategy_.next(budget_ - first_.size()));
  }

 private:
  std::vector<KernelConfig> configs_of(const std::vector<std::size_t>& indices) const {
    std::vector<KernelConfig> configs;
    for (const std::size_t index : indices) configs.push_back(candidates_.configs[index]);
    return configs;
  }

  const SearchPlan& plan_;
  const Candidates& candidates_;
  std::size_t budget_;
  Strategy strategy_;
  std::vector<std::size_t> first_;
};

/// The inputs of the choice for all races.
struct Choice {
  const TunePlan& plan;
  const Store& store;
  const Environment& environment;
  CurrentKernels& kernels;
  SearchStage stage;
  std::vector<RecordedRace> races;  ///< the races from which the second stage learns

  Ended ended(const GemmProblem& problem, Regime regime, const Wanted& wanted) const {
    return {store.finished(environment, problem, regime, wanted), kernels, problem};
  }
};

/// A race at the problem, without the configs that are missing.
Missing race_at(const GemmProblem& problem, Regime regime, const Candidates& candidates,
                const TunePlan& plan) {
  Missing race{problem, regime, {}, candidates.configs.size(), 0, wanted(plan, regime).energy};
  if (plan.search) race.launch_us = std::ranges::min(candidates.predicted_us);
  return race;
}

/// The configs proposed in this stage; none if the stage before has not ended.
std::optional<std::vector<KernelConfig>> proposed(const Choice& choice,
                                                  const Candidates& candidates, Missing& missing) {
  if (!choice.plan.search) return candidates.configs;
  Search search(*choice.plan.search, candidates);
  std::vector<KernelConfig> first = search.first();
  missing.later = search.left();
  if (choice.stage == SearchStage::kFirst) return first;
  Wanted told = wanted(choice.plan, missing.regime);
  told.energy = false;  // not required: this GPU may have no energy counter
  if (!choice.ended(missing.problem, missing.regime, told).has_all(first)) return std::nullopt;
  return search.second(
      speeds_of(first, missing.problem, missing.regime, choice.races, choice.kernels));
}

std::optional<Missing> missing_at(const Choice& choice, const GemmProblem& problem, Regime regime,
                                  const CostFigures& figures) {
  const Candidates candidates = candidates_for(problem, choice.plan, figures);
  if (candidates.configs.empty()) return std::nullopt;
  const Wanted wanted = hgemm::wanted(choice.plan, regime);
  Missing missing = race_at(problem, regime, candidates, choice.plan);
  const auto chosen = proposed(choice, candidates, missing);
  if (!chosen) return std::nullopt;
  const Ended ended = choice.ended(problem, regime, wanted);
  std::set<std::string> labels;
  for (const KernelConfig& config : *chosen) {
    if (labels.insert(label(config)).second && !ended.has(config)) {
      missing.configs.push_back(config);
    }
  }
  if (missing.configs.empty()) return std::nullopt;
  return missing;
}

}  // namespace

Wanted wanted(const TunePlan& plan, Regime regime) {
  return {.energy = plan.energy && regime == Regime::kSustained,
          .full_effort = !(plan.search && plan.search->deadline)};
}

std::vector<Missing> first_races(const TunePlan& plan, const Environment& environment) {
  std::vector<Missing> all;
  for (const Regime regime : plan.regimes) {
    CostFigures figures;
    if (plan.search) figures = cost_figures(plan.search->devices, environment, regime);
    for (const GemmProblem& problem : plan.problems) {
      const Candidates candidates = candidates_for(problem, plan, figures);
      if (candidates.configs.empty()) continue;
      Missing race = race_at(problem, regime, candidates, plan);
      race.configs = candidates.configs;
      if (plan.search) {
        Search search(*plan.search, candidates);
        race.configs = search.first();
        race.later = search.left();
      }
      all.push_back(std::move(race));
    }
  }
  return all;
}

std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment, CurrentKernels& kernels,
                                  SearchStage stage) {
  Choice choice{plan, store, environment, kernels, stage, {}};
  if (stage == SearchStage::kSecond) choice.races = store.races(environment);
  // The same database holds the results of `micro` on this GPU.
  const auto studies = store.studies("micro");
  std::vector<Missing> all;
  for (const Regime regime : plan.regimes) {
    CostFigures figures;
    if (plan.search) {
      figures = calibrated_figures(plan.search->devices, environment, regime, studies);
    }
    for (const GemmProblem& problem : plan.problems) {
      if (auto missing = missing_at(choice, problem, regime, figures)) {
        all.push_back(std::move(*missing));
      }
    }
  }
  return all;
}

}  // namespace hgemm
