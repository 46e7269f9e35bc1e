// The axis tables: every member of a config has its row, and every row reads what it prints.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "families/visit.h"
#include "gemm/codec.h"

namespace hgemm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;
using InLabel = AxisText::InLabel;

// ---- Members ----

/// All members of a config, in their order; one that is added must be added here and to kMembers.
auto members(TiledConfig& c) {
  auto& [bm, bn, bk, stages, cluster_m, cluster_n, swap, schedule, consumers, mma_depth, promote,
         order, group, store, scheduler, splits, a_hint, b_hint, d_hint, promotion, ctas_per_sm,
         sms, pdl, hold, gpc, pack, fixed, probe] = c;
  return std::tie(bm, bn, bk, stages, cluster_m, cluster_n, swap, schedule, consumers, mma_depth,
                  promote, order, group, store, scheduler, splits, a_hint, b_hint, d_hint,
                  promotion, ctas_per_sm, sms, pdl, hold, gpc, pack, fixed, probe);
}
auto members(SwapAbConfig& c) {
  auto& [bm, bn, bk, stages, mma_depth, promote, store, splits, a_hint, b_hint, d_hint, promotion,
         ctas_per_sm, pdl, late, hold, pack, fixed] = c;
  return std::tie(bm, bn, bk, stages, mma_depth, promote, store, splits, a_hint, b_hint, d_hint,
                  promotion, ctas_per_sm, pdl, late, hold, pack, fixed);
}
auto members(GemvConfig& c) {
  auto& [vectors, rows, step, depth, warps, splits, ctas_per_sm, pdl, fixed] = c;
  return std::tie(vectors, rows, step, depth, warps, splits, ctas_per_sm, pdl, fixed);
}

template <class Config>
struct Of;
template <>
struct Of<TiledConfig> {
  static inline const std::vector<std::string> kMembers = {
      "bm",        "bn",        "bk",        "stages",  "cluster_m", "cluster_n", "swap",
      "schedule",  "consumers", "mma_depth", "promote", "order",     "group",     "store",
      "scheduler", "splits",    "a_hint",    "b_hint",  "d_hint",    "promotion", "ctas_per_sm",
      "sms",       "pdl",       "hold",      "gpc",     "pack",      "fixed",     "probe"};
  /// All numbers count: an order without bands has no group.
  static TiledConfig busy() {
    return {.order = TileOrder::kGroupedRows,
            .group = 8,
            .scheduler = TileScheduler::kSplitK,
            .splits = 4};
  }
};
template <>
struct Of<SwapAbConfig> {
  static inline const std::vector<std::string> kMembers = {
      "bm",          "bn",     "bk",     "stages", "mma_depth", "promote",
      "store",       "splits", "a_hint", "b_hint", "d_hint",    "promotion",
      "ctas_per_sm", "pdl",    "late",   "hold",   "pack",      "fixed"};
  static SwapAbConfig busy() { return {.splits = 4}; }
};
template <>
struct Of<GemvConfig> {
  static inline const std::vector<std::string> kMembers = {
      "vectors", "rows", "step", "depth", "warps", "splits", "ctas_per_sm", "pdl", "fixed"};
  static GemvConfig busy() { return {.splits = 4}; }
};

void change(int& number) { ++number; }
void change(bool& flag) { flag = !flag; }
void change(CacheHint& hint) { hint = CacheHint::kEvictLast; }
void change(Schedule& schedule) { schedule = Schedule::kPingPong; }
void change(TileOrder& order) { order = TileOrder::kSnakeRows; }
void change(StorePath& store) { store = StorePath::kStaged; }
void change(TileScheduler& scheduler) { scheduler = TileScheduler::kClusterSplitK; }

/// Positions of the axes whose value differs.
template <class Config>
std::vector<std::size_t> different_axes(const Config& a, const Config& b) {
  std::vector<std::size_t> different;
  const auto axes = Family<Config>::axes();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const bool differs = axes[i].raw(a) != axes[i].raw(b);
    EXPECT_EQ(axes[i].print(a) != axes[i].print(b), differs) << axes[i].text.name;
    EXPECT_EQ(axes[i].rank(a) != axes[i].rank(b), differs) << axes[i].text.name;
    if (differs) different.push_back(i);
  }
  return different;
}

/// What the kernel's source has of the config: ".bm = 128" and the like.
template <class Config>
std::set<std::string> initialisers(const Config& config) {
  std::set<std::string> lines;
  std::string source = kernel_definition(kernel_for(config, parse_problem("8x8x8")), "k", "");
  source.resize(source.find("hgemm::GemmKind{"));
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = std::min(source.find('\n', begin), source.size());
    if (source.substr(begin, 5) == "    .") lines.insert(source.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

template <class Config, std::size_t i>
void expect_one_axis() {
  const std::string& name = Of<Config>::kMembers[i];
  SCOPED_TRACE(name);
  const Config before = Of<Config>::busy();
  Config after = before;
  change(std::get<i>(members(after)));
  ASSERT_NE(before, after);
  EXPECT_NE(label(before), label(after));
  EXPECT_EQ(parse_label(label(after)), KernelConfig(after));

  const auto different = different_axes(before, after);
  ASSERT_EQ(different.size(), 1u);
  const Axis<Config>& axis = Family<Config>::axes()[different[0]];
  EXPECT_TRUE(std::ranges::any_of(std::span(axis.members).first(axis.member_count),
                                  [&](const AxisMember& member) { return member.name == name; }))
      << axis.text.name;
  Config copy = before;
  axis.copy(copy, after);
  EXPECT_EQ(copy, after);
  EXPECT_EQ(axis.distance(before, before), 0);
  // Stamps are for studies, which search nothing.
  EXPECT_EQ(axis.distance(before, after) > 0, name != "probe");
  EXPECT_NEAR(axis.distance(before, after), axis.distance(after, before), 1e-12);

  std::vector<std::string> added;
  std::ranges::set_difference(initialisers(after), initialisers(before), std::back_inserter(added));
  if (name == "probe") {
    EXPECT_TRUE(added.empty()) << "the plain kernel beside the probed one";
  } else {
    ASSERT_EQ(added.size(), 1u);
    EXPECT_TRUE(added[0].starts_with("    ." + name + " = ")) << added[0];
  }
}

template <class Config>
class AxisTable : public ::testing::Test {};
using Configs = ::testing::Types<TiledConfig, SwapAbConfig, GemvConfig>;
TYPED_TEST_SUITE(AxisTable, Configs);

TYPED_TEST(AxisTable, HasOneRowForEachMember) {
  using Config = TypeParam;
  constexpr auto kCount = std::tuple_size_v<decltype(members(std::declval<Config&>()))>;
  ASSERT_EQ(Of<Config>::kMembers.size(), kCount);
  std::vector<std::string> named;
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    for (std::size_t i = 0; i < axis.member_count; ++i) {
      named.emplace_back(axis.members[i].name);
    }
  }
  EXPECT_THAT(named, UnorderedElementsAreArray(Of<Config>::kMembers));
  [&]<std::size_t... i>(std::index_sequence<i...>) { (expect_one_axis<Config, i>(), ...); }
  (std::make_index_sequence<kCount>{});
}

TYPED_TEST(AxisTable, IsExplained) {
  using Config = TypeParam;
  std::set<std::string_view> names;
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    const AxisText& text = axis.text;
    EXPECT_FALSE(text.name.empty());
    EXPECT_TRUE(names.insert(text.name).second) << text.name;
    EXPECT_FALSE(text.form.empty()) << text.name;
    EXPECT_FALSE(text.values.empty()) << text.name;
    EXPECT_FALSE(text.help.empty()) << text.name;
    EXPECT_FALSE(text.in_label == InLabel::kFlag && text.field.empty()) << text.name;
  }
}

// ---- Values ----

/// "group8" -> {"group", 8}; a word without a number has -1.
std::pair<std::string, int> taken_apart(const std::string& word) {
  const std::size_t digits = std::min(word.find_first_of("0123456789"), word.size());
  return {word.substr(0, digits), find_small_number(word.substr(digits)).value_or(-1)};
}

/// The values that an item of AxisText::values stands for: "tma", "64 to 256 by 8", "split2 to
/// split16" or "snake..", any number behind it.
std::vector<std::string> values_of(std::string item) {
  const auto range = item.find(" to ");
  if (range != item.npos) {
    const auto by = item.find(" by ");
    const auto [prefix, first] = taken_apart(item.substr(0, range));
    const auto [same, last] = taken_apart(item.substr(range + 4, by - range - 4));
    const int step = by == item.npos ? 1 : taken_apart(item.substr(by + 4)).second;
    EXPECT_EQ(prefix, same) << item;
    std::vector<std::string> values;
    for (int value = first; value <= last; value += step) {
      values.push_back(fmt::format("{}{}", prefix, value));
    }
    EXPECT_EQ(values.back(), fmt::format("{}{}", prefix, last)) << item;
    return values;
  }
  if (item.ends_with("..")) {
    item.resize(item.size() - 2);
    return {item + "1", item + "8", item + "64"};
  }
  return {item};
}

/// All values that the text lists, in its order. What stands in brackets or behind a colon is about
/// them.
std::vector<std::string> listed(const AxisText& text) {
  if (text.values == "divisors and multiples of the warps") return {"1", "2", "4", "8", "16", "32"};
  std::string list(text.values);
  for (auto open = list.find(" ("); open != list.npos; open = list.find(" (")) {
    list.erase(open, list.find(')', open) + 1 - open);
  }
  std::vector<std::string> values;
  while (!list.empty()) {
    const auto end = std::min(list.find_first_of(",;"), list.size());
    std::string item = list.substr(0, end);
    list.erase(0, std::min(end + 2, list.size()));
    item.resize(std::min(item.find(':'), item.size()));
    for (const std::string& value : values_of(item)) values.push_back(value);
  }
  return values;
}

TEST(ListedValues, AreReadFromHelp) {
  EXPECT_THAT(listed({.values = "64 to 256 by 64"}), ElementsAre("64", "128", "192", "256"));
  EXPECT_THAT(listed({.values = "1x1, 2x1 (CTAs along M, or N), 1x2"}),
              ElementsAre("1x1", "2x1", "1x2"));
  EXPECT_THAT(listed({.values = "a, b2 to b4, c.."}),
              ElementsAre("a", "b2", "b3", "b4", "c1", "c8", "c64"));
  EXPECT_THAT(listed({.values = "2 to 4; max: as many as fit"}), ElementsAre("2", "3", "4", "max"));
}

TYPED_TEST(AxisTable, ReadsAndPrintsEveryListedValue) {
  using Config = TypeParam;
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    SCOPED_TRACE(axis.text.name);
    const std::vector<std::string> listed_words = listed(axis.text);
    // Ranges of two cases ("in steps of 64, with swap of 8") share values.
    const std::set<std::string> words(listed_words.begin(), listed_words.end());
    EXPECT_GE(words.size(), 2u) << "an axis of one value is none";
    std::set<std::array<std::int64_t, 2>> distinct;
    for (const std::string& word : words) {
      Config config = Of<Config>::busy();
      ASSERT_TRUE(axis.parse(config, word)) << word;
      distinct.insert(axis.raw(config));
      if (word == "max") continue;  // of spaces: a number once they are enumerated
      EXPECT_EQ(axis.print(config), word);
      EXPECT_EQ(parse_label(label(config)), KernelConfig(config)) << word;
      Config again;
      EXPECT_TRUE(axis.parse(again, axis.print(config)));
      EXPECT_EQ(axis.raw(again), axis.raw(config)) << word;
    }
    EXPECT_EQ(distinct.size(), words.size());
  }
}

TYPED_TEST(AxisTable, ReadsNothingElse) {
  using Config = TypeParam;
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    for (const char* bad : {"", " ", "-1", "+1", "1.5", "99999", "0b10", "x", "1x", "tma ", "MAX",
                            "persists", "group", "coop", "csplit", "single2", "1 "}) {
      Config config;
      EXPECT_FALSE(axis.parse(config, bad)) << axis.text.name << " \"" << bad << '"';
    }
  }
}

TYPED_TEST(AxisTable, DefaultsAreThoseOfAConfig) {
  using Config = TypeParam;
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    const AxisText& text = axis.text;
    // Labels leave out defaults, and spaces need not say them.
    EXPECT_TRUE(text.in_label == InLabel::kAlways || !text.otherwise.empty()) << text.name;
    if (text.otherwise.empty() || text.otherwise == "max") continue;
    EXPECT_EQ(text.otherwise, axis.print(Config{})) << text.name;
    EXPECT_THAT(listed(text), Contains(std::string(text.otherwise))) << text.name;
  }
}

// ---- Asked by name ----

TEST(Axes, AreAskedByTheFamilysName) {
  EXPECT_THAT(family_names(), ElementsAre("tiled", "swap_ab", "gemv"));
  EXPECT_TRUE(axes_of("none").empty());
  for_each_family([]<class Config>(const Config& config) {
    const auto texts = axes_of(Family<Config>::kName);
    const auto values = axis_values(config);
    const auto axes = Family<Config>::axes();
    ASSERT_EQ(texts.size(), axes.size());
    ASSERT_EQ(values.size(), axes.size());
    EXPECT_EQ(family_name(config), Family<Config>::kName);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      EXPECT_EQ(texts[i].name, axes[i].text.name);
      EXPECT_EQ(values[i].axis, axes[i].text.name);
      EXPECT_EQ(values[i].value, axes[i].print(config));
    }
  });
}

// Axes of the same name mean the same: tables and plan list them once.
TEST(Axes, OfTheSameNameAreAlike) {
  std::map<std::string_view, AxisText> known;
  for (const std::string_view family : family_names()) {
    for (const AxisText& text : axes_of(family)) {
      const auto [first, is_new] = known.emplace(text.name, text);
      if (is_new) continue;
      EXPECT_EQ(first->second.field, text.field) << text.name;
      EXPECT_EQ(first->second.in_label, text.in_label) << text.name;
      EXPECT_EQ(first->second.number, text.number) << text.name;
      EXPECT_EQ(first->second.minor, text.minor) << text.name;
      EXPECT_EQ(first->second.otherwise.empty(), text.otherwise.empty()) << text.name;
    }
  }
}

}  // namespace
}  // namespace hgemm
