#include "space/space.h"

#include <fmt/core.h>

#include <set>
#include <string_view>
#include <unordered_set>

#include "space/label.h"
#include "space/words.h"

namespace hgemm {
namespace {

/// The same config with the most stages that fit, if `stages` asks for that; with the fewest if not
/// even those are valid, so that why_invalid() names the reason.
KernelConfig resolve_stages(KernelConfig config, const DeviceLimits& limits) {
  if (config.stages != kMaxStagesThatFit) return config;
  config.stages = 2 + config.mma_depth;
  for (KernelConfig deeper = config; why_invalid(deeper, limits) == Rule::kValid; ++deeper.stages)
    config = deeper;
  return config;
}

/// Calls `visit` with every point of the product; the last axis varies fastest.
template <class Visit>
void for_each_point(const Grid& grid, Visit visit) {
  KernelConfig c;
  for (const int bm : grid.bm)
    for (const int bn : grid.bn)
      for (const int bk : grid.bk)
        for (const int consumers : grid.consumers)
          for (const int stages : grid.stages)
            for (const Grid::Cluster cluster : grid.cluster)
              for (const int mma_depth : grid.mma_depth)
                for (const Grid::Order order : grid.order)
                  for (const Epilogue epilogue : grid.epilogue)
                    for (const bool persistent : grid.persistent)
                      for (const Dtype dtype : grid.dtype)
                        visit(KernelConfig{.bm = bm,
                                           .bn = bn,
                                           .bk = bk,
                                           .stages = stages,
                                           .cluster_m = cluster.m,
                                           .cluster_n = cluster.n,
                                           .consumers = consumers,
                                           .mma_depth = mma_depth,
                                           .order = order.order,
                                           .group = order.group,
                                           .epilogue = epilogue,
                                           .persistent = persistent,
                                           .dtype = dtype});
}

/// One axis: how its values are ordered, and how they are written.
struct Axis {
  std::string_view name;
  int (*rank)(const KernelConfig&);
  std::string (*word)(const KernelConfig&);
};

template <int KernelConfig::*member>
constexpr Axis number_axis(std::string_view name) {
  return {name, [](const KernelConfig& c) { return c.*member; },
          [](const KernelConfig& c) { return fmt::to_string(c.*member); }};
}

constexpr Axis kAxes[] = {
    number_axis<&KernelConfig::bm>("bm"),
    number_axis<&KernelConfig::bn>("bn"),
    number_axis<&KernelConfig::bk>("bk"),
    number_axis<&KernelConfig::stages>("q"),
    {"cluster", [](const KernelConfig& c) { return c.cluster_m * 10'000 + c.cluster_n; },
     [](const KernelConfig& c) { return fmt::format("{}x{}", c.cluster_m, c.cluster_n); }},
    number_axis<&KernelConfig::consumers>("consumers"),
    number_axis<&KernelConfig::mma_depth>("d"),
    {"order", [](const KernelConfig& c) { return static_cast<int>(c.order) * 10'000 + c.group; },
     [](const KernelConfig& c) { return order_word(c.order, c.group); }},
    {"epilogue", [](const KernelConfig& c) { return static_cast<int>(c.epilogue); },
     [](const KernelConfig& c) { return std::string(epilogue_word(c.epilogue)); }},
    {"schedule", [](const KernelConfig& c) { return c.persistent ? 0 : 1; },
     [](const KernelConfig& c) { return std::string(schedule_word(c.persistent)); }},
    {"dtype", [](const KernelConfig& c) { return static_cast<int>(c.dtype); },
     [](const KernelConfig& c) { return std::string(to_string(c.dtype)); }},
};

}  // namespace

Enumeration enumerate(const Space& space, const DeviceLimits& limits) {
  Enumeration result;
  std::unordered_set<std::string> seen;
  for (const Grid& grid : space.grids)
    for_each_point(grid, [&](const KernelConfig& point) {
      const KernelConfig config = resolve_stages(point, limits);
      if (!seen.insert(label(config)).second) return;
      const Rule rule = why_invalid(config, limits);
      if (rule == Rule::kValid)
        result.valid.push_back(config);
      else
        ++result.rejected[rule];
    });
  return result;
}

std::map<std::string, std::vector<std::string>> axis_values(
    const std::vector<KernelConfig>& configs) {
  std::map<std::string, std::vector<std::string>> result;
  for (const Axis& axis : kAxes) {
    std::map<int, std::string> words;
    for (const KernelConfig& config : configs)
      words.try_emplace(axis.rank(config), axis.word(config));
    std::vector<std::string>& values = result[std::string(axis.name)];
    for (const auto& [rank, word] : words) values.push_back(word);
  }
  return result;
}

}  // namespace hgemm
