// Reads space files: YAML whose keys and values are those of the families' axis tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/yaml.h"
#include "families/shared_axes.h"
#include "families/visit.h"
#include "search/legacy_grid.h"
#include "search/space.h"

namespace hgemm {
namespace {

/// Far more points than anyone compiles; a mistake in a range is reported rather than enumerated
/// for an hour.
constexpr std::size_t kMaxPoints = 1'000'000;
/// Generous bound of every numeric axis; the rules decide which values are valid.
constexpr std::int64_t kMaxAxisValue = 4096;
constexpr std::size_t kMaxGrids = 10'000;
constexpr std::size_t kMaxFiles = 256;
constexpr std::size_t kMaxDepth = 32;  ///< of files that include one another
constexpr const char* kFileHolds = "a map with `name:` and `grids:`";

/// The sum of a space's files.
struct Sum {
  std::filesystem::path spaces_dir;
  std::vector<std::filesystem::path> files = {};  ///< a file that is included again adds nothing
  std::vector<Grid> grids = {};
  std::size_t points = 0;
};

/// Reads one file, and the files that it includes.
class SpaceReader {
 public:
  /// `includers`: the files whose includes led to this one.
  SpaceReader(YamlFile file, std::filesystem::path path, Sum& sum,
              std::vector<std::filesystem::path> includers = {})
      : file_(std::move(file)),
        path_(std::move(path)),
        sum_(sum),
        includers_(std::move(includers)) {}

  /// Adds the file's grids; returns its name.
  std::string read() {
    sum_.files.push_back(path_);
    const YamlMap root = file_.map(file_.root(), "a space file", {"name", "include", "grids"});
    const std::string name =
        root.find("name") ? file_.text(root.at("name"), "name") : printable(path_.stem().string());
    const auto include = root.find("include");
    if (include) {
      for (const YAML::Node& item : file_.items(*include, "include")) read_included(item);
    }
    if (include && !root.find("grids")) return name;
    const YAML::Node grids = root.at("grids");
    if (!grids.IsSequence() || grids.size() == 0)
      file_.fail(grids.Mark(),
                 fmt::format("found {} for grids; expected a list of grids; write one "
                             "\"- {{bm: 128, bn: 256, schedule: coop2}}\" per line",
                             grids.IsSequence() ? "an empty list" : describe(grids)));
    for (const YAML::Node& node : grids) {
      for (Grid& grid : read_grids(node)) add(std::move(grid), node.Mark());
    }
    return name;
  }

 private:
  void add(Grid grid, const YAML::Mark& mark) {
    sum_.points += count_points(grid);
    if (sum_.points > kMaxPoints)
      file_.fail(mark, fmt::format("more than {} points up to here; expected fewer; shorten the "
                                   "lists",
                                   kMaxPoints));
    sum_.grids.push_back(std::move(grid));
    if (sum_.grids.size() > kMaxGrids)
      file_.fail(mark, fmt::format("more than {} grids up to here; expected fewer; write lists of "
                                   "values in one grid",
                                   kMaxGrids));
  }

  /// Beside this file, else among the spaces that ship with the program; ".yaml" may be left out.
  std::filesystem::path find_included(const std::string& name, const YAML::Mark& mark) const {
    for (const auto& folder : {path_.parent_path(), sum_.spaces_dir}) {
      for (const std::string& file : {name, name + ".yaml"}) {
        const std::filesystem::path path = folder / file;
        std::error_code error;  // of a file that cannot be looked at: it is not there
        if (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error)) {
          return path;
        }
      }
    }
    try {
      find_yaml(name, sum_.spaces_dir, "space");  // says what there is
    } catch (const InputError& missing) {
      file_.fail(mark, missing.what());
    }
    file_.fail(mark, fmt::format("found include {}, which is in the working folder, but neither "
                                 "beside {} nor a space of the program; write its path from there",
                                 name, path_.string()));
  }

  void read_included(const YAML::Node& item) {
    const std::string name = file_.text(item, "include");
    const std::filesystem::path path = find_included(name, item.Mark());
    std::error_code error;  // of a file that cannot be looked at: it is another one
    std::vector<std::filesystem::path> chain = includers_;
    chain.push_back(path_);
    for (const auto& includer : chain) {
      if (std::filesystem::equivalent(includer, path, error))
        file_.fail(item.Mark(), fmt::format("found include {}, which leads back to {}; expected a "
                                            "space that does not include this one; leave it away",
                                            name, includer.string()));
    }
    for (const auto& file : sum_.files) {
      if (std::filesystem::equivalent(file, path, error)) return;
    }
    if (chain.size() == kMaxDepth || sum_.files.size() == kMaxFiles)
      file_.fail(item.Mark(),
                 fmt::format("found include {} in the last of {}; expected fewer; put "
                             "their grids into one file",
                             name,
                             chain.size() == kMaxDepth
                                 ? fmt::format("{} files that include one another", kMaxDepth)
                                 : fmt::format("{} included files", kMaxFiles)));
    SpaceReader(YamlFile::read(path.string(), kFileHolds), path, sum_, std::move(chain)).read();
  }

  /// The grid of a node. An old grid becomes several if its schedules now belong to several
  /// families.
  std::vector<Grid> read_grids(const YAML::Node& node) const {
    if (is_legacy_grid(node)) return read_legacy_grids(node);
    const std::string family = family_of(node);
    std::vector<std::string> keys = {"family"};
    for (const AxisText& axis : axes_of(family)) {
      if (axis.in_spaces) keys.emplace_back(axis.name);
    }
    const YamlMap map = file_.map(node, "a grid", keys);
    return {read_grid(family, [&]<class Config>(const Axis<Config>& axis) {
      return values_of(
          map, axis.text.in_spaces ? std::optional(std::string(axis.text.name)) : std::nullopt,
          axis);
    })};
  }

  std::vector<Grid> read_legacy_grids(const YAML::Node& node) const {
    const YamlMap map = file_.map(node, "a grid", legacy_keys());
    const auto given = map.find("consumers");
    const std::vector<std::int64_t> consumers =
        given ? file_.numbers(*given, "consumers", 1, 3) : std::vector<std::int64_t>{2};
    std::vector<Grid> grids;
    for (const std::string_view family : family_names()) {
      const std::vector<std::string> schedules = legacy_schedules_of(map, family);
      if (schedules.empty()) continue;
      grids.push_back(read_grid(std::string(family), [&]<class Config>(const Axis<Config>& axis) {
        const auto values = legacy_values(family, axis.text.name, schedules, consumers);
        return values ? *values : values_of(map, legacy_key(family, axis.text.name), axis);
      }));
    }
    return grids;
  }

  std::vector<std::string> legacy_schedules_of(const YamlMap& map, std::string_view family) const {
    const auto given = map.find("schedule");
    if (!given) {
      return family == legacy_family("coop") ? std::vector<std::string>{"coop"}
                                             : std::vector<std::string>{};
    }
    std::vector<std::string> schedules;
    for (const YAML::Node& item : file_.items(*given, "schedule")) {
      const auto of = file_.word(item, "schedule", legacy_family, legacy_schedules());
      if (of == family) schedules.push_back(item.Scalar());
    }
    return schedules;
  }

  /// `values_of` returns the values of an axis of the family.
  static Grid read_grid(const std::string& family, const auto& values_of) {
    Grid grid{.family = family, .values = {}};
    visit_family(family, [&]<class Config>(const Config&) {
      for (const Axis<Config>& axis : Family<Config>::axes()) {
        grid.values.push_back(values_of(axis));
      }
    });
    return grid;
  }

  std::string family_of(const YAML::Node& node) const {
    const auto names = family_names();
    if (!node.IsMap() || !node["family"]) return std::string(names.front());
    const YAML::Node family = node["family"];
    const std::string name = file_.text(family, "family");
    if (std::ranges::find(names, name) == names.end()) {
      file_.fail(family.Mark(), fmt::format("found {} for family; expected {}; correct it",
                                            describe(family), fmt::join(names, " or ")));
    }
    return name;
  }

  /// The values that the grid gives for the axis at `key`; the default of the axis if `key` is
  /// nullopt or missing.
  template <class Config>
  std::vector<std::string> values_of(const YamlMap& map, const std::optional<std::string>& key,
                                     const Axis<Config>& axis) const {
    const AxisText& text = axis.text;
    const auto node = key ? map.find(*key) : std::nullopt;
    if (!node) {
      if (text.otherwise.empty()) map.at(*key);  // throws, because the key is missing
      return {std::string(text.otherwise)};
    }
    std::vector<std::string> values;
    for (const YAML::Node& item : file_.items(*node, *key)) {
      if (values.size() > kMaxPoints)
        file_.fail(item.Mark(),
                   fmt::format("more than {} values for {}; expected fewer; shorten the "
                               "list",
                               kMaxPoints, *key));
      if (text.number && is_number_list(item)) {
        for (const std::int64_t number : file_.numbers(item, *key, 0, kMaxAxisValue)) {
          values.push_back(value_of(item, fmt::to_string(number), *key, axis));
        }
      } else {
        values.push_back(value_of(item, item.IsScalar() ? item.Scalar() : "", *key, axis));
      }
    }
    return values;
  }

  /// Whether the item is a number or a range of numbers.
  static bool is_number_list(const YAML::Node& item) {
    return item.IsScalar() && !item.Scalar().empty() &&
           item.Scalar().find_first_not_of("-0123456789:") == std::string::npos;
  }

  template <class Config>
  std::string value_of(const YAML::Node& item, const std::string& found, const std::string& key,
                       const Axis<Config>& axis) const {
    const std::string word = modern_word(found);
    if (Config scratch; axis.parse(scratch, word)) return word;
    file_.fail(item.Mark(),
               fmt::format("found {} for {}; expected {}; {}correct it",
                           item.IsScalar() ? in_quotes(found) : describe(item), key,
                           axis.text.values, did_you_mean(found, words_in(axis.text.values))));
  }

  /// The words of a text such as "linear, hilbert, group1 to group64".
  static std::vector<std::string> words_in(std::string_view values) {
    std::vector<std::string> words;
    while (!values.empty()) {
      const std::size_t end = std::min(values.find_first_of(" ,;:."), values.size());
      if (end != 0) words.emplace_back(values.substr(0, end));
      values.remove_prefix(std::min(end + 1, values.size()));
    }
    return words;
  }

  static std::size_t count_points(const Grid& grid) {
    std::size_t points = 1;
    for (const auto& values : grid.values) {
      points = std::min(points * values.size(), kMaxPoints + 1);  // far below overflow at each step
    }
    return points;
  }

  YamlFile file_;
  std::filesystem::path path_;
  Sum& sum_;
  std::vector<std::filesystem::path> includers_;
};

Space read_space(YamlFile file, const std::string& path, const std::string& configs_dir) {
  Sum sum{.spaces_dir = std::filesystem::path(configs_dir) / "spaces"};
  std::string name = SpaceReader(std::move(file), path, sum).read();
  return {std::move(name), std::move(sum.grids)};
}

}  // namespace

Space load_space(const std::string& argument, const std::string& configs_dir) {
  const std::string path =
      find_yaml(argument, std::filesystem::path(configs_dir) / "spaces", "space");
  return read_space(YamlFile::read(path, kFileHolds), path, configs_dir);
}

Space parse_space(std::string_view text, const std::string& path, const std::string& configs_dir) {
  return read_space(YamlFile::parse(text, path, kFileHolds), path, configs_dir);
}

}  // namespace hgemm
