// A search at one problem: what it may choose from, and what it measures in its two stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "search/proposer.h"
#include "search/strategy.h"

namespace hgemm {

/// The configs that a search may choose from.
struct Candidates {
  std::vector<KernelConfig> configs;  ///< distinct
  std::vector<double> predicted_us;   ///< for each config
  /// If they are proposals from the whole space, of which others may follow.
  std::optional<Scope> scope = {};
};

/// What a strategy may choose from in the whole space. `count`: how many it will measure at most.
Candidates candidates_in_whole_space(const Scope& scope, StrategyKind strategy, std::size_t count);

/// What races of other problems tell a search.
struct Elsewhere {
  std::vector<Lesson> lessons;
  std::vector<KernelConfig> fastest;  ///< there; they and their neighbours are tried here
};

struct SearchPolicy {
  StrategyKind strategy = StrategyKind::kModel;
  /// Configs of both stages. nullopt: as many as there is time for. Then both stages propose all
  /// configs that are left, and some of these are measured.
  std::optional<std::size_t> budget = {};
  std::uint64_t seed = 0;
};

/// Proposes the configs of the first stage without any measurement, and those of the second after
/// it was told the first ones' times. Only a strategy that learns has a second stage.
class Search {
 public:
  Search(const Candidates& candidates, const SearchPolicy& policy);

  /// The first stage's configs, the most promising first. Call it once, before second().
  std::vector<KernelConfig> first();
  /// Configs of the budget that the first stage leaves.
  std::size_t left() const { return budget_ - first_; }

  /// The speed of a config relative to a baseline's; 0: it failed; nullopt: it was not measured.
  using SpeedOf = std::function<std::optional<double>(const KernelConfig&)>;
  /// The second stage's configs. In the whole space neighbours of the fastest, here and elsewhere,
  /// are among them.
  std::vector<KernelConfig> second(const SpeedOf& speed_of, Elsewhere elsewhere = {});

 private:
  void add_near(const KernelConfig& config);
  std::vector<KernelConfig> configs_of(const std::vector<std::size_t>& indices) const;

  std::optional<Scope> scope_;
  bool has_budget_;
  std::size_t budget_, first_;
  Strategy strategy_;
  std::vector<std::size_t> proposed_;  ///< by the first stage
};

}  // namespace hgemm
