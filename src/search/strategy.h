// Which configs of a space to measure, in which order, where not all of them can be. Pure logic,
// fed numbers: no GPU, no clock, no store. `hgemm-tune replay` compares the strategies on recorded
// data.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "families/family.h"

namespace hgemm {

enum class StrategyKind : std::uint8_t {
  kModel,  ///< in the cost model's order, and in between some at random
  /// One of each kin (configs that differ in minor axes only) as kModel would, then all of the
  /// fastest kin.
  kStaged,
  kAdaptive,    ///< as kModel to begin with, then by predictions that these have corrected
  kLocal,       ///< the cost model's favourites, then whatever is nearest to the best of them
  kRandom,      ///< in a random order
  kExhaustive,  ///< all, in the space's order
};
std::string_view to_string(StrategyKind kind);  ///< "model", "staged", "adaptive", ...
std::optional<StrategyKind> find_strategy(std::string_view name);
std::vector<std::string_view> strategy_names();

/// Whether it needs to be told what was measured. Others can choose all at once.
bool learns(StrategyKind kind);

/// How much of a budget is measured before the rest of it is chosen: all, unless it learns. More
/// stages than these two would teach it more, but each is a race of its own, with baselines and a
/// final, and a batch of kernels to wait for.
std::size_t first_stage(StrategyKind kind, std::size_t budget);

/// What may be measured of a space: a share of its configs, or so many.
struct Budget {
  double share = 0;  ///< used if it is not 0
  int trials = 0;
  std::size_t of(std::size_t configs) const;  ///< at least 1, at most all
};

struct StrategyPolicy {
  StrategyKind kind = StrategyKind::kModel;
  /// Of what kModel proposes, and kStaged and kAdaptive before they are told anything: what is
  /// chosen blindly, so that what the model has wrong can be found. What is found in the last stage
  /// teaches nothing: there is nothing blind in it.
  double random_share = 0.1;
  std::uint64_t seed = 0;
};

/// Proposes configs by index, in an order of its kind: without budget, so that a search with a
/// larger one goes on where a smaller one ended. One that learns() has another order as soon as it
/// was told of one config that did not fail:
///   kStaged    kin by the fastest that was told of each; those of which nothing was come last
///   kAdaptive  by prediction times a correction: a mean of what configs took over what was
///              predicted for them, weighted by likeness
///   kLocal     by likeness to the fastest that was told
/// Only ratios of times matter, to each other and to the predictions, so that times may be in any
/// unit, or over a baseline's.
class Strategy {
 public:
  Strategy(std::span<const KernelConfig> configs, std::span<const double> predicted_us,
           const StrategyPolicy& policy);

  /// At most `count` that were not proposed before, the most promising first; fewer only if no more
  /// are left.
  std::vector<std::size_t> next(std::size_t count);

  /// How long it took; none: it failed.
  void tell(std::size_t index, std::optional<double> time);

 private:
  std::vector<std::size_t> mixed_with_random(const std::vector<std::size_t>& order);
  std::vector<std::size_t> favourites_first();
  std::vector<std::size_t> ranking() const;
  double corrected(std::size_t index, double common) const;
  double common_residual() const;

  std::vector<KernelConfig> configs_;
  std::vector<double> predicted_;  ///< logarithms
  StrategyPolicy policy_;
  std::mt19937_64 random_;
  std::vector<std::size_t> plain_;  ///< without anything blind: among equals, once it was told
  std::vector<std::size_t> order_;  ///< before anything was told
  std::vector<std::size_t> kin_;    ///< of each config, by number; kStaged only
  std::vector<bool> proposed_;
  struct Told {
    std::size_t index;
    double residual;  ///< logarithm of time over prediction
    double time;
  };
  std::vector<Told> told_;
  std::vector<double> kin_times_;  ///< the fastest that was told of each
  // Of each config over all that were told: weights, and weighted residuals. kAdaptive only.
  std::vector<double> likeness_, correction_;
};

}  // namespace hgemm
