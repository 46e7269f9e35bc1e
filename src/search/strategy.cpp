#include "search/strategy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "base/statistics.h"
#include "families/family.h"

namespace hgemm {
namespace {

constexpr std::array<std::pair<StrategyKind, std::string_view>, 6> kNames = {{
    {StrategyKind::kModel, "model"},
    {StrategyKind::kStaged, "staged"},
    {StrategyKind::kAdaptive, "adaptive"},
    {StrategyKind::kLocal, "local"},
    {StrategyKind::kRandom, "random"},
    {StrategyKind::kExhaustive, "exhaustive"},
}};

/// Share of the budget that the first stage measures, for each strategy that learns.
constexpr double kStagedShare = 0.5;
constexpr double kAdaptiveShare = 0.4;
constexpr double kLocalShare = 0.15;
/// Fewer measurements teach nothing.
constexpr std::size_t kLeastFirst = 3;
/// Distance between configs at which the weight of a measurement is one half.
constexpr double kReach = 1.0;
/// A measurement at another problem weighs more by so much if it is of the same config, and by half
/// of that at this distance. When the configs of 352 shapes were predicted from the nearest shapes,
/// the best of the five likeliest was 0.6 % behind the best of all, 0.8 % without this weight, and
/// 2.0 % without lessons (analysis/kernel-notes.md, "A tune learns from its own shapes").
constexpr double kSameConfig = 16;
constexpr double kNarrowReach = 0.25;
/// Weight of "the prediction is right" against measurements.
constexpr double kTrust = 0.5;
/// So many of the first configs of each proposal have their twins without PDL among the first, one
/// for kTwinEvery configs. The model takes PDL to save the time between two launches, so nearly all
/// that it proposes for short kernels has PDL: at 128x7168x2048 with scales of blocks 2 of 778
/// configs had none, where the best without is 4 % faster than the best of these
/// (analysis/kernel-notes.md, "A kernel that waits for its stages loses by PDL"). With the twins
/// `replay` is as good as without: 0.9990 in place of 0.9982 at 1 % of the configs, adaptive. Right
/// behind their siblings they are too early for brief races (0.9963).
constexpr std::size_t kTwins = 2;
constexpr std::size_t kTwinEvery = 8;

bool uses_pdl(const KernelConfig& config) { return pdl_kind(config) != PdlKind::kOff; }

double bell(double x) { return std::exp2(-x * x); }

/// One from each of two orders of the same indices in turn, each index once.
std::vector<std::size_t> alternated(const std::vector<std::size_t>& one,
                                    const std::vector<std::size_t>& other) {
  std::vector<std::size_t> mixed;
  std::set<std::size_t> placed;
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (const std::size_t index : {one[i], other[i]}) {
      if (placed.insert(index).second) mixed.push_back(index);
    }
  }
  return mixed;
}

}  // namespace

std::string_view to_string(StrategyKind kind) {
  return std::ranges::find(kNames, kind, &std::pair<StrategyKind, std::string_view>::first)->second;
}

std::optional<StrategyKind> find_strategy(std::string_view name) {
  const auto found =
      std::ranges::find(kNames, name, &std::pair<StrategyKind, std::string_view>::second);
  if (found == kNames.end()) return std::nullopt;
  return found->first;
}

std::vector<std::string_view> strategy_names() {
  std::vector<std::string_view> names;
  for (const auto& [kind, name] : kNames) names.push_back(name);
  return names;
}

bool learns(StrategyKind kind) {
  return kind == StrategyKind::kStaged || kind == StrategyKind::kAdaptive ||
         kind == StrategyKind::kLocal;
}

std::size_t first_stage(StrategyKind kind, std::size_t budget) {
  if (!learns(kind)) return budget;
  const double share = kind == StrategyKind::kStaged     ? kStagedShare
                       : kind == StrategyKind::kAdaptive ? kAdaptiveShare
                                                         : kLocalShare;
  const auto first = static_cast<std::size_t>(share * static_cast<double>(budget));
  return std::min(std::max(first, kLeastFirst), budget);
}

std::size_t Budget::of(std::size_t configs) const {
  constexpr double kRounding = 1e-9;  // 29 % of 100 are 29
  const double wanted =
      share != 0 ? std::floor(share * static_cast<double>(configs) + kRounding) : trials;
  return std::min(static_cast<std::size_t>(std::max(1.0, wanted)), configs);
}

Strategy::Strategy(std::span<const KernelConfig> configs, std::span<const double> predicted_us,
                   const StrategyPolicy& policy)
    : policy_(policy), random_(policy.seed) {
  add(configs, predicted_us);
  if (policy.kind == StrategyKind::kRandom) {
    std::ranges::shuffle(plain_, random_);
  } else if (policy.kind != StrategyKind::kExhaustive) {
    std::ranges::stable_sort(plain_, {}, [this](std::size_t i) { return predicted_[i]; });
  }
  order_ = plain_;
  if (policy.kind == StrategyKind::kModel || policy.kind == StrategyKind::kAdaptive) {
    plain_ = spread(plain_, predicted_, Crowding::Of::kAll);
    order_ = mixed_with_random(plain_);
  }
  if (policy.kind == StrategyKind::kStaged) favourites_first();
}

void Strategy::add(std::span<const KernelConfig> configs, std::span<const double> predicted_us) {
  for (std::size_t i = 0; i < configs.size(); ++i) {
    if (!indices_.emplace(label(configs[i]), configs_.size()).second) continue;
    plain_.push_back(configs_.size());
    if (!order_.empty()) order_.push_back(configs_.size());
    configs_.push_back(configs[i]);
    predicted_.push_back(std::log(predicted_us[i]));
    groups_.push_back(groups_of(configs[i]));
    proposed_.push_back(false);
    if (policy_.kind == StrategyKind::kStaged) kin_.push_back(kin_of(configs[i]));
  }
}

std::size_t Strategy::kin_of(const KernelConfig& config) {
  const auto [kin, is_new] =
      kin_numbers_.emplace(label(without_minor_axes(config)), kin_numbers_.size());
  if (is_new) kin_times_.push_back(std::numeric_limits<double>::infinity());
  return kin->second;
}

/// The configs of the order, the fastest first, spread over groups. Those that were told count as
/// their members.
std::vector<std::size_t> Strategy::spread(const std::vector<std::size_t>& order,
                                          std::span<const double> log_us,
                                          Crowding::Of groups) const {
  Crowding crowding(groups);
  for (const Told& told : told_) crowding.score(0, groups_[told.index]);
  std::vector<double> scores(configs_.size());
  for (const std::size_t i : order) scores[i] = crowding.score(log_us[i], groups_[i]);
  std::vector<std::size_t> spread = order;
  std::ranges::stable_sort(spread, {}, [&](std::size_t i) { return scores[i]; });
  return spread;
}

/// The order with some configs, chosen at random, brought forward.
std::vector<std::size_t> Strategy::mixed_with_random(const std::vector<std::size_t>& order) {
  if (policy_.random_share <= 0) return order;
  const auto every = static_cast<std::size_t>(std::max(2.0, std::round(1 / policy_.random_share)));
  std::vector<std::size_t> blind = order;
  std::ranges::shuffle(blind, random_);
  std::vector<bool> placed(configs_.size(), false);
  std::vector<std::size_t> mixed;
  std::size_t next_favourite = 0;
  std::size_t next_blind = 0;
  const auto place_next = [&](const std::vector<std::size_t>& from, std::size_t& at) {
    while (placed[from[at]]) ++at;
    placed[from[at]] = true;
    mixed.push_back(from[at]);
  };
  while (mixed.size() < order.size()) {
    const bool blindly = mixed.size() % every == every - 1;
    place_next(blindly ? blind : order, blindly ? next_blind : next_favourite);
  }
  return mixed;
}

/// Brings the config of each kin that the model ranks first to the front.
void Strategy::favourites_first() {
  std::vector<bool> has_favourite(kin_times_.size(), false);
  std::vector<std::size_t> favourites, others;
  for (const std::size_t i : plain_) {
    (has_favourite[kin_[i]] ? others : favourites).push_back(i);
    has_favourite[kin_[i]] = true;
  }
  order_ = mixed_with_random(favourites);
  plain_ = favourites;
  for (std::vector<std::size_t>* all : {&plain_, &order_}) {
    all->insert(all->end(), others.begin(), others.end());
  }
}

std::vector<std::size_t> Strategy::next(std::size_t count) {
  std::vector<std::size_t> chosen = ranking();
  if (policy_.kind == StrategyKind::kModel || policy_.kind == StrategyKind::kAdaptive) {
    chosen = with_twins(std::move(chosen));
  }
  chosen.resize(std::min(count, chosen.size()));
  for (const std::size_t index : chosen) proposed_[index] = true;
  return chosen;
}

/// The same config without PDL.
std::optional<std::size_t> Strategy::twin_of(std::size_t index) const {
  if (!uses_pdl(configs_[index])) return std::nullopt;
  const auto found = indices_.find(label(with_pdl(configs_[index], false)));
  if (found == indices_.end()) return std::nullopt;
  return found->second;
}

/// The order with the twins of its first configs, of different cores, brought forward: one for
/// every kTwinEvery configs.
std::vector<std::size_t> Strategy::with_twins(std::vector<std::size_t> order) const {
  const std::size_t first = std::min(order.size(), kTwins * kTwinEvery);
  std::vector<std::size_t> twins;
  std::set<std::uint64_t> cores;
  for (std::size_t i = 0; i < first && twins.size() < kTwins; ++i) {
    const std::optional<std::size_t> twin = twin_of(order[i]);
    if (!twin || proposed_[*twin] || !cores.insert(groups_[order[i]].core).second) continue;
    twins.push_back(*twin);
  }
  for (std::size_t i = 0; i < twins.size(); ++i) {
    const std::size_t at = std::min((i + 1) * kTwinEvery, order.size()) - 1;
    const auto found = std::ranges::find(order, twins[i]);
    const auto place = order.begin() + static_cast<std::ptrdiff_t>(at);
    if (found > place) std::rotate(place, found, found + 1);
  }
  return order;
}

void Strategy::tell(std::size_t index, std::optional<double> time) {
  if (!time) return;
  told_.push_back({index, std::log(*time) - predicted_[index], *time});
  if (policy_.kind != StrategyKind::kStaged) return;
  double& fastest = kin_times_[kin_[index]];
  fastest = std::min(fastest, *time);
}

std::vector<std::size_t> Strategy::fastest() const {
  std::vector<Told> told = told_;
  std::ranges::stable_sort(told, {}, &Told::time);
  std::vector<std::size_t> indices;
  for (const Told& one : told) indices.push_back(one.index);
  return indices;
}

/// All configs that are left, the most promising first.
std::vector<std::size_t> Strategy::ranking() const {
  const bool has_heard = policy_.kind == StrategyKind::kAdaptive && !heard_.empty();
  const bool knows = has_heard || (learns(policy_.kind) && !told_.empty());
  std::vector<std::size_t> left;
  std::ranges::copy_if(knows ? plain_ : order_, std::back_inserter(left),
                       [this](std::size_t i) { return !proposed_[i]; });
  if (!knows) return left;

  std::vector<double> score(configs_.size());
  const Common common = common_residuals();
  const auto best = std::ranges::min_element(told_, {}, &Told::time);
  for (const std::size_t i : left) {
    switch (policy_.kind) {
      case StrategyKind::kStaged:
        score[i] = kin_times_[kin_[i]];
        break;
      case StrategyKind::kLocal:
        score[i] = config_distance(configs_[i], configs_[best->index]);
        break;
      default:
        score[i] = corrected(i, common);
    }
  }
  std::ranges::stable_sort(left, {}, [&](std::size_t i) { return score[i]; });
  if (policy_.kind != StrategyKind::kAdaptive) return left;
  const auto spread_over = [&](Crowding::Of groups) { return spread(left, score, groups); };
  if (heard_.empty()) return spread_over(Crowding::Of::kCores);
  if (told_.empty()) return spread_over(Crowding::Of::kAll);
  return alternated(spread_over(Crowding::Of::kCores), spread_over(Crowding::Of::kAll));
}

/// The logarithm of the prediction, corrected by what like configs took over their predictions.
double Strategy::corrected(std::size_t index, const Common& common) const {
  double likeness = 0;
  double correction = 0;
  const auto learn = [&](double weight, double residual) {
    likeness += weight;
    correction += weight * residual;
  };
  for (const Told& told : told_) {
    const KernelConfig& config = configs_[told.index];
    const double distance = config_distance(configs_[index], config);
    learn(bell(distance / kReach), told.residual - common.all - common.of(config));
  }
  for (const Lesson& heard : heard_) {
    const double distance = config_distance(configs_[index], heard.config) + heard.distance;
    learn(bell(distance / kReach) + kSameConfig * bell(distance / kNarrowReach),
          heard.residual - common.of(heard.config));
  }
  return predicted_[index] + correction / (likeness + kTrust) + common.of(configs_[index]);
}

double Strategy::Common::of(const KernelConfig& config) const {
  return uses_pdl(config) ? 0 : without_pdl;
}

Strategy::Common Strategy::common_residuals() const {
  if (told_.empty()) return {};
  std::map<std::size_t, double> residuals;
  for (const Told& told : told_) residuals[told.index] = told.residual;
  std::vector<double> all, of_twins;
  for (const auto& [index, residual] : residuals) {
    all.push_back(residual);
    const std::optional<std::size_t> twin = twin_of(index);
    if (twin && residuals.contains(*twin)) of_twins.push_back(residuals[*twin] - residual);
  }
  Common common{.all = median(all)};
  if (!of_twins.empty()) {
    const auto count = static_cast<double>(of_twins.size());
    common.without_pdl = median(of_twins) * count / (count + kTrust);
  }
  return common;
}

}  // namespace hgemm
