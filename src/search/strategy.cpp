#include "search/strategy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "statistics/statistics.h"

namespace hgemm {
namespace {

constexpr std::array<std::pair<StrategyKind, std::string_view>, 5> kNames = {{
    {StrategyKind::kModel, "model"},
    {StrategyKind::kAdaptive, "adaptive"},
    {StrategyKind::kLocal, "local"},
    {StrategyKind::kRandom, "random"},
    {StrategyKind::kExhaustive, "exhaustive"},
}};

/// Of the budget, in the model's order before anything is corrected; kLocal needs fewer.
constexpr double kAdaptiveShare = 0.4;
constexpr double kLocalShare = 0.15;
/// Distance at which one measurement says half of what it says of its like.
constexpr double kReach = 1.0;
/// Weight of "the model is right" against measurements.
constexpr double kTrust = 0.5;

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
  return kind == StrategyKind::kAdaptive || kind == StrategyKind::kLocal;
}

std::size_t Budget::of(std::size_t configs) const {
  constexpr double kRounding = 1e-9;  // 29 % of 100 are 29
  const double wanted =
      share != 0 ? std::floor(share * static_cast<double>(configs) + kRounding) : trials;
  return std::min(static_cast<std::size_t>(std::max(1.0, wanted)), configs);
}

double config_distance(const KernelConfig& a, const KernelConfig& b) {
  const auto differ = [](const auto& x, const auto& y, double weight) {
    return x == y ? 0.0 : weight;
  };
  const auto apart = [](int x, int y, double weight) {
    return weight * std::min(2.0, std::abs(std::log2(static_cast<double>(x) / y)));
  };
  return apart(a.bm, b.bm, 1) + apart(a.bn, b.bn, 0.8) + apart(a.bk, b.bk, 0.5) +
         apart(a.stages, b.stages, 0.5) + differ(a.schedule, b.schedule, 1) +
         differ(a.consumers, b.consumers, 0.5) + differ(a.cluster_m, b.cluster_m, 0.5) +
         differ(a.cluster_n, b.cluster_n, 0.5) + differ(a.mma_depth, b.mma_depth, 0.3) +
         differ(a.order, b.order, 0.3) + differ(a.group, b.group, 0.15) +
         differ(a.epilogue, b.epilogue, 0.6) + differ(a.walk, b.walk, 0.8) +
         differ(a.splits, b.splits, 0.5) + differ(a.promotion, b.promotion, 0.3) +
         differ(a.ctas_per_sm, b.ctas_per_sm, 0.6) + differ(a.pdl, b.pdl, 0.3) +
         differ(is_fixed(a), is_fixed(b), 0.15) + differ(a.a_hint, b.a_hint, 0.15) +
         differ(a.b_hint, b.b_hint, 0.15) + differ(a.d_hint, b.d_hint, 0.15) +
         differ(a.pack, b.pack, 0.5) + differ(a.dtype, b.dtype, 0.3);
}

Strategy::Strategy(std::span<const KernelConfig> configs, std::span<const double> predicted_us,
                   const StrategyPolicy& policy)
    : configs_(configs.begin(), configs.end()),
      policy_(policy),
      random_(policy.seed),
      order_(configs.size()),
      proposed_(configs.size(), false),
      likeness_(configs.size(), 0),
      correction_(configs.size(), 0) {
  for (const double us : predicted_us) predicted_.push_back(std::log(us));
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  if (policy.kind == StrategyKind::kRandom) {
    std::ranges::shuffle(order_, random_);
  } else if (policy.kind != StrategyKind::kExhaustive) {
    std::ranges::stable_sort(order_, {}, [this](std::size_t i) { return predicted_[i]; });
  }
  if (policy.kind == StrategyKind::kModel) mix_in_random();
}

void Strategy::mix_in_random() {
  if (policy_.random_share <= 0) return;
  const auto every = static_cast<std::size_t>(std::max(2.0, std::round(1 / policy_.random_share)));
  std::vector<std::size_t> blind = order_;
  std::ranges::shuffle(blind, random_);
  std::vector<bool> placed(order_.size(), false);
  std::vector<std::size_t> mixed;
  std::size_t next_favourite = 0;
  std::size_t next_blind = 0;
  const auto place_next = [&](const std::vector<std::size_t>& from, std::size_t& at) {
    while (placed[from[at]]) ++at;
    placed[from[at]] = true;
    mixed.push_back(from[at]);
  };
  while (mixed.size() < order_.size()) {
    const bool blindly = mixed.size() % every == every - 1;
    place_next(blindly ? blind : order_, blindly ? next_blind : next_favourite);
  }
  order_ = std::move(mixed);
}

std::vector<std::size_t> Strategy::next(std::size_t count) {
  count = std::min(count, configs_.size() - proposals_);
  const double share = policy_.kind == StrategyKind::kAdaptive ? kAdaptiveShare : kLocalShare;
  const std::size_t budget = policy_.budget > 0 ? policy_.budget : configs_.size();
  const auto in_order =
      std::max(std::size_t{3}, static_cast<std::size_t>(share * static_cast<double>(budget)));
  std::bernoulli_distribution blindly(policy_.random_share);
  std::vector<std::size_t> chosen;
  while (chosen.size() < count) {
    std::size_t index = 0;
    if (!learns(policy_.kind) || proposals_ < in_order || told_.empty()) {
      index = *std::ranges::find_if(order_, [this](std::size_t i) { return !proposed_[i]; });
    } else if (policy_.kind == StrategyKind::kAdaptive && blindly(random_)) {
      index = random_left();
    } else {
      index = best_left();
    }
    proposed_[index] = true;
    ++proposals_;
    chosen.push_back(index);
  }
  return chosen;
}

void Strategy::tell(std::size_t index, std::optional<double> time) {
  if (!time) return;
  const double residual = std::log(*time) - predicted_[index];
  told_.push_back({index, residual, *time});
  for (std::size_t i = 0; i < configs_.size(); ++i) {
    const double distance = config_distance(configs_[i], configs_[index]) / kReach;
    const double weight = std::exp2(-distance * distance);
    likeness_[i] += weight;
    correction_[i] += weight * residual;
  }
}

std::size_t Strategy::best_left() {
  const auto left = [this](std::size_t i) { return !proposed_[i]; };
  if (policy_.kind == StrategyKind::kLocal) {
    const Told& best = *std::ranges::min_element(told_, {}, &Told::time);
    std::optional<std::pair<double, std::size_t>> nearest;
    for (const std::size_t i : order_) {
      if (!left(i)) continue;
      const double distance = config_distance(configs_[i], configs_[best.index]);
      if (!nearest || distance < nearest->first) nearest = {distance, i};
    }
    return nearest->second;
  }
  const double common = common_residual();
  std::optional<std::pair<double, std::size_t>> best;
  for (const std::size_t i : order_) {
    if (!left(i)) continue;
    const double score =
        predicted_[i] + (correction_[i] - common * likeness_[i]) / (likeness_[i] + kTrust);
    if (!best || score < best->first) best = {score, i};
  }
  return best->second;
}

std::size_t Strategy::random_left() {
  std::uniform_int_distribution<std::size_t> any(0, configs_.size() - proposals_ - 1);
  std::size_t skip = any(random_);
  for (std::size_t i = 0;; ++i) {
    if (!proposed_[i] && skip-- == 0) return i;
  }
}

/// Of all that were told: the model's scale, which says nothing of one config.
double Strategy::common_residual() const {
  std::vector<double> residuals;
  for (const Told& told : told_) residuals.push_back(told.residual);
  return median(residuals);
}

}  // namespace hgemm
