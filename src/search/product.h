// The product of one family's domains, without the values that cannot suit a problem. Private to
// the module.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "families/domain.h"
#include "families/type_axes.h"
#include "families/visit.h"
#include "search/proposer.h"

namespace hgemm {

/// An axis with its values, each as a config.
template <class Config>
struct AxisDomain {
  explicit AxisDomain(const Axis<Config>& of)
      : axis(&of), values(domain_values(of)), plain_(of.raw(Config{})) {}

  const Axis<Config>* axis;
  std::vector<Config> values;

  void set(Config& config, std::size_t value) const { axis->copy(config, values[value]); }
  bool has(const Config& config, std::size_t value) const {
    return axis->raw(config) == axis->raw(values[value]);
  }
  bool has_default(const Config& config) const { return axis->raw(config) == plain_; }

 private:
  std::array<std::int64_t, 2> plain_;  ///< the default; searches ask for it millions of times
};

template <class Config>
class Product {
 public:
  using KernelType = typename Family<Config>::KernelType;
  using AxisDomains = std::vector<AxisDomain<Config>>;
  static constexpr bool kHasStages = requires(Config c) {
    c.stages;
    c.mma_depth;
  };

  /// The whole product for these types.
  Product(GemmKind types, const DeviceLimits& limits) : types_(types), limits_(limits) {
    types_.m = types_.n = types_.k = 0;
    for (const Axis<Config>& axis : Family<Config>::axes()) {
      if (!axis.text.in_spaces) continue;
      AxisDomain<Config> domain(axis);
      std::erase_if(domain.values,
                    [&](const Config& value) { return !suits_types(axis, value, types_); });
      domain.set(first_, 0);
      if (is_settled(axis, domain.values.size())) continue;
      if (kHasStages && axis.members[0].name == "stages") {
        stages = std::move(domain);
        std::ranges::sort(stages->values, {}, [&](const Config& c) { return axis.rank(c); });
      } else {
        of(axis.text.vary).push_back(std::move(domain));
      }
    }
  }

  /// Leaves out the values that cannot suit the problem, whatever the other axes are. False if
  /// nothing is left.
  bool restrict_to(const Scope& scope) {
    scope_ = &scope;
    full_ = types_;
    full_.m = static_cast<int>(scope.problem.m);
    full_.n = static_cast<int>(scope.problem.n);
    full_.k = static_cast<int>(scope.problem.k);
    const std::optional<Config> suited = find_suited();
    if (!suited) return false;
    for (AxisDomains* domains : {&tile, &work, &detail}) {
      for (AxisDomain<Config>& domain : *domains) {
        std::erase_if(domain.values, [&](const Config& value) {
          Config other = *suited;
          domain.axis->copy(other, value);
          return !suits_with_a_change(other, domain);
        });
        domain.set(first_, 0);
      }
    }
    return choose_details();
  }

  AxisDomains tile, work, detail;
  std::optional<AxisDomain<Config>> stages;  ///< in ascending order; a detail, too

  /// All axes at the first value of their domain.
  const Config& first() const { return first_; }

  const GemmKind& types() const { return types_; }

  auto broken_rule(const Config& config) const { return why_invalid(kernel(config), limits_); }
  bool is_valid(const Config& config) const {
    return broken_rule(config) == decltype(broken_rule(config))::kValid;
  }
  /// Whether the config suits the problem and is allowed; without a problem always.
  bool is_wanted(const Config& config) const {
    return !scope_ || (allows(scope_->allowed, KernelConfig(config), types_) &&
                       suits_extents(KernelConfig(config), scope_->problem));
  }

  /// The simplest config that does the same at the problem.
  Config simplest(const Config& config) const {
    if constexpr (requires { Family<Config>::simplest(config, scope_->problem); }) {
      return Family<Config>::simplest(config, scope_->problem);
    }
    return config;
  }

  double predict_us(const CostFigures& figures, const Config& config) const {
    return Family<Config>::predict_cost(figures, kernel(config), scope_->problem).us();
  }

  /// Gives the config the most stages that fit, which may need wgmmas that do not overlap. If the
  /// rules forbid it, one detail may give way and take its default: parts of K that are added in
  /// memory, for example, do not go with pdl. False if no number of stages is valid even so.
  bool deepen(Config& config) const {
    if (deepen_as_it_is(config)) return true;
    // Most points are invalid whatever their details are.
    Config plainest = config;
    for (const AxisDomain<Config>& domain : detail) domain.axis->copy(plainest, Config{});
    if (!deepen_as_it_is(plainest)) return false;
    // From the last one: most often it is pdl that must give way.
    for (const AxisDomain<Config>& domain : std::views::reverse(detail)) {
      if (domain.has_default(config)) continue;
      Config plainer = config;
      domain.axis->copy(plainer, Config{});
      if (!deepen_as_it_is(plainer) || !is_wanted(plainer)) continue;
      config = plainer;
      return true;
    }
    return false;
  }

  /// Whether the tile is out of the question: it breaks the same rule with every division of the
  /// work that differs from its own in one axis, and with the fewest stages.
  bool is_hopeless(Config tile_of) const {
    if constexpr (kHasStages) {
      tile_of.stages = 2;
      tile_of.mma_depth = 0;
    }
    const auto rule = broken_rule(tile_of);
    if (rule == decltype(rule)::kValid) return false;
    for (const AxisDomain<Config>& domain : work) {
      Config other = tile_of;
      for (std::size_t value = 0; value < domain.values.size(); ++value) {
        domain.set(other, value);
        if (broken_rule(other) != rule) return false;
      }
    }
    return true;
  }

  /// Calls `visit` with `config` set to each point of the product of these axes; the others keep
  /// their values. The last axis varies fastest.
  template <class Visit>
  static void for_each(std::span<const AxisDomain<Config>> domains, Config& config,
                       const Visit& visit) {
    if (domains.empty()) return visit();
    for (std::size_t value = 0; value < domains.front().values.size(); ++value) {
      domains.front().set(config, value);
      for_each(domains.subspan(1), config, visit);
    }
  }

  /// Calls `visit` with `config` at each division of the work that differs from its own in one axis
  /// and is valid. If it is not, another axis gives way, if any can. A point is valid if `is_valid`
  /// says so, which may change it.
  template <class IsValid, class Visit>
  void for_each_near_work(const Config& config, const IsValid& is_valid, const Visit& visit) const {
    Config near = config;
    if (is_valid(near)) visit(near);
    for (const AxisDomain<Config>& domain : work) {
      for (std::size_t value = 0; value < domain.values.size(); ++value) {
        if (domain.has(config, value)) continue;
        Config stepped = config;
        domain.set(stepped, value);
        near = stepped;
        if (is_valid(near) || mend(stepped, domain, is_valid, near)) visit(near);
      }
    }
  }

  /// The kind of problem and the values, for comparison.
  std::string describe() const {
    std::string text = fmt::format(
        "{} {}{} {}{} {}{}{}{}{}{}{}", Family<Config>::kName, static_cast<int>(types_.input),
        static_cast<int>(types_.output), static_cast<int>(types_.a_major),
        static_cast<int>(types_.b_major), to_string(types_.epilogue), types_.adds_c ? " and C" : "",
        types_.batched ? " of a batch" : "", types_.by_pointers ? " by pointers" : "",
        types_.b_is_other ? " of two types" : "", types_.fast_sums ? " with fast sums" : "",
        types_.scaling == Scaling::kNone
            ? ""
            : fmt::format(" scaled by {}", static_cast<int>(types_.scaling)));
    for (const AxisDomains* domains : {&tile, &work, &detail}) {
      for (const AxisDomain<Config>& domain : *domains) {
        text += fmt::format(" {}:", domain.axis->text.name);
        for (const Config& value : domain.values) text += domain.axis->print(value) + ",";
      }
    }
    return text;
  }

  /// A point, valid or not.
  Config draw(std::mt19937_64& random) const {
    Config config = first_;
    const auto set = [&](const AxisDomain<Config>& domain) {
      domain.set(config, random() % domain.values.size());
    };
    for (const AxisDomains* domains : {&tile, &work, &detail}) {
      for (const auto& domain : *domains) set(domain);
    }
    if (stages) set(*stages);
    return config;
  }

 private:
  /// Whether the types alone decide the axis: then it is none of the space.
  static bool is_settled(const Axis<Config>& axis, std::size_t values) {
    return values == 1 && domain_words(axis.text.domain).size() > 1;
  }
  AxisDomains& of(AxisText::Vary vary) {
    return vary == AxisText::Vary::kTile ? tile : vary == AxisText::Vary::kWork ? work : detail;
  }

  KernelType kernel(const Config& config) const {
    return {config, config.fixed && scope_ ? full_ : types_};
  }

  bool deepen_as_it_is(Config& config) const {
    if constexpr (!kHasStages) {
      return is_valid(config);
    } else {
      // Most points are invalid, and no rule is kinder to more stages or to wgmmas that overlap:
      // with the least of both one look is enough to leave a point.
      const int mma_depth = std::exchange(config.mma_depth, 0);
      config.stages = 2;
      if (!is_valid(config)) return false;
      if (mma_depth > 0) {
        config.mma_depth = mma_depth;
        config.stages = 2 + mma_depth;
        if (!is_valid(config)) {
          config.mma_depth = 0;
          config.stages = 2;
        }
      }
      int fits = config.stages;
      for (int too_many = kMaxStages + 1; too_many - fits > 1;) {
        config.stages = (fits + too_many) / 2;
        (is_valid(config) ? fits : too_many) = config.stages;
      }
      config.stages = fits;
      return true;
    }
  }

  /// Finds a valid `near` that differs from `stepped` in one more axis of the work.
  template <class IsValid>
  bool mend(const Config& stepped, const AxisDomain<Config>& kept, const IsValid& is_valid,
            Config& near) const {
    for (const AxisDomain<Config>& domain : work) {
      if (domain.axis == kept.axis) continue;
      for (std::size_t value = 0; value < domain.values.size(); ++value) {
        if (domain.has(stepped, value)) continue;
        near = stepped;
        domain.set(near, value);
        if (is_valid(near)) return true;
      }
    }
    return false;
  }

  /// A point that suits the problem, valid or not. At least one in some hundred does.
  std::optional<Config> find_suited() const {
    constexpr int kTries = 20'000;
    std::mt19937_64 random(1);
    for (int i = 0; i < kTries; ++i) {
      const Config config = draw(random);
      if (is_wanted(config)) return config;
    }
    return std::nullopt;
  }

  /// Whether the point suits the problem, or would with another value of another axis.
  bool suits_with_a_change(const Config& config, const AxisDomain<Config>& kept) const {
    if (is_wanted(config)) return true;
    for (const AxisDomains* domains : {&tile, &work, &detail}) {
      for (const AxisDomain<Config>& domain : *domains) {
        if (domain.axis == kept.axis) continue;
        Config other = config;
        for (std::size_t value = 0; value < domain.values.size(); ++value) {
          domain.set(other, value);
          if (is_wanted(other)) return true;
        }
      }
    }
    return false;
  }

  /// Begins each detail with the first value with which anything is valid: a kernel that packs, for
  /// example, may not depend on the launch before it. At most two differ from the first of their
  /// domain. The last axes give way first, because they qualify those before them: "late" turns a
  /// PDL kind that is not allowed into one that is. False if nothing is valid.
  bool choose_details() {
    if (has_any()) return true;
    const Config before = first_;
    const auto has_any_with = [&](auto&&... set) {
      first_ = before;
      (set(), ...);
      return has_any();
    };
    for (std::size_t one = detail.size(); one-- > 0;) {
      for (std::size_t i = 1; i < detail[one].values.size(); ++i) {
        if (has_any_with([&] { detail[one].set(first_, i); })) return true;
      }
    }
    for (std::size_t one = detail.size(); one-- > 0;) {
      for (std::size_t i = 1; i < detail[one].values.size(); ++i) {
        for (std::size_t other = one; other-- > 0;) {
          for (std::size_t j = 1; j < detail[other].values.size(); ++j) {
            if (has_any_with([&] { detail[one].set(first_, i); },
                             [&] { detail[other].set(first_, j); })) {
              return true;
            }
          }
        }
      }
    }
    return false;
  }

  /// Whether any tile is valid and suits with the first details as they are. (is_hopeless() judges
  /// tiles with these; that deepen() can mend some does not help the others.)
  bool has_any() const {
    bool found = false;
    Config config = first_;
    for_each(tile, config, [&] {
      if (found || is_hopeless(config)) return;
      for_each_near_work(
          config, [&](Config& near) { return deepen_as_it_is(near) && is_wanted(near); },
          [&](const Config&) { found = true; });
    });
    return found;
  }

  GemmKind types_, full_;
  DeviceLimits limits_;
  const Scope* scope_ = nullptr;
  Config first_{};
};

}  // namespace hgemm
