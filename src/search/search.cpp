#include "search/search.h"

#include <algorithm>
#include <utility>

namespace hgemm {
namespace {

/// The fastest of the first stage, whose neighbours the second stage may take.
constexpr std::size_t kCentres = 4;

void add(std::vector<Proposal> proposals, Candidates& candidates) {
  for (Proposal& proposal : proposals) {
    candidates.configs.push_back(std::move(proposal.config));
    candidates.predicted_us.push_back(proposal.predicted_us);
  }
}

}  // namespace

Candidates candidates_in_whole_space(const Scope& scope, StrategyKind strategy, std::size_t count) {
  Candidates candidates{.configs = {}, .predicted_us = {}, .scope = scope};
  // Its seed is that of the order in which a strategy takes them: none. The same points are drawn
  // for every tune, so that the same command goes on with them.
  add(strategy == StrategyKind::kRandom ? draw(scope, count, 0) : propose(scope), candidates);
  return candidates;
}

Search::Search(const Candidates& candidates, const SearchPolicy& policy)
    : scope_(candidates.scope),
      has_budget_(policy.budget.has_value()),
      budget_(
          std::min(policy.budget.value_or(candidates.configs.size()), candidates.configs.size())),
      first_(has_budget_ ? first_stage(policy.strategy, budget_) : budget_),
      strategy_(candidates.configs, candidates.predicted_us,
                {.kind = policy.strategy, .seed = policy.seed}) {}

std::vector<KernelConfig> Search::first() {
  proposed_ = strategy_.next(first_);
  return configs_of(proposed_);
}

std::vector<KernelConfig> Search::second(const SpeedOf& speed_of, Elsewhere elsewhere) {
  for (const std::size_t index : proposed_) {
    const std::optional<double> speed = speed_of(strategy_.config(index));
    if (!speed && !has_budget_) strategy_.take_back(index);
    strategy_.tell(index, speed && *speed > 0 ? std::optional(1 / *speed) : std::nullopt);
  }
  const std::vector<std::size_t> fastest = strategy_.fastest();
  strategy_.hear(std::move(elsewhere.lessons));
  for (std::size_t i = 0; i < std::min(fastest.size(), kCentres); ++i) {
    add_near(KernelConfig(strategy_.config(fastest[i])));
  }
  for (const KernelConfig& config : elsewhere.fastest) add_near(config);
  return configs_of(strategy_.next(has_budget_ ? left() : budget_));
}

/// Adds a config of the whole space, if it can be raced here, and its neighbours.
void Search::add_near(const KernelConfig& config) {
  if (!scope_) return;
  Candidates near;
  if (allows(scope_->allowed, config, scope_->problem.kind()) && suits(config, scope_->problem) &&
      !why_not(config, scope_->problem)) {
    near.configs.push_back(config);
    near.predicted_us.push_back(predict_cost(scope_->figures, config, scope_->problem).us());
  }
  add(neighbours(*scope_, config), near);
  strategy_.add(near.configs, near.predicted_us);
}

std::vector<KernelConfig> Search::configs_of(const std::vector<std::size_t>& indices) const {
  std::vector<KernelConfig> configs;
  for (const std::size_t index : indices) configs.push_back(strategy_.config(index));
  return configs;
}

}  // namespace hgemm
