// Estimates how many points of a product are valid. Private to the module.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "search/product.h"
#include "search/space.h"

namespace hgemm {

/// The points of one family: each tile that is not hopeless stands for all points that have it, of
/// which some are drawn at random, the same ones each time.
template <class Config>
class WholeSize {
 public:
  using Rule = decltype(why_invalid(std::declval<typename Family<Config>::KernelType>()));

  WholeSize(const Product<Config>& product, const Allowed& allowed)
      : product_(product), allowed_(allowed) {
    for (const auto* domains : {&product_.work, &product_.detail}) {
      for (const AxisDomain<Config>& domain : *domains) drawn_.push_back({&domain, {}});
    }
    if (product_.stages) drawn_.push_back({&*product_.stages, {}});
    for (const AxisDomain<Config>& domain : product_.tile) tile_.push_back({&domain, {}});
    for (auto* axes : {&drawn_, &tile_}) {
      for (SeenAxis& axis : *axes) axis.seen.resize(axis.domain->values.size());
    }
    for (const SeenAxis& axis : drawn_) points_of_tile_ *= static_cast<double>(axis.seen.size());
    Config config = product_.first();
    Product<Config>::for_each(product_.tile, config, [&] { draw_points_of(config); });
  }

  double valid() const { return valid_; }

  /// Adds what was estimated to the counts of other families.
  void add_to(SpaceCount& sum) const {
    sum.valid += std::llround(valid_);
    for (const auto& [rule, points] : rejected_) {
      const RuleText text = rule_text(rule);
      sum.rejected[text.name] += std::llround(points);
      sum.reasons.emplace(text.name, text.reason);
    }
  }
  /// Calls `see(axis, value, rank)` with the axes' values among the points that were found valid.
  template <class See>
  void for_each_value(const See& see) const {
    for (const auto* axes : {&tile_, &drawn_}) {
      for (const SeenAxis& axis : *axes) {
        for (std::size_t i = 0; i < axis.seen.size(); ++i) {
          const Config& value = axis.domain->values[i];
          if (!axis.seen[i]) continue;
          see(std::string(axis.domain->axis->text.name), axis.domain->axis->print(value),
              static_cast<std::int64_t>(axis.domain->axis->rank(value)));
        }
      }
    }
  }

 private:
  struct SeenAxis {
    const AxisDomain<Config>* domain;
    std::vector<bool> seen;  ///< for each value
  };

  void draw_points_of(const Config& tile) {
    constexpr int kDraws = 200;
    if (!product_.is_wanted(tile)) return;
    if (product_.is_hopeless(tile)) {
      rejected_[product_.broken_rule(tile)] += points_of_tile_;
      return;
    }
    const double weight = points_of_tile_ / kDraws;
    std::vector<std::size_t> values(drawn_.size());
    for (int draw = 0; draw < kDraws; ++draw) {
      Config point = tile;
      for (std::size_t i = 0; i < drawn_.size(); ++i) {
        values[i] = random_() % drawn_[i].seen.size();
        drawn_[i].domain->set(point, values[i]);
      }
      if (const Rule rule = product_.broken_rule(point); rule != Rule::kValid) {
        rejected_[rule] += weight;
      } else if (allows(allowed_, KernelConfig(point), product_.types())) {
        valid_ += weight;
        for (std::size_t i = 0; i < drawn_.size(); ++i) drawn_[i].seen[values[i]] = true;
        for (SeenAxis& axis : tile_) see(axis, tile);
      }
    }
  }

  static void see(SeenAxis& axis, const Config& config) {
    for (std::size_t i = 0; i < axis.seen.size(); ++i) {
      if (!axis.seen[i]) axis.seen[i] = axis.domain->has(config, i);
    }
  }

  const Product<Config>& product_;
  Allowed allowed_;
  std::mt19937_64 random_{1};
  std::vector<SeenAxis> tile_, drawn_;
  double points_of_tile_ = 1;
  double valid_ = 0;
  std::map<Rule, double> rejected_;
};

}  // namespace hgemm
