// YAML files that people write. Every error is one line "file:line:column: what was found; what was
// expected; next step". Used by the readers of this program's YAML files.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// The file that `argument` names: a path, or a bare name that is looked up in the working folder
/// and then in `folder`; ".yaml" may be left out. Throws InputError that says where it looked and
/// which names `folder` has. `kind` is a word for the message: "shapes", "space".
std::string find_yaml(const std::string& argument, const std::filesystem::path& folder,
                      const std::string& kind);

class YamlMap;

class YamlFile {
 public:
  /// Reads a file. Throws InputError if the file cannot be read, is empty, or is not one YAML
  /// document within the limits: at most 2 MiB of text, at most 32 levels deep, at most 500,000
  /// nodes with its aliases written out. `expected` says in messages what such a file holds.
  static YamlFile read(const std::string& path, const std::string& expected);
  /// The same for text that is in memory; `path` is for messages.
  static YamlFile parse(std::string_view text, const std::string& path,
                        const std::string& expected);

  const YAML::Node& root() const { return root_; }

  /// "file:line:column"
  std::string place(const YAML::Mark& mark) const;
  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& problem) const;

  /// `node` as a map whose keys are all among `keys`; `what` names it in messages ("a shape").
  /// Throws InputError, as all of these do.
  YamlMap map(const YAML::Node& node, const std::string& what,
              const std::vector<std::string>& keys) const;

  /// The items of a list, at least one; a node that is not a list counts as its own only item.
  std::vector<YAML::Node> items(const YAML::Node& node, const std::string& what) const;

  /// One of a few words. `find` reads it; `words` lists them for messages.
  template <class Value>
  Value word(const YAML::Node& node, const std::string& what,
             std::optional<Value> (*find)(std::string_view),
             const std::vector<std::string>& words) const {
    if (const std::optional<Value> value = node.IsScalar() ? find(node.Scalar()) : std::nullopt)
      return *value;
    fail_word(node, what, words);
  }

  /// A single line of text that is not empty.
  std::string text(const YAML::Node& node, const std::string& what) const;

  /// Whole numbers within [low, high]: one, a list, or an inclusive range "start:end:step" (which
  /// may be an item of a list).
  std::vector<std::int64_t> numbers(const YAML::Node& node, const std::string& what,
                                    std::int64_t low, std::int64_t high) const;
  std::int64_t number(const YAML::Node& node, const std::string& what, std::int64_t low,
                      std::int64_t high) const;

  /// A decimal number within [low, high].
  double decimal(const YAML::Node& node, const std::string& what, double low, double high) const;

 private:
  [[noreturn]] void fail_word(const YAML::Node& node, const std::string& what,
                              const std::vector<std::string>& words) const;

  std::string path_;
  YAML::Node root_;
};

/// A map whose keys have been checked.
class YamlMap {
 public:
  YamlMap(const YamlFile& file, YAML::Node node, std::string what,
          std::map<std::string, YAML::Node> values)
      : file_(file), node_(std::move(node)), what_(std::move(what)), values_(std::move(values)) {}

  YAML::Mark mark() const { return node_.Mark(); }
  std::optional<YAML::Node> find(const std::string& key) const;
  /// The node of a key. Throws InputError if the key is missing.
  YAML::Node at(const std::string& key) const;

 private:
  const YamlFile& file_;
  YAML::Node node_;
  std::string what_;
  std::map<std::string, YAML::Node> values_;
};

/// Describes a node for "found ...": its text in quotes, "nothing", "a list" or "a map".
std::string describe(const YAML::Node& node);

}  // namespace hgemm
