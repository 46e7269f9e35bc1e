#include "space/space.h"

#include <fmt/format.h>

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

/// Calls `visit` with `c` varied in every way: `set` gives it each of `values`, and then the axes
/// in `rest`, alike pairs, vary within.
template <class Visit>
void vary(const KernelConfig& c, const Visit& visit) {
  visit(c);
}
template <class Visit, class Value, class Set, class... Rest>
void vary(KernelConfig c, const Visit& visit, const std::vector<Value>& values, Set set,
          const Rest&... rest) {
  for (const Value& value : values) {
    set(c, value);
    vary(c, visit, rest...);
  }
}

template <auto member>
constexpr auto kSet = [](KernelConfig& c, const auto& value) {
  c.*member = static_cast<std::decay_t<decltype(c.*member)>>(value);
};

/// Calls `visit` with `base` varied to every point of the product; the last axis varies fastest.
template <class Visit>
void for_each_point(const Grid& grid, const KernelConfig& base, const Visit& visit) {
  const auto set_cluster = [](KernelConfig& c, Grid::Cluster cluster) {
    c.cluster_m = cluster.m;
    c.cluster_n = cluster.n;
  };
  const auto set_order = [](KernelConfig& c, Grid::Order order) {
    c.order = order.order;
    c.group = order.group;
  };
  const auto set_walk = [](KernelConfig& c, Grid::Deal deal) {
    c.walk = deal.walk;
    c.splits = deal.splits;
  };
  using C = KernelConfig;
  vary(base, visit,                              //
       grid.bm, kSet<&C::bm>,                    //
       grid.bn, kSet<&C::bn>,                    //
       grid.bk, kSet<&C::bk>,                    //
       grid.schedule, kSet<&C::schedule>,        //
       grid.consumers, kSet<&C::consumers>,      //
       grid.stages, kSet<&C::stages>,            //
       grid.cluster, set_cluster,                //
       grid.mma_depth, kSet<&C::mma_depth>,      //
       grid.order, set_order,                    //
       grid.epilogue, kSet<&C::epilogue>,        //
       grid.walk, set_walk,                      //
       grid.a_hint, kSet<&C::a_hint>,            //
       grid.b_hint, kSet<&C::b_hint>,            //
       grid.d_hint, kSet<&C::d_hint>,            //
       grid.promotion, kSet<&C::promotion>,      //
       grid.ctas_per_sm, kSet<&C::ctas_per_sm>,  //
       grid.pdl, kSet<&C::pdl>,                  //
       grid.pack, kSet<&C::pack>,                //
       grid.dtype, kSet<&C::dtype>);
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
template <auto member, auto word>
constexpr Axis word_axis(std::string_view name) {
  return {name, [](const KernelConfig& c) { return static_cast<int>(c.*member); },
          [](const KernelConfig& c) { return std::string(word(c.*member)); }};
}
std::string_view dtype_word(Dtype dtype) { return to_string(dtype); }

constexpr Axis kAxes[] = {
    number_axis<&KernelConfig::bm>("bm"),
    number_axis<&KernelConfig::bn>("bn"),
    number_axis<&KernelConfig::bk>("bk"),
    number_axis<&KernelConfig::stages>("q"),
    {"cluster", [](const KernelConfig& c) { return c.cluster_m * 10'000 + c.cluster_n; },
     [](const KernelConfig& c) { return fmt::format("{}x{}", c.cluster_m, c.cluster_n); }},
    word_axis<&KernelConfig::schedule, schedule_word>("schedule"),
    number_axis<&KernelConfig::consumers>("consumers"),
    number_axis<&KernelConfig::mma_depth>("d"),
    {"order", [](const KernelConfig& c) { return static_cast<int>(c.order) * 10'000 + c.group; },
     [](const KernelConfig& c) { return order_word(c.order, c.group); }},
    word_axis<&KernelConfig::epilogue, epilogue_word>("epilogue"),
    {"walk", [](const KernelConfig& c) { return static_cast<int>(c.walk) * 10'000 + c.splits; },
     [](const KernelConfig& c) { return walk_word(c.walk, c.splits); }},
    word_axis<&KernelConfig::dtype, dtype_word>("dtype"),
    word_axis<&KernelConfig::a_hint, hint_word>("a_hint"),
    word_axis<&KernelConfig::b_hint, hint_word>("b_hint"),
    word_axis<&KernelConfig::d_hint, hint_word>("d_hint"),
    number_axis<&KernelConfig::promotion>("promotion"),
    number_axis<&KernelConfig::ctas_per_sm>("ctas"),
    {"pdl", [](const KernelConfig& c) { return c.pdl ? 1 : 0; },
     [](const KernelConfig& c) { return std::string(c.pdl ? "1" : "0"); }},
    {"pack", [](const KernelConfig& c) { return c.pack ? 1 : 0; },
     [](const KernelConfig& c) { return std::string(c.pack ? "1" : "0"); }},
    {"fixed", [](const KernelConfig& c) { return is_fixed(c) ? 1 : 0; },
     [](const KernelConfig& c) { return std::string(is_fixed(c) ? "1" : "0"); }},
};

}  // namespace

Enumeration enumerate(const Space& space, std::span<const Shape> shapes,
                      const DeviceLimits& limits) {
  Enumeration result;
  std::unordered_set<std::string> seen;
  const auto add = [&](const KernelConfig& point) {
    const KernelConfig config = resolve_stages(point, limits);
    if (!seen.insert(label(config)).second) return;
    const Rule rule = why_invalid(config, limits);
    if (rule == Rule::kValid)
      result.valid.push_back(config);
    else
      ++result.rejected[rule];
  };
  for (const Grid& grid : space.grids) {
    for (const int fixed : grid.fixed) {
      if (!fixed) {
        for_each_point(grid, {}, add);
        continue;
      }
      for (const Shape& shape : shapes) {
        if (why_unsupported(shape) || !shape.is_packed()) continue;  // by any such kernel
        for_each_point(grid, made_for({}, shape), [&](const KernelConfig& point) {
          if (suits(point, shape)) add(point);
        });
      }
    }
  }
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

const char* why_unsupported(const KernelConfig& config, const Shape& shape) {
  return why_unsupported(config, shape.extents());
}

KernelConfig made_for(KernelConfig config, const Shape& shape) {
  config.m = static_cast<int>(shape.m);
  config.n = static_cast<int>(shape.n);
  config.k = static_cast<int>(shape.k);
  return config;
}

bool is_made_for(const KernelConfig& config, const Shape& shape) {
  const bool same_extents = config.m == shape.m && config.n == shape.n && config.k == shape.k;
  return config.dtype == shape.dtype && (!is_fixed(config) || (same_extents && shape.is_packed()));
}

bool suits(const KernelConfig& config, const Shape& shape) {
  if (!is_made_for(config, shape) || why_unsupported(config, shape)) return false;
  // What only others need costs time.
  if (config.pack && inputs_are_aligned(shape.extents())) return false;
  if (config.epilogue == Epilogue::kStaged && output_is_aligned(shape.extents())) return false;
  if (is_vector(config)) {
    const std::int64_t vectors = shape.m <= config.bm ? shape.m : shape.n;
    return 2 * vectors > config.bm;
  }
  if (!is_swapped(config)) return config.bm < shape.m + kMmaM;
  const auto empty_rows = config.bm - shape.m;
  return empty_rows >= 0 && (empty_rows < kGroupRows || 3 * empty_rows < config.bm);
}

}  // namespace hgemm
