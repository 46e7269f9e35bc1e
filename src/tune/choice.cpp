#include "tune/choice.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "model/calibration.h"
#include "model/cost.h"
#include "replay/speeds.h"
#include "space/label.h"
#include "space/space.h"

namespace hgemm {
namespace {

/// What a search may choose from.
struct Candidates {
  std::vector<KernelConfig> configs;
  std::vector<double> predicted_us;  ///< of each, if there is a search
};

Candidates candidates_for(const Shape& shape, const TunePlan& plan, const CostFigures& figures) {
  Candidates found;
  for (const KernelConfig& config : plan.configs) {
    if (plan.only_suitable ? suits(config, shape) : is_made_for(config, shape)) {
      found.configs.push_back(config);
    }
  }
  if (!plan.search) return found;
  std::erase_if(found.configs, [&](const auto& c) { return why_unsupported(c, shape); });
  for (const KernelConfig& config : found.configs) {
    found.predicted_us.push_back(predict_cost(figures, config, shape).us());
  }
  return found;
}

/// How those that have these labels did in races at full effort. Races of none of them are those of
/// the second stage; what else ran beside them says where a final began.
std::map<std::string, double> speeds_of(const std::set<std::string>& labels, const Shape& shape,
                                        Regime regime, std::span<const RecordedRace> races) {
  KnownSpeeds known;
  for (const RecordedRace& recorded : races) {
    if (recorded.race.regime != regime || !recorded.race.shape.same_problem(shape)) continue;
    if (recorded.race.timing.brief) continue;
    const bool has_any = std::ranges::any_of(
        recorded.race.trials, [&](const Trial& trial) { return labels.contains(trial.label); });
    if (has_any) known.add(recorded.race);
  }
  std::map<std::string, double> speeds = known.all();
  std::erase_if(speeds, [&](const auto& item) { return !labels.contains(item.first); });
  return speeds;
}

/// One search at one shape in one regime.
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
  std::size_t left() const { return budget_ - first_.size(); }  ///< of the budget, after the first
  /// By the speeds of the first, by label.
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

std::set<std::string> labels_of(std::span<const KernelConfig> configs) {
  std::set<std::string> labels;
  for (const KernelConfig& config : configs) labels.insert(label(config));
  return labels;
}

}  // namespace

std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment, SearchStage stage) {
  std::vector<RecordedRace> races;
  if (stage == SearchStage::kSecond) races = store.races(environment);
  // What `micro` measured on the GPU is in the same database.
  const auto studies = store.studies(StudyKind::kMicro);
  const bool full_effort = !(plan.search && plan.search->deadline);
  std::vector<Missing> all;
  for (const Regime regime : plan.regimes) {
    const bool energy = plan.energy && regime == Regime::kSustained;
    CostFigures figures;
    if (plan.search) {
      figures = calibrated_figures(plan.search->devices, environment, regime, studies);
    }
    for (const Shape& shape : plan.shapes) {
      std::set<std::string> known = store.finished(environment, shape, regime,
                                                   {.energy = energy, .full_effort = full_effort});
      const Candidates candidates = candidates_for(shape, plan, figures);
      if (candidates.configs.empty()) continue;
      Missing missing{shape, regime, {}, candidates.configs.size(), 0, energy};
      std::vector<KernelConfig> chosen = candidates.configs;
      if (plan.search) {
        missing.launch_us = std::ranges::min(candidates.predicted_us);
        Search search(*plan.search, candidates);
        chosen = search.first();
        missing.later = search.left();
        if (stage == SearchStage::kSecond) {
          const std::set<std::string> first = labels_of(chosen);
          // A finalist's energy may be what this GPU cannot say.
          const auto ended =
              store.finished(environment, shape, regime, {.full_effort = full_effort});
          if (!std::ranges::includes(ended, first)) continue;
          chosen = search.second(speeds_of(first, shape, regime, races));
        }
      }
      for (const KernelConfig& config : chosen) {
        if (known.insert(label(config)).second) missing.configs.push_back(config);
      }
      if (!missing.configs.empty()) all.push_back(std::move(missing));
    }
  }
  return all;
}

}  // namespace hgemm
