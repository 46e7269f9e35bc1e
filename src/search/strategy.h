// Chooses which configs of a space to measure, and in which order, if not all can be measured. Pure
// logic on numbers: no GPU, clock or store. `hgemm-tune replay` compares the strategies on recorded
// data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "families/family.h"
#include "families/groups.h"
#include "search/crowding.h"

namespace hgemm {

enum class StrategyKind : std::uint8_t {
  /// The order of the cost model, spread over kinds of configs (crowding.h), with some random
  /// configs in between.
  kModel,
  /// One config of each kin (configs that differ in minor axes only) in the order of kModel, then
  /// all of the fastest kin.
  kStaged,
  kAdaptive,    ///< first as kModel, then by predictions that the measurements have corrected
  kLocal,       ///< the cost model's favourites, then the configs nearest to the best of them
  kRandom,      ///< a random order
  kExhaustive,  ///< all configs, in the order of the space
};
std::string_view to_string(StrategyKind kind);  ///< "model", "staged", "adaptive", ...
std::optional<StrategyKind> find_strategy(std::string_view name);
std::vector<std::string_view> strategy_names();

/// Whether a strategy uses measurements. Others can choose all configs at once.
bool learns(StrategyKind kind);

/// Number of configs that are measured before the rest of the budget is chosen: all, unless the
/// strategy learns. More than two stages would teach it more, but each stage is a race of its own,
/// with baselines, a final, and a batch of kernels to wait for.
std::size_t first_stage(StrategyKind kind, std::size_t budget);

/// The part of a space that may be measured: a share of its configs, or a number of them.
struct Budget {
  double share = 0;  ///< used unless it is 0
  int trials = 0;
  std::size_t of(std::size_t configs) const;  ///< at least 1, at most all
};

/// What a race of another problem tells about a config.
struct Lesson {
  KernelConfig config;
  double residual = 0;  ///< logarithm of time over prediction, without what the race has in common
  double distance = 0;  ///< of the two problems, to be added to that of configs
};

struct StrategyPolicy {
  StrategyKind kind = StrategyKind::kModel;
  /// Share of configs that are chosen at random, so that errors of the model can be found. It
  /// applies to kModel, and to kStaged and kAdaptive before they are told or hear anything. The
  /// last stage has no random configs, because nothing is learned from it.
  double random_share = 0.1;
  std::uint64_t seed = 0;
};

/// Proposes configs by index, in an order that its kind defines. The order does not depend on the
/// budget, so that a search with a larger budget continues where a smaller one ended. A strategy
/// that learns() changes its order as soon as it was told of one config that did not fail, or has
/// heard of one:
///   kStaged    by the fastest time of each kin; kin without a measurement come last
///   kAdaptive  by prediction times a correction: the mean of measured over predicted times,
///              weighted by likeness, here and at other problems; details of one core are spread
///              out (crowding.h). With lessons from other problems, every other config is of kinds
///              that were told little of: the problem is searched again because it lacks one.
///   kLocal     by likeness to the fastest config so far
/// With kModel and kAdaptive the twins without PDL of two of the first configs are among the first
/// 16 of each proposal, if they are among the configs, and kAdaptive learns from such pairs what
/// the model errs by for all others without PDL. Only ratios of times to each other and to the
/// predictions matter, so times may be in any unit, or relative to a baseline's.
class Strategy {
 public:
  Strategy(std::span<const KernelConfig> configs, std::span<const double> predicted_us,
           const StrategyPolicy& policy);

  /// At most `count` configs that were not proposed before, the most promising first; fewer only if
  /// fewer are left.
  std::vector<std::size_t> next(std::size_t count);

  /// A config that was proposed but not measured may be proposed again.
  void take_back(std::size_t index) { proposed_[index] = false; }

  /// Tells the time of a config; none: it failed.
  void tell(std::size_t index, std::optional<double> time);
  /// Lessons from other problems. Only kAdaptive uses them, also before it was told a time.
  void hear(std::vector<Lesson> lessons) { heard_ = std::move(lessons); }
  /// The configs that were told, the fastest first.
  std::vector<std::size_t> fastest() const;

  /// More configs, which continue the indices; those that are known already are left out. Once it
  /// has learned, it proposes them as if they had been there from the start; before, last.
  void add(std::span<const KernelConfig> configs, std::span<const double> predicted_us);
  const KernelConfig& config(std::size_t index) const { return configs_[index]; }

 private:
  std::vector<std::size_t> mixed_with_random(const std::vector<std::size_t>& order);
  void favourites_first();
  std::vector<std::size_t> spread(const std::vector<std::size_t>& order,
                                  std::span<const double> log_us, Crowding::Of groups) const;
  std::vector<std::size_t> ranking() const;
  std::optional<std::size_t> twin_of(std::size_t index) const;
  std::vector<std::size_t> with_twins(std::vector<std::size_t> order) const;
  /// What the measurements have in common, in logarithms of times over predictions.
  struct Common {
    double all = 0;          ///< the scale of the model, which says nothing about one config
    double without_pdl = 0;  ///< of configs without PDL, beyond that of all
    double of(const KernelConfig& config) const;  ///< beyond that of all
  };
  Common common_residuals() const;
  double corrected(std::size_t index, const Common& common) const;
  std::size_t kin_of(const KernelConfig& config);

  std::vector<KernelConfig> configs_;
  std::map<std::string, std::size_t> indices_;  ///< by label
  std::vector<ConfigGroups> groups_;
  std::vector<double> predicted_;  ///< logarithms
  StrategyPolicy policy_;
  std::mt19937_64 random_;
  /// Order without random configs; breaks ties once it was told a time.
  std::vector<std::size_t> plain_;
  std::vector<std::size_t> order_;  ///< order before it was told a time
  std::vector<std::size_t> kin_;    ///< number of the kin of each config; kStaged only
  std::map<std::string, std::size_t> kin_numbers_;
  std::vector<bool> proposed_;
  struct Told {
    std::size_t index;
    double residual;  ///< logarithm of time over prediction
    double time;
  };
  std::vector<Told> told_;
  std::vector<Lesson> heard_;
  std::vector<double> kin_times_;  ///< fastest time of each kin
};

}  // namespace hgemm
