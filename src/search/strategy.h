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

#include "kernels/config.h"

namespace hgemm {

enum class StrategyKind : std::uint8_t {
  kModel,       ///< in the cost model's order, and in between some at random
  kAdaptive,    ///< in the cost model's order to begin with, then corrected by what was measured
  kLocal,       ///< from the cost model's favourites to whatever is nearest to the best so far
  kRandom,      ///< in a random order
  kExhaustive,  ///< all, in the space's order
};
std::string_view to_string(StrategyKind kind);  ///< "model", "adaptive", "local", ...
std::optional<StrategyKind> find_strategy(std::string_view name);
std::vector<std::string_view> strategy_names();

/// Whether it needs to be told what was measured. Others can choose all at once.
bool learns(StrategyKind kind);

/// What may be measured of a space: a share of its configs, or so many.
struct Budget {
  double share = 0;  ///< used if it is not 0
  int trials = 0;
  std::size_t of(std::size_t configs) const;  ///< at least 1, at most all
};

struct StrategyPolicy {
  StrategyKind kind = StrategyKind::kModel;
  /// Configs that will be measured: when those that learn leave the model's order. 0: all. The
  /// others propose the same in the same order whatever the budget is, so that a search with a
  /// larger one goes on where a smaller one ended.
  std::size_t budget = 0;
  /// Of what kModel proposes, and kAdaptive once it has left the model's order: what is chosen
  /// blindly, so that what the model has wrong can be found.
  double random_share = 0.1;
  std::uint64_t seed = 0;
};

/// How unlike two configs are: a sum over the axes, about 1 for a tile of twice the size.
double config_distance(const KernelConfig& a, const KernelConfig& b);

/// Proposes configs by index. Adaptive: the first part of the budget in the order of
/// `predicted_us`, then by prediction times a correction: a mean of what measured configs took over
/// what was predicted for them, weighted by likeness. Only ratios of times matter, to each other
/// and to the predictions, so that times may be in any unit, or over a baseline's.
class Strategy {
 public:
  Strategy(std::span<const KernelConfig> configs, std::span<const double> predicted_us,
           const StrategyPolicy& policy);

  /// At most `count` that were not proposed before, the most promising first; fewer only if no more
  /// are left. A strategy that learns() should be told how they did before the next call.
  std::vector<std::size_t> next(std::size_t count);

  /// How long it took; none: it failed.
  void tell(std::size_t index, std::optional<double> time);

 private:
  void mix_in_random();
  std::size_t best_left();
  std::size_t random_left();
  double common_residual() const;

  std::vector<KernelConfig> configs_;
  std::vector<double> predicted_;  ///< logarithms
  StrategyPolicy policy_;
  std::mt19937_64 random_;
  std::vector<std::size_t> order_;  ///< the model's, random, or as given
  std::vector<bool> proposed_;
  std::size_t proposals_ = 0;
  struct Told {
    std::size_t index;
    double residual;  ///< logarithm of time over prediction
    double time;
  };
  std::vector<Told> told_;
  // Of each config over all that were told: weights, and weighted residuals.
  std::vector<double> likeness_, correction_;
};

}  // namespace hgemm
