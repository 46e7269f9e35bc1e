#include "results/replay.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
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

namespace {

/// The recorded config that stands for a config; nullptr: none does.
using Standing = std::function<const Truth::Entry*(const KernelConfig&)>;

/// One search. Returns the fastest recorded config that it measured; nullptr if it measured none.
const Truth::Entry* search_once(Search search, const Standing& standing, double best,
                                ReplayRow& row) {
  constexpr double kWithin = 0.99;
  const Truth::Entry* fastest = nullptr;
  std::size_t known = 0;
  row.measured = 0;
  row.reached.reset();
  const auto measure = [&](const std::vector<KernelConfig>& configs) {
    for (const KernelConfig& config : configs) {
      ++row.measured;
      const Truth::Entry* const entry = standing(config);
      if (!entry) continue;
      ++known;
      if (!fastest || entry->speed > fastest->speed) fastest = entry;
      if (!row.reached && fastest->speed >= kWithin * best) row.reached = row.measured;
    }
  };
  measure(search.first());
  if (search.left() > 0) {
    measure(search.second([&](const KernelConfig& config) -> std::optional<double> {
      const Truth::Entry* const entry = standing(config);
      return entry ? std::optional(entry->speed) : std::nullopt;
    }));
  }
  if (row.known) row.known = known;
  return fastest;
}

/// Completes a row with one search for each seed.
void search_often(const Truth& truth, const Candidates& candidates, SearchPolicy policy, int seeds,
                  const Standing& standing, ReplayRow& row) {
  std::vector<double> fractions;
  for (int seed = seeds; seed-- > 0;) {  // the row is that of seed 0
    policy.seed = static_cast<std::uint64_t>(seed);
    const Truth::Entry* const fastest =
        search_once(Search(candidates, policy), standing, truth.best(), row);
    fractions.push_back(fastest ? fastest->speed / truth.best() : 0);
    row.found = fastest ? label(fastest->config) : "";
  }
  row.best_fraction = median(fractions);
  row.worst_fraction = std::ranges::min(fractions);
  row.best = label(std::ranges::max_element(truth.entries, {}, &Truth::Entry::speed)->config);
}

ReplayRow row_of(const Truth& truth, StrategyKind strategy, std::size_t configs) {
  return {.problem = truth.problem,
          .regime = truth.regime,
          .gpu_name = truth.environment.gpu_name,
          .strategy = std::string(to_string(strategy)),
          .configs = configs,
          .found = {},
          .best = {}};
}

}  // namespace

ReplayRow replay(const Truth& truth, std::span<const double> predicted_us, StrategyKind kind,
                 const Budget& budget, int seeds) {
  Candidates candidates{.configs = {}, .predicted_us = {}, .scope = {}};
  std::map<std::string, const Truth::Entry*> entries;
  for (const Truth::Entry& entry : truth.entries) {
    candidates.configs.push_back(entry.config);
    entries.emplace(label(entry.config), &entry);
  }
  candidates.predicted_us.assign(predicted_us.begin(), predicted_us.end());
  const std::size_t configs = truth.entries.size();
  ReplayRow row = row_of(truth, kind, configs);
  const SearchPolicy policy{
      .strategy = kind, .budget = kind == StrategyKind::kExhaustive ? configs : budget.of(configs)};
  search_often(
      truth, candidates, policy, seeds,
      [&](const KernelConfig& config) { return entries.at(label(config)); }, row);
  return row;
}

ReplayRow replay_whole(const Truth& truth, const Candidates& candidates, StrategyKind kind,
                       std::size_t budget, int seeds) {
  std::map<std::string, const Truth::Entry*> known;
  const auto standing = [&](const KernelConfig& config) {
    const auto [at, is_new] = known.try_emplace(label(config), nullptr);
    double nearest = kNear;
    for (const Truth::Entry& entry : truth.entries) {
      if (!is_new) break;
      const double distance = config_distance(entry.config, config);
      if (distance > nearest || (at->second && distance == nearest)) continue;
      nearest = distance;
      at->second = &entry;
    }
    return at->second;
  };
  ReplayRow row = row_of(truth, kind, candidates.configs.size());
  row.known = 0;
  search_often(truth, candidates, {.strategy = kind, .budget = budget}, seeds, standing, row);
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
