#include "search/space.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>

#include "families/shared_axes.h"
#include "families/visit.h"

namespace hgemm {
namespace {

template <class Config>
typename Family<Config>::KernelType kernel_of(const Config& config, GemmKind kind) {
  kind.m = kind.n = kind.k = 0;  // given at launch, or not known yet
  return {config, kind};
}

/// If the config asks for the most stages, the same config with the largest number that fits; with
/// the smallest number if not even that is valid, so that why_invalid() names the reason.
template <class Config>
Config with_most_stages(Config config, const GemmKind& kind, const DeviceLimits& limits) {
  if constexpr (requires { config.stages; }) {
    if (config.stages != kMaxStagesThatFit) return config;
    config.stages = 2 + config.mma_depth;
    Config deeper = config;
    while (!why_invalid(Kernel(kernel_of(deeper, kind)), limits)) {
      config = deeper;
      ++deeper.stages;
    }
  }
  return config;
}

/// Calls `visit` with `config` set to every point of the product of the axes from `axis` on; the
/// last axis varies fastest.
template <class Config, class Visit>
void for_each_point(const std::vector<std::vector<Config>>& values, std::size_t axis,
                    const Config& config, const Visit& visit) {
  if (axis == values.size()) return visit(config);
  for (const Config& value : values[axis]) {
    Config varied = config;
    Family<Config>::axes()[axis].copy(varied, value);
    for_each_point(values, axis + 1, varied, visit);
  }
}

/// The values of each axis, each as a config with that value.
template <class Config>
std::vector<std::vector<Config>> parsed(const Grid& grid) {
  std::vector<std::vector<Config>> values;
  for (std::size_t i = 0; i < grid.values.size(); ++i) {
    auto& of_axis = values.emplace_back();
    for (const std::string& word : grid.values[i]) {
      Config& config = of_axis.emplace_back();
      Family<Config>::axes()[i].parse(config, word);
    }
  }
  return values;
}

}  // namespace

Enumeration enumerate(const Space& space, std::span<const GemmKind> kinds,
                      const DeviceLimits& limits) {
  constexpr GemmKind kBf16{};
  if (kinds.empty()) kinds = {&kBf16, 1};
  Enumeration result;
  std::unordered_set<std::string> seen;
  for (const Grid& grid : space.grids) {
    visit_family(grid.family, [&]<class Config>(const Config& base) {
      for_each_point(parsed<Config>(grid), 0, base, [&](const Config& point) {
        std::optional<Rejection> rejection;
        std::string rejected;  // label that the rules of the first kind reject
        for (const GemmKind& kind : kinds) {
          const Config config = with_most_stages(point, kind, limits);
          const auto why = why_invalid(Kernel(kernel_of(config, kind)), limits);
          if (why) {
            if (!rejection) rejected = label(config);
            if (!rejection) rejection = why;
          } else if (seen.insert(label(config)).second) {
            result.valid.emplace_back(config);
          }
        }
        if (!rejection || !seen.insert(rejected).second) return;
        ++result.rejected[std::string(rejection->rule)];
        result.reasons.emplace(rejection->rule, rejection->reason);
      });
    });
  }
  return result;
}

Enumeration enumerate(const Space& space, std::span<const GemmProblem> problems,
                      const DeviceLimits& limits) {
  std::vector<GemmKind> kinds;
  for (const GemmProblem& problem : problems) {
    if (std::ranges::find(kinds, problem.kind()) == kinds.end()) kinds.push_back(problem.kind());
  }
  return enumerate(space, kinds, limits);
}

SpaceCount count_of(const Enumeration& points) {
  return {.estimated = false,
          .valid = static_cast<std::int64_t>(points.valid.size()),
          .rejected = points.rejected,
          .reasons = points.reasons,
          .axes = axis_values(points.valid)};
}

std::vector<std::int64_t> count_suited(std::span<const KernelConfig> configs,
                                       std::span<const GemmProblem> problems) {
  std::vector<std::pair<GemmKind, std::vector<KernelConfig>>> by_types;
  const auto with_types = [&](const GemmKind& types) -> const std::vector<KernelConfig>& {
    for (const auto& [known, of_types] : by_types) {
      if (known == types) return of_types;
    }
    auto& of_types = by_types.emplace_back(types, std::vector<KernelConfig>{}).second;
    std::ranges::copy_if(configs, std::back_inserter(of_types),
                         [&](const KernelConfig& config) { return has_types(config, types); });
    return of_types;
  };
  std::vector<std::int64_t> counts;
  for (const GemmProblem& problem : problems) {
    counts.push_back(
        why_no_kernel(problem)
            ? 0
            : std::ranges::count_if(with_types(problem.kind()), [&](const KernelConfig& config) {
                return suits_extents(config, problem);
              }));
  }
  return counts;
}

std::map<std::string, std::vector<std::string>> axis_values(std::span<const KernelConfig> configs) {
  // Families that share an axis may rank its values differently: the smallest rank counts.
  std::map<std::string, std::map<std::string, std::int64_t>> ranks;
  for (const KernelConfig& config : configs) {
    for (AxisValue& value : axis_values(config)) {
      const auto [known, is_new] =
          ranks[std::string(value.axis)].try_emplace(std::move(value.value), value.rank);
      if (!is_new) known->second = std::min(known->second, value.rank);
    }
  }
  std::map<std::string, std::vector<std::string>> result;
  for (const auto& [axis, of_axis] : ranks) {
    std::vector<std::pair<std::int64_t, std::string>> ordered;
    for (const auto& [word, rank] : of_axis) ordered.emplace_back(rank, word);
    std::ranges::sort(ordered);
    for (auto& [rank, word] : ordered) result[axis].push_back(std::move(word));
  }
  return result;
}

}  // namespace hgemm
