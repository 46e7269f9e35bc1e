// The points next to a config in the whole space.
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "search/product.h"

namespace hgemm {
namespace {

template <class Config>
class Neighbours {
 public:
  Neighbours(const Scope& scope, const Product<Config>& product, const Config& config)
      : scope_(scope), product_(product), config_(config) {}

  std::vector<Proposal> all() {
    labels_.insert(label(KernelConfig(product_.simplest(config_))));
    for (const auto* domains : {&product_.tile, &product_.work}) {
      for (const AxisDomain<Config>& domain : *domains) {
        for (const Config& stepped : steps(domain)) add_with_stages(stepped);
      }
    }
    for (const AxisDomain<Config>& domain : product_.detail) {
      for (const Config& stepped : steps(domain)) add(stepped);
    }
    if (product_.stages) {
      for (const Config& stepped : steps(*product_.stages)) add(stepped);
    }
    return std::move(found_);
  }

 private:
  using Raw = std::array<std::int64_t, 2>;

  /// The config with the next values of an axis: of a number the next smaller and larger one, of a
  /// pair of numbers or a word with a number those with an equal first part, and for each other
  /// first part the one with the nearest second.
  std::vector<Config> steps(const AxisDomain<Config>& domain) const {
    const Raw from = domain.axis->raw(config_);
    // By the part that differs: the nearest value below and above.
    std::map<std::pair<std::int64_t, bool>, std::pair<std::int64_t, std::size_t>> nearest;
    for (std::size_t value = 0; value < domain.values.size(); ++value) {
      const Raw raw = domain.axis->raw(domain.values[value]);
      if (raw == from) continue;
      const bool is_number = domain.axis->text.number && domain.axis->member_count == 1;
      const bool same = raw[0] == from[0] && domain.axis->member_count == 2;
      const std::int64_t difference = is_number ? raw[0] - from[0] : raw[1] - from[1];
      const std::int64_t group = is_number ? 0 : raw[0];
      const bool above = (is_number || same) && difference > 0;
      const auto distance = std::abs(difference);
      const auto [known, is_new] = nearest.try_emplace({group, above}, distance, value);
      if (!is_new && distance < known->second.first) known->second = {distance, value};
    }
    std::vector<Config> stepped;
    for (const auto& [key, value] : nearest) {
      stepped.push_back(config_);
      domain.set(stepped.back(), value.second);
    }
    return stepped;
  }

  /// Adds another tile, or another division of the work, with as many stages as before and with the
  /// most.
  void add_with_stages(const Config& stepped) {
    Config deepest = stepped;
    if (!product_.deepen(deepest)) {
      const std::optional<Config> mended = mend(stepped);
      if (!mended) return;
      deepest = *mended;
    }
    add(deepest);
    if constexpr (Product<Config>::kHasStages) {
      Config as_before = deepest;
      as_before.stages = config_.stages;
      as_before.mma_depth = config_.mma_depth;
      add(as_before);
    }
  }

  /// The fastest predicted config that is valid because another axis gives way.
  std::optional<Config> mend(const Config& stepped) const {
    std::optional<Proposal> best;
    for (const auto* domains : {&product_.tile, &product_.work}) {
      for (const AxisDomain<Config>& domain : *domains) {
        // What was stepped must stay.
        if (domain.axis->raw(stepped) != domain.axis->raw(config_)) continue;
        Config mended = stepped;
        for (std::size_t value = 0; value < domain.values.size(); ++value) {
          domain.set(mended, value);
          Config deepest = mended;
          if (!product_.deepen(deepest) || !product_.is_wanted(deepest)) continue;
          const double us = product_.predict_us(scope_.figures, deepest);
          if (!best || us < best->predicted_us) best = {deepest, us};
        }
      }
    }
    if (!best) return std::nullopt;
    return std::get<Config>(best->config);
  }

  void add(const Config& other) {
    if (!product_.is_valid(other) || !product_.is_wanted(other)) return;
    const Config simple = product_.simplest(other);
    if (!labels_.insert(label(KernelConfig(simple))).second) return;
    found_.push_back({simple, product_.predict_us(scope_.figures, simple)});
  }

  const Scope& scope_;
  const Product<Config>& product_;
  const Config config_;
  std::set<std::string> labels_;
  std::vector<Proposal> found_;
};

}  // namespace

std::vector<Proposal> neighbours(const Scope& scope, const KernelConfig& config) {
  if (why_no_kernel(scope.problem)) return {};
  return std::visit(
      [&]<class Config>(const Config& c) -> std::vector<Proposal> {
        Product<Config> product(scope.problem.kind(), scope.limits);
        if (!product.restrict_to(scope)) return {};
        return Neighbours<Config>(scope, product, c).all();
      },
      config);
}

}  // namespace hgemm
