#include "base/yaml.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"

namespace hgemm {
namespace fs = std::filesystem;
namespace {

/// Largest file, in bytes. yaml-cpp needs 280 bytes of memory for each bracket that is not closed
/// yet. 10,000 shapes take half of this size.
constexpr std::size_t kMaxFileBytes = 2 << 20;
/// Largest number of values, lists and maps; those of an alias count each time it is used. 10,000
/// shapes have 200,000.
constexpr std::size_t kMaxNodes = 500'000;
/// Deepest nesting: yaml-cpp recurses, and no file needs more than five levels.
constexpr std::size_t kMaxDepth = 32;
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

/// Carriage returns stay: the parser knows the line breaks of Windows.
bool is_break(std::string_view text, std::size_t at) {
  return text[at] == '\r' && text.substr(at + 1).starts_with('\n');
}

/// Position of the first character that is not text, if there is one. The parser would take 0x04
/// for the end of the file, and would misread other encodings.
std::optional<YAML::Mark> find_no_text(std::string_view text) {
  const std::string shown = printable(text);
  YAML::Mark mark;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (shown[i] != text[i] && !is_break(text, i)) return mark;
    ++mark.column;
    if (text[i] != '\n') continue;
    ++mark.line;
    mark.column = 0;
  }
  return std::nullopt;
}

/// The text from a mark to the end of its line.
std::string_view rest_of_line(std::string_view text, const YAML::Mark& mark) {
  for (int line = 0; line < mark.line && !text.empty(); ++line) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  text = text.substr(0, text.find_first_of("\r\n"));
  text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(std::max(mark.column, 0))));
  return text;
}

/// Checks a document before its nodes are built: nesting and size, with its aliases written out.
/// Then refuses any document behind it.
class Examiner : public YAML::EventHandler {
 public:
  Examiner(const YamlFile& file, std::string_view text) : file_(file), text_(text) {}

  void expect_end() { at_end_ = true; }

  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add_leaf(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    add_leaf(mark, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = sizes_.find(anchor);
    if (known == sizes_.end())
      file_.fail(mark,
                 "found an alias of what it is a part of; expected another one; write out "
                 "what is meant");
    add(mark, known->second);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YAML::anchor_t anchor;
    std::size_t nodes_before;
  };

  void add(const YAML::Mark& mark, std::size_t nodes) {
    if (at_end_) fail_at_end(mark);
    nodes_ += nodes;
    if (nodes_ > kMaxNodes)
      file_.fail(mark, fmt::format("more than {} values up to here, those of aliases counted each "
                                   "time; expected a smaller file; split it",
                                   kMaxNodes));
  }
  void add_leaf(const YAML::Mark& mark, YAML::anchor_t anchor) {
    add(mark, 1);
    if (anchor != YAML::NullAnchor) sizes_[anchor] = 1;
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor) {
    open_.push_back({anchor, nodes_});
    add(mark, 1);
    if (open_.size() > kMaxDepth)
      file_.fail(mark,
                 fmt::format("more than {} lists and maps within one another; expected a flat "
                             "file; check the brackets and the indentation",
                             kMaxDepth));
  }
  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor) sizes_[closed.anchor] = nodes_ - closed.nodes_before;
  }
  [[noreturn]] void fail_at_end(const YAML::Mark& mark) const {
    if (start_.column == 0 && rest_of_line(text_, start_).starts_with("---"))
      file_.fail(mark, "a second YAML document; expected one; remove the \"---\"");
    file_.fail(mark,
               fmt::format("found {} after the end of what the file holds; expected one map or "
                           "one list; check commas, brackets and indentation",
                           in_quotes(rest_of_line(text_, mark))));
  }

  const YamlFile& file_;
  std::string_view text_;
  bool at_end_ = false;
  YAML::Mark start_;
  std::size_t nodes_ = 0;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::size_t> sizes_;  ///< nodes below each finished anchor
};

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
  for (const fs::path& path : tried) {
    std::error_code error;  // ignored: the working folder may be gone
    const fs::path absolute = fs::absolute(path, error);
    looked.push_back((error ? path : absolute).lexically_normal().string());
  }
  throw InputError(fmt::format(
      "{}: {}; looked for {}; {}{}", in_quotes(argument),
      is_folder(argument) ? "a folder, not a file" : fmt::format("no such {} file", kind),
      fmt::join(looked, ", "), bare ? did_you_mean(argument, known) : "", known_names));
}

YamlFile YamlFile::read(const std::string& path, const std::string& expected) {
  return parse(read_file(path, kMaxFileBytes), path, expected);
}

YamlFile YamlFile::parse(std::string_view text, const std::string& path,
                         const std::string& expected) {
  YamlFile file;
  file.path_ = path;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  if (text.size() > kMaxFileBytes)
    file.fail(
        YAML::Mark(),
        fmt::format("larger than {} bytes; expected a small YAML file; split it", kMaxFileBytes));
  if (const auto mark = find_no_text(text))
    file.fail(*mark, fmt::format("found a byte that is no text; expected {} in UTF-8 without "
                                 "control characters; save the file as such",
                                 expected));
  try {
    // Not YAML::LoadAll: it loops forever at a comma where a document ends.
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Examiner examiner(file, text);
    const bool has_document = parser.HandleNextDocument(examiner);
    examiner.expect_end();
    parser.HandleNextDocument(examiner);
    if (has_document) file.root_ = YAML::Load(std::string(text));
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
  // An error of the whole file has a null mark, with -1 for both.
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
                    is_one_line(node.Scalar());
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
      // The step of a range may be below the limits of its numbers.
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
