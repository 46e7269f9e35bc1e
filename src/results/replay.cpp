#include "results/replay.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/statistics.h"
#include "families/family.h"
#include "results/speeds.h"

namespace hgemm {
namespace {

/// All races of one problem in one regime, environment and generation of kernels, on any card.
struct Group {
  const RecordedRace* newest;
  KnownSpeeds known{};

  bool is_of(const RecordedRace& race) const {
    return newest->race.regime == race.race.regime &&
           newest->race.problem.same_problem(race.race.problem) &&
           newest->environment == race.environment &&
           newest->run.kernel_sources == race.run.kernel_sources;
  }
};

Truth truth_of(const Group& group) {
  Truth truth{.problem = group.newest->race.problem,
              .regime = group.newest->race.regime,
              .environment = group.newest->environment,
              .kernel_sources = group.newest->run.kernel_sources,
              .entries = {}};
  for (const auto& [label, speed] : group.known.all()) {
    truth.entries.push_back({parse_label(label), speed});
  }
  return truth;
}

}  // namespace

double Truth::best() const { return std::ranges::max(entries, {}, &Entry::speed).speed; }

std::vector<Truth> truths(std::span<const RecordedRace> races) {
  std::vector<Group> groups;
  for (const RecordedRace& race : races) {
    auto group =
        std::ranges::find_if(groups, [&](const Group& known) { return known.is_of(race); });
    if (group == groups.end()) group = groups.insert(groups.end(), Group{&race});
    group->newest = &race;
    group->known.add(race.race);
  }
  std::erase_if(groups, [](const Group& group) { return !group.known.has_final(); });

  // The first group of a GPU, problem and regime determines the place; the group with the most
  // configs is used.
  std::vector<const Group*> chosen;
  for (const Group& group : groups) {
    const auto same = std::ranges::find_if(chosen, [&](const Group* other) {
      return other->newest->environment.gpu_name == group.newest->environment.gpu_name &&
             other->newest->race.regime == group.newest->race.regime &&
             other->newest->race.problem.same_problem(group.newest->race.problem);
    });
    if (same == chosen.end()) {
      chosen.push_back(&group);
    } else if (group.known.size() >= (*same)->known.size()) {
      *same = &group;
    }
  }
  std::vector<Truth> all;
  for (const Group* group : chosen) all.push_back(truth_of(*group));
  return all;
}

void keep_problems(std::vector<Truth>& truths, std::span<const GemmProblem> problems) {
  if (problems.empty()) {
    std::erase_if(truths, [](const Truth& truth) { return !truth.problem.data.is_normal(); });
    return;
  }
  std::erase_if(truths, [&](const Truth& truth) {
    return std::ranges::none_of(
        problems, [&](const GemmProblem& problem) { return problem.same_problem(truth.problem); });
  });
}

double ReplayRow::measured_fraction() const {
  return static_cast<double>(measured) / static_cast<double>(configs);
}

ReplayRow replay(const Truth& truth, std::span<const double> predicted_us, StrategyKind kind,
                 const Budget& budget, int seeds) {
  std::vector<KernelConfig> configs;
  for (const Truth::Entry& entry : truth.entries) configs.push_back(entry.config);
  const std::size_t trials =
      kind == StrategyKind::kExhaustive ? configs.size() : budget.of(configs.size());
  const std::size_t first = first_stage(kind, trials);

  ReplayRow row{.problem = truth.problem,
                .regime = truth.regime,
                .gpu_name = truth.environment.gpu_name,
                .strategy = std::string(to_string(kind)),
                .configs = configs.size(),
                .found = {},
                .best = {}};
  std::vector<double> fractions;
  for (int seed = 0; seed < seeds; ++seed) {
    Strategy strategy(configs, predicted_us,
                      {.kind = kind, .seed = static_cast<std::uint64_t>(seed)});
    row.measured = 0;
    const Truth::Entry* fastest = nullptr;
    for (const std::size_t stage : {first, trials - first}) {
      const auto chosen = strategy.next(stage);
      row.measured += chosen.size();
      for (const std::size_t index : chosen) {
        const Truth::Entry& entry = truth.entries[index];
        strategy.tell(index, told_time(entry.speed));
        if (!fastest || entry.speed > fastest->speed) fastest = &entry;
      }
    }
    fractions.push_back(fastest->speed / truth.best());
    if (seed == 0) row.found = label(fastest->config);
  }
  row.best_fraction = median(fractions);
  row.worst_fraction = std::ranges::min(fractions);
  row.best = label(std::ranges::max_element(truth.entries, {}, &Truth::Entry::speed)->config);
  return row;
}

std::optional<ReplayRow> judge(const Truth& truth, const std::string& tune,
                               const std::string& label, std::size_t measured) {
  const auto winner = std::ranges::find_if(truth.entries, [&](const Truth::Entry& entry) {
    return hgemm::label(entry.config) == label;
  });
  if (winner == truth.entries.end()) return std::nullopt;
  const auto best = std::ranges::max_element(truth.entries, {}, &Truth::Entry::speed);
  const double fraction = winner->speed / best->speed;
  return ReplayRow{.problem = truth.problem,
                   .regime = truth.regime,
                   .gpu_name = truth.environment.gpu_name,
                   .strategy = tune,
                   .configs = truth.entries.size(),
                   .measured = measured,
                   .best_fraction = fraction,
                   .worst_fraction = fraction,
                   .found = label,
                   .best = hgemm::label(best->config)};
}

}  // namespace hgemm
