#include "base/yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"

namespace hgemm {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kMaxFileBytes = 16 << 20;
constexpr std::size_t kMaxListItems = 4096;

std::vector<std::string> yaml_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// The parser's messages may quote bytes of a file that is not text at all.
std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  if (!stream)
    throw InputError(fmt::format("{}: cannot be read: {}; check the path and its permissions", path,
                                 std::strerror(errno)));
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad())
    throw InputError(fmt::format("{}: cannot be read to its end; check the disk", path));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxFileBytes)
    throw InputError(fmt::format("{}: larger than 16 MiB; expected a small YAML file", path));
  return text;
}

}  // namespace

std::string find_yaml(const std::string& argument, const fs::path& folder,
                      const std::string& kind) {
  const std::vector<std::string> known = yaml_names(folder);
  const std::string known_names = known.empty()
                                      ? fmt::format("{} holds no .yaml files", folder.string())
                                      : fmt::format("known names: {}", fmt::join(known, ", "));
  if (argument.empty())
    throw InputError(
        fmt::format("no {} file named; expected a path or a name; {}", kind, known_names));

  std::vector<std::string> names = {argument};
  if (!argument.ends_with(".yaml") && !argument.ends_with(".yml"))
    names.push_back(argument + ".yaml");
  const bool bare = argument.find('/') == std::string::npos;
  std::vector<fs::path> tried(names.begin(), names.end());
  if (bare)
    for (const std::string& name : names) tried.push_back(folder / name);
  for (const fs::path& path : tried) {
    std::error_code error;
    if (fs::exists(path, error) && !is_folder(path)) return path.string();
  }

  std::vector<std::string> looked;
  for (const fs::path& path : tried)
    looked.push_back(fs::absolute(path).lexically_normal().string());
  throw InputError(fmt::format(
      "{}: {}; looked for {}; {}{}", in_quotes(argument),
      is_folder(argument) ? "a folder, not a file" : fmt::format("no such {} file", kind),
      fmt::join(looked, ", "), bare ? did_you_mean(argument, known) : "", known_names));
}

YamlFile YamlFile::read(const std::string& path, const std::string& expected) {
  const std::string text = read_text(path);
  YamlFile file;
  file.path_ = path;
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1)
      file.fail(documents[1].Mark(), "a second YAML document; expected one; remove the \"---\"");
    if (!documents.empty()) file.root_ = documents[0];
  } catch (const YAML::Exception& error) {
    file.fail(error.mark, fmt::format("not YAML: {}; expected {}; check indentation, colons and "
                                      "brackets there",
                                      printable(error.msg), expected));
  }
  if (file.root_.IsNull())
    file.fail(YAML::Mark(), fmt::format("the file is empty; expected {}; the files in configs/ are "
                                        "examples",
                                        expected));
  return file;
}

std::string YamlFile::place(const YAML::Mark& mark) const {
  // A null mark (an error of the whole file) has -1 for both.
  return fmt::format("{}:{}:{}", path_, std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1);
}

void YamlFile::fail(const YAML::Mark& mark, const std::string& problem) const {
  throw InputError(fmt::format("{}: {}", place(mark), problem));
}

YamlMap YamlFile::map(const YAML::Node& node, const std::string& what,
                      const std::vector<std::string>& keys) const {
  if (!node.IsMap())
    fail(node.Mark(), fmt::format("found {} for {}; expected a map with the keys {}; write "
                                  "\"key: value\" lines",
                                  describe(node), what, fmt::join(keys, ", ")));
  std::map<std::string, YAML::Node> values;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string{};
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      fail(entry.first.Mark(),
           fmt::format("unknown key {} in {}; expected one of {}; did you mean \"{}\"?",
                       describe(entry.first), what, fmt::join(keys, ", "), nearest(key, keys)));
    // An empty value is marked where the next line begins; the key is the better place.
    if (entry.second.IsNull())
      fail(entry.first.Mark(),
           fmt::format("no value for {} in {}; expected one; write it after the "
                       "colon or remove the key",
                       key, what));
    if (!values.emplace(key, entry.second).second)
      fail(entry.first.Mark(), fmt::format("a second \"{}\" in {}; expected each key once; remove "
                                           "one of them",
                                           key, what));
  }
  return YamlMap(*this, node, what, std::move(values));
}

std::vector<YAML::Node> YamlFile::items(const YAML::Node& node, const std::string& what) const {
  if (!node.IsSequence()) return {node};
  if (node.size() == 0)
    fail(node.Mark(), fmt::format("found an empty list for {}; expected at least one item; add one "
                                  "or remove the key",
                                  what));
  return std::vector<YAML::Node>(node.begin(), node.end());
}

void YamlFile::fail_word(const YAML::Node& node, const std::string& what,
                         const std::vector<std::string>& words) const {
  fail(node.Mark(),
       fmt::format("found {} for {}; expected {}; did you mean \"{}\"?", describe(node), what,
                   fmt::join(words, " or "), nearest(node.IsScalar() ? node.Scalar() : "", words)));
}

std::string YamlFile::text(const YAML::Node& node, const std::string& what) const {
  const bool good = node.IsScalar() && !node.Scalar().empty() && node.Scalar().size() <= 200 &&
                    std::none_of(node.Scalar().begin(), node.Scalar().end(),
                                 [](char c) { return c >= 0 && c < 0x20; });
  if (!good)
    fail(node.Mark(), fmt::format("found {} for {}; expected one short line of text; correct it",
                                  describe(node), what));
  return node.Scalar();
}

std::vector<std::int64_t> YamlFile::numbers(const YAML::Node& node, const std::string& what,
                                            std::int64_t low, std::int64_t high) const {
  std::vector<std::int64_t> result;
  for (const YAML::Node& item : items(node, what)) {
    const auto reject = [&](const std::string& found) {
      fail(item.Mark(),
           fmt::format("found {} for {}; expected whole numbers from {} to {}: one, a list [a, b], "
                       "or a range \"start:end:step\"; correct {}",
                       found, what, low, high, what));
    };
    if (!item.IsScalar()) reject(describe(item));
    const std::string& text = item.Scalar();

    std::vector<std::int64_t> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(':', begin), text.size());
      const auto part = find_number(std::string_view(text).substr(begin, end - begin));
      // The step of a range may be smaller than the numbers that it makes.
      if (!part || *part > high || *part < (parts.size() == 2 ? 1 : low)) reject(describe(item));
      parts.push_back(*part);
      begin = end + 1;
    }
    if (parts.size() == 1) parts = {parts[0], parts[0], 1};
    if (parts.size() != 3) reject(describe(item));
    if (parts[0] > parts[1])
      reject(fmt::format("{}, which ends before it starts,", in_quotes(text)));
    for (std::int64_t value = parts[0]; value <= parts[1]; value += parts[2]) {
      result.push_back(value);
      if (result.size() > kMaxListItems) reject(fmt::format("more than {} values", kMaxListItems));
    }
  }
  return result;
}

std::int64_t YamlFile::number(const YAML::Node& node, const std::string& what, std::int64_t low,
                              std::int64_t high) const {
  const auto number = node.IsScalar() ? find_number(node.Scalar()) : std::nullopt;
  if (!number || *number < low || *number > high)
    fail(node.Mark(), fmt::format("found {} for {}; expected a whole number from {} to {}; correct "
                                  "{}",
                                  describe(node), what, low, high, what));
  return *number;
}

double YamlFile::decimal(const YAML::Node& node, const std::string& what, double low,
                         double high) const {
  const std::string text = node.IsScalar() ? node.Scalar() : std::string{};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  // The comparison is false for NaN.
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= low && value <= high))
    fail(node.Mark(),
         fmt::format("found {} for {}; expected a number from {:g} to {:g}; correct it",
                     describe(node), what, low, high));
  return value;
}

std::optional<YAML::Node> YamlMap::find(const std::string& key) const {
  const auto value = values_.find(key);
  if (value == values_.end()) return std::nullopt;
  return value->second;
}

YAML::Node YamlMap::at(const std::string& key) const {
  const auto value = find(key);
  if (!value)
    file_.fail(mark(),
               fmt::format("no \"{}\" in {}; expected that key; add \"{}: ...\"", key, what_, key));
  return *value;
}

std::string describe(const YAML::Node& node) {
  if (node.IsScalar()) return in_quotes(node.Scalar());
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a map";
  return "nothing";
}

}  // namespace hgemm
