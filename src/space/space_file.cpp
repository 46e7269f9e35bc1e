#include <fmt/format.h>

#include "base/error.h"
#include "space/space.h"
#include "space/words.h"
#include "space/yaml.h"

namespace hgemm {
namespace {

/// Far more than anyone compiles; a slip in a range is told rather than enumerated for an hour.
constexpr std::size_t kMaxPoints = 1'000'000;
/// Generous bound of every numeric axis: which values are valid is for the rules to say.
constexpr std::int64_t kMaxAxisValue = 4096;

const std::vector<std::string> kAxisNames = {
    "bm",     "bn",        "bk",       "q",    "cluster", "schedule", "consumers",
    "d",      "order",     "epilogue", "walk", "dtype",   "a_hint",   "b_hint",
    "d_hint", "promotion", "ctas",     "pdl",  "pack",    "fixed"};

class SpaceReader {
 public:
  /// `includers`: the files whose includes led here.
  SpaceReader(const std::string& path, std::filesystem::path spaces_dir,
              std::vector<std::string> includers = {})
      : file_(YamlFile::read(path, "a map with `name:` and `grids:`")),
        path_(path),
        spaces_dir_(std::move(spaces_dir)),
        includers_(std::move(includers)) {}

  Space read() const {
    const YamlMap root = file_.map(file_.root(), "a space file", {"name", "include", "grids"});
    Space space;
    space.name = root.find("name") ? file_.text(root.at("name"), "name")
                                   : std::filesystem::path(path_).stem().string();
    std::size_t points = 0;
    const auto add = [&](Grid grid, const YAML::Mark& mark) {
      points += count_points(grid);
      if (points > kMaxPoints)
        file_.fail(mark, fmt::format("more than {} points up to here; expected fewer; shorten the "
                                     "lists",
                                     kMaxPoints));
      space.grids.push_back(std::move(grid));
    };
    const auto include = root.find("include");
    if (include) {
      for (const YAML::Node& item : file_.items(*include, "include")) {
        for (Grid& grid : read_included(item)) add(std::move(grid), item.Mark());
      }
    }
    if (include && !root.find("grids")) return space;
    const YAML::Node grids = root.at("grids");
    if (!grids.IsSequence() || grids.size() == 0)
      file_.fail(grids.Mark(),
                 fmt::format("found {} for grids; expected a list of grids; write one "
                             "\"- {{bm: 128, bn: 256, consumers: 2}}\" per line",
                             grids.IsSequence() ? "an empty list" : describe(grids)));
    for (const YAML::Node& node : grids) {
      add(read_grid(file_.map(node, "a grid", kAxisNames)), node.Mark());
    }
    return space;
  }

 private:
  std::vector<Grid> read_included(const YAML::Node& item) const {
    const std::string name = file_.text(item, "include");
    const auto beside = std::filesystem::path(path_).parent_path() / name;
    std::string path = beside.string();
    try {
      if (!std::filesystem::is_regular_file(beside)) path = find_yaml(name, spaces_dir_, "space");
    } catch (const InputError& error) {
      file_.fail(item.Mark(), error.what());
    }
    std::vector<std::string> chain = includers_;
    chain.push_back(path_);
    for (const std::string& includer : chain) {
      std::error_code none;  // two files that both exist: they were read
      if (std::filesystem::equivalent(includer, path, none)) {
        file_.fail(item.Mark(), fmt::format("found include {}, which leads back to {}; expected a "
                                            "space that does not include this one; leave it away",
                                            name, includer));
      }
    }
    return SpaceReader(path, spaces_dir_, std::move(chain)).read().grids;
  }

  Grid read_grid(const YamlMap& map) const {
    Grid grid;
    grid.bm = numbers(map, "bm");
    grid.bn = numbers(map, "bn");
    grid.consumers = numbers(map, "consumers");
    grid.bk = numbers(map, "bk", {64});
    grid.mma_depth = numbers(map, "d", {1});
    grid.stages = stages(map);
    grid.cluster = words(map, "cluster", find_cluster, {"1x1", "2x1", "1x2"}, {{1, 1}});
    grid.schedule = words(map, "schedule", find_schedule, {"coop", "cols", "pp", "swap", "vec"},
                          {Schedule::kRows});
    grid.order = words(map, "order", find_order,
                       {"linear", "group8", "ngroup8", "snake8", "nsnake8", "hilbert"},
                       {{TileOrder::kLinear, 0}});
    grid.epilogue = words(map, "epilogue", find_epilogue, {"tma", "direct", "staged", "late"},
                          {Epilogue::kTma});
    grid.walk = words(map, "walk", find_walk,
                      {"persist", "dynamic", "single", "split4", "csplit4", "stream"},
                      {{Walk::kPersistent, KernelConfig{}.splits}});
    grid.dtype = words(map, "dtype", find_dtype, {"bf16", "fp16"}, {Dtype::kBf16, Dtype::kFp16});
    const auto hint = [&](const std::string& axis) {
      return words(map, axis, find_hint, {"none", "first", "last"}, {CacheHint::kNone});
    };
    grid.a_hint = hint("a_hint");
    grid.b_hint = hint("b_hint");
    grid.d_hint = hint("d_hint");
    grid.promotion = numbers(map, "promotion", {KernelConfig{}.promotion});
    grid.ctas_per_sm = numbers(map, "ctas", {KernelConfig{}.ctas_per_sm});
    grid.pdl = switches(map, "pdl");
    grid.pack = switches(map, "pack");
    grid.fixed = switches(map, "fixed");
    return grid;
  }

  /// Without `otherwise` the axis is required.
  std::vector<int> numbers(const YamlMap& map, const std::string& axis,
                           std::vector<int> otherwise = {}) const {
    if (!otherwise.empty() && !map.find(axis)) return otherwise;
    return numbers(map.at(axis), axis);
  }
  std::vector<int> numbers(const YAML::Node& node, const std::string& axis) const {
    std::vector<int> values;
    for (const std::int64_t value : file_.numbers(node, axis, 0, kMaxAxisValue))
      values.push_back(static_cast<int>(value));
    return values;
  }

  /// Off, on, or both.
  std::vector<int> switches(const YamlMap& map, const std::string& axis) const {
    const auto node = map.find(axis);
    if (!node) return {0};
    std::vector<int> values;
    for (const std::int64_t value : file_.numbers(*node, axis, 0, 1))
      values.push_back(static_cast<int>(value));
    return values;
  }

  std::vector<int> stages(const YamlMap& map) const {
    if (!map.find("q")) return {kMaxStagesThatFit};
    std::vector<int> values;
    for (const YAML::Node& item : file_.items(map.at("q"), "q")) {
      if (item.IsScalar() && item.Scalar() == "max") {
        values.push_back(kMaxStagesThatFit);
        continue;
      }
      for (const std::int64_t value : file_.numbers(item, "q (or the word max)", 1, kMaxAxisValue))
        values.push_back(static_cast<int>(value));
    }
    return values;
  }

  template <class Value>
  std::vector<Value> words(const YamlMap& map, const std::string& axis,
                           std::optional<Value> (*find)(std::string_view),
                           const std::vector<std::string>& examples,
                           std::vector<Value> otherwise) const {
    const auto node = map.find(axis);
    if (!node) return otherwise;
    std::vector<Value> values;
    for (const YAML::Node& item : file_.items(*node, axis))
      values.push_back(file_.word(item, axis, find, examples));
    return values;
  }

  static std::size_t count_points(const Grid& grid) {
    std::size_t points = 1;
    for (const std::size_t values :
         {grid.bm.size(),        grid.bn.size(),          grid.bk.size(),
          grid.stages.size(),    grid.cluster.size(),     grid.schedule.size(),
          grid.consumers.size(), grid.mma_depth.size(),   grid.order.size(),
          grid.epilogue.size(),  grid.walk.size(),        grid.dtype.size(),
          grid.a_hint.size(),    grid.b_hint.size(),      grid.d_hint.size(),
          grid.promotion.size(), grid.ctas_per_sm.size(), grid.pdl.size(),
          grid.pack.size(),      grid.fixed.size()})
      points = std::min(points * values, kMaxPoints + 1);  // far below overflow at each step
    return points;
  }

  YamlFile file_;
  std::string path_;
  std::filesystem::path spaces_dir_;
  std::vector<std::string> includers_;
};

}  // namespace

Space load_space(const std::string& argument, const std::string& configs_dir) {
  const std::filesystem::path spaces_dir = std::filesystem::path(configs_dir) / "spaces";
  return SpaceReader(find_yaml(argument, spaces_dir, "space"), spaces_dir).read();
}

}  // namespace hgemm
