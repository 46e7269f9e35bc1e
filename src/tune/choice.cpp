#include "tune/choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "families/family.h"
#include "results/speeds.h"
#include "search/calibration.h"
#include "search/figures.h"
#include "search/search.h"

namespace hgemm {
namespace {

/// Random points of the whole space that a tune within a time may choose from.
constexpr std::size_t kRandomPoints = 2000;

Candidates proposals_for(const GemmProblem& problem, const TunePlan& plan,
                         const CostFigures& figures) {
  const SearchPlan& search = *plan.search;
  const Scope scope{
      .problem = problem, .figures = figures, .limits = {}, .allowed = plan.whole->allowed};
  return candidates_in_whole_space(
      scope, search.strategy,
      search.deadline ? kRandomPoints : static_cast<std::size_t>(search.budget.trials));
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

SearchPolicy policy_of(const SearchPlan& search, std::size_t candidates) {
  SearchPolicy policy{.strategy = search.strategy};
  if (!search.deadline) policy.budget = search.budget.of(candidates);
  return policy;
}

/// Calls `use` with the outset of each race of the plan, all problems in one regime, then in the
/// next.
template <class FiguresIn, class Use>
void for_each_outset(const TunePlan& plan, const FiguresIn& figures_in, const Use& use) {
  for (const Regime regime : plan.regimes) {
    const CostFigures figures = plan.search ? figures_in(regime) : CostFigures{};
    make_in_parallel(
        plan.problems.size(),
        [&](std::size_t i) {
          const GemmProblem& problem = plan.problems[i];
          return outset_of(candidates_for(problem, plan, figures), problem, regime, plan);
        },
        [&](std::optional<Outset> outset) {
          if (outset) use(std::move(*outset));
        });
  }
}

/// Whose energy the races measure themselves. A search changes its winners from race to race.
Weighed weighed_in_races(const TunePlan& plan, Regime regime) {
  if (regime != Regime::kSustained) return Weighed::kNothing;
  return plan.weighed == Weighed::kWinners && plan.search ? Weighed::kNothing : plan.weighed;
}

/// The configs proposed in this stage; none if the stage before has not ended.
std::optional<std::vector<KernelConfig>> proposed(const Choice& choice, Outset& outset) {
  Missing& race = outset.race;
  if (!outset.search || choice.stage == SearchStage::kFirst) return outset.first;
  race.only_full = choice.plan.search->deadline.has_value();
  Wanted told = wanted(choice.plan, race.regime);
  told.energy = false;  // not required: this GPU may have no energy counter
  if (!race.only_full && !choice.ended(race.problem, race.regime, told).has_all(outset.first)) {
    return std::nullopt;
  }
  const auto speeds =
      speeds_of(outset.first, race.problem, race.regime, choice.races, choice.kernels);
  if (race.only_full && speeds.empty()) return std::nullopt;
  return outset.search->second([&](const KernelConfig& config) -> std::optional<double> {
    const auto found = speeds.find(label(config));
    return found == speeds.end() ? std::nullopt : std::optional(found->second);
  });
}

std::optional<Missing> missing_at(const Choice& choice, Outset outset) {
  const auto chosen = proposed(choice, outset);
  if (!chosen) return std::nullopt;
  Missing missing = std::move(outset.race);
  const Ended ended =
      choice.ended(missing.problem, missing.regime, wanted(choice.plan, missing.regime));
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

Candidates candidates_for(const GemmProblem& problem, const TunePlan& plan,
                          const CostFigures& figures) {
  if (plan.whole) return proposals_for(problem, plan, figures);
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

std::optional<Outset> outset_of(const Candidates& candidates, const GemmProblem& problem,
                                Regime regime, const TunePlan& plan) {
  if (candidates.configs.empty()) return std::nullopt;
  Outset outset{
      Missing{problem, regime, {}, candidates.configs.size(), 0, weighed_in_races(plan, regime)},
      std::nullopt,
      {}};
  if (plan.search) {
    outset.race.launch_us = std::ranges::min(candidates.predicted_us);
    outset.search.emplace(candidates, policy_of(*plan.search, candidates.configs.size()));
    outset.first = outset.search->first();
    outset.race.later = outset.search->left();
  } else {
    outset.first = candidates.configs;
  }
  return outset;
}

Wanted wanted(const TunePlan& plan, Regime regime) {
  return {.energy = plan.weighed == Weighed::kFinalists && regime == Regime::kSustained,
          .full_effort = !(plan.search && plan.search->deadline)};
}

std::vector<Missing> first_races(const TunePlan& plan, const Environment& environment) {
  std::vector<Missing> all;
  const auto figures_in = [&](Regime regime) {
    return cost_figures(plan.search->devices, environment, regime);
  };
  for_each_outset(plan, figures_in, [&](Outset outset) {
    outset.race.configs = std::move(outset.first);
    all.push_back(std::move(outset.race));
  });
  return all;
}

std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment, CurrentKernels& kernels,
                                  SearchStage stage) {
  Choice choice{plan, store, environment, kernels, stage, {}};
  if (stage == SearchStage::kSecond) choice.races = store.races(environment);
  // The same database holds the results of `micro` on this GPU.
  const auto studies = store.studies("micro");
  const auto figures_in = [&](Regime regime) {
    return calibrated_figures(plan.search->devices, environment, regime, studies);
  };
  std::vector<Missing> all;
  for_each_outset(plan, figures_in, [&](Outset outset) {
    if (auto missing = missing_at(choice, std::move(outset))) all.push_back(std::move(*missing));
  });
  return all;
}

}  // namespace hgemm
