#include "space/words.h"

#include <fmt/format.h>

#include <charconv>
#include <initializer_list>
#include <limits>

namespace hgemm {
namespace {

constexpr std::string_view kPdlWord = "pdl";
constexpr std::string_view kPackWord = "pack";
constexpr TileOrder kOrders[] = {TileOrder::kLinear,         TileOrder::kGroupedRows,
                                 TileOrder::kGroupedColumns, TileOrder::kSnakeRows,
                                 TileOrder::kSnakeColumns,   TileOrder::kHilbert};

/// Without the group. N is what bands of columns divide.
std::string_view order_name(TileOrder order) {
  switch (order) {
    case TileOrder::kLinear:
      return "linear";
    case TileOrder::kGroupedRows:
      return "group";
    case TileOrder::kGroupedColumns:
      return "ngroup";
    case TileOrder::kSnakeRows:
      return "snake";
    case TileOrder::kSnakeColumns:
      return "nsnake";
    case TileOrder::kHilbert:
      return "hilbert";
  }
  return "?";
}

/// Without the number of splits.
std::string_view walk_name(Walk walk) {
  switch (walk) {
    case Walk::kPersistent:
      return "persist";
    case Walk::kSingle:
      return "single";
    case Walk::kSplitK:
      return "split";
    case Walk::kStreamK:
      return "stream";
    case Walk::kClusterSplit:
      return "csplit";
    case Walk::kDynamic:
      return "dynamic";
  }
  return "?";
}

/// The one of `values` that `word_of` writes as `word`.
template <class Value>
std::optional<Value> find_word(std::string_view word, std::string_view (*word_of)(Value),
                               std::initializer_list<Value> values) {
  for (const Value value : values)
    if (word == word_of(value)) return value;
  return std::nullopt;
}

std::optional<int> find_number_up_to(int most, std::string_view text) {
  const auto number = find_number(text);
  if (!number || *number > most) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

std::string order_word(TileOrder order, int group) {
  return has_bands(order) ? fmt::format("{}{}", order_name(order), group)
                          : std::string(order_name(order));
}

std::string_view schedule_word(Schedule schedule) {
  switch (schedule) {
    case Schedule::kRows:
      return "coop";
    case Schedule::kColumns:
      return "cols";
    case Schedule::kPingPong:
      return "pp";
    case Schedule::kSwapped:
      return "swap";
    case Schedule::kVector:
      return "vec";
  }
  return "?";
}

std::string_view epilogue_word(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kDirect:
      return "direct";
    case Epilogue::kTma:
      return "tma";
    case Epilogue::kStaged:
      return "staged";
    case Epilogue::kLate:
      return "late";
  }
  return "?";
}

std::string walk_word(Walk walk, int splits) {
  const bool in_parts = walk == Walk::kSplitK || walk == Walk::kClusterSplit;
  return in_parts ? fmt::format("{}{}", walk_name(walk), splits) : std::string(walk_name(walk));
}

std::string_view hint_word(CacheHint hint) {
  switch (hint) {
    case CacheHint::kNone:
      return "none";
    case CacheHint::kEvictFirst:
      return "first";
    case CacheHint::kEvictLast:
      return "last";
  }
  return "?";
}

std::string option_fields(const KernelConfig& config) {
  std::string fields;
  const auto add = [&](const std::string& field) { fields += (fields.empty() ? "" : ".") + field; };
  const auto add_hint = [&](char operand, CacheHint hint) {
    if (hint != CacheHint::kNone) add(fmt::format("{}{}", operand, hint_word(hint)));
  };
  add_hint('a', config.a_hint);
  add_hint('b', config.b_hint);
  add_hint('d', config.d_hint);
  if (config.promotion != KernelConfig{}.promotion) add(fmt::format("p{}", config.promotion));
  if (config.ctas_per_sm != KernelConfig{}.ctas_per_sm) {
    add(fmt::format("cta{}", config.ctas_per_sm));
  }
  if (config.pdl) add(std::string(kPdlWord));
  if (config.pack) add(std::string(kPackWord));
  if (is_fixed(config)) add(fmt::format("for{}x{}x{}", config.m, config.n, config.k));
  return fields;
}

std::optional<Grid::Order> find_order(std::string_view word) {
  for (const TileOrder order : kOrders) {
    const std::string_view name = order_name(order);
    if (!word.starts_with(name)) continue;
    const std::string_view rest = word.substr(name.size());
    if (!has_bands(order))
      return rest.empty() ? std::optional(Grid::Order{order, 0}) : std::nullopt;
    const auto group = find_small_number(rest);
    return group ? std::optional(Grid::Order{order, *group}) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<Schedule> find_schedule(std::string_view word) {
  return find_word(word, schedule_word,
                   {Schedule::kRows, Schedule::kColumns, Schedule::kPingPong, Schedule::kSwapped,
                    Schedule::kVector});
}

std::optional<Epilogue> find_epilogue(std::string_view word) {
  return find_word(word, epilogue_word,
                   {Epilogue::kDirect, Epilogue::kTma, Epilogue::kStaged, Epilogue::kLate});
}

std::optional<Grid::Deal> find_walk(std::string_view word) {
  const auto walk = find_word(word, walk_name,
                              {Walk::kPersistent, Walk::kSingle, Walk::kStreamK, Walk::kDynamic});
  if (walk) return Grid::Deal{*walk, KernelConfig{}.splits};
  for (const Walk in_parts : {Walk::kSplitK, Walk::kClusterSplit}) {
    const std::string_view name = walk_name(in_parts);
    if (!word.starts_with(name)) continue;
    const auto splits = find_small_number(word.substr(name.size()));
    return splits ? std::optional(Grid::Deal{in_parts, *splits}) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<CacheHint> find_hint(std::string_view word) {
  return find_word(word, hint_word,
                   {CacheHint::kNone, CacheHint::kEvictFirst, CacheHint::kEvictLast});
}

std::optional<bool> find_pdl(std::string_view word) {
  return word == kPdlWord ? std::optional(true) : std::nullopt;
}

std::optional<bool> find_pack(std::string_view word) {
  return word == kPackWord ? std::optional(true) : std::nullopt;
}

std::optional<Extents> find_extents(std::string_view word) {
  const auto first = word.find('x');
  const auto second = first == word.npos ? word.npos : word.find('x', first + 1);
  if (second == word.npos) return std::nullopt;
  constexpr int kMost = std::numeric_limits<int>::max();
  const auto m = find_number_up_to(kMost, word.substr(0, first));
  const auto n = find_number_up_to(kMost, word.substr(first + 1, second - first - 1));
  const auto k = find_number_up_to(kMost, word.substr(second + 1));
  if (!m || !n || !k) return std::nullopt;
  return Extents{*m, *n, *k};
}

std::optional<Dtype> find_dtype(std::string_view word) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kFp16, Dtype::kFp32})
    if (word == to_string(dtype)) return dtype;
  return std::nullopt;
}

std::optional<Layout> find_layout(std::string_view word) {
  if (word == to_string(Layout::kTN)) return Layout::kTN;
  return std::nullopt;
}

std::optional<Grid::Cluster> find_cluster(std::string_view word) {
  const auto cross = word.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  const auto m = find_small_number(word.substr(0, cross));
  const auto n = find_small_number(word.substr(cross + 1));
  if (!m || !n) return std::nullopt;
  return Grid::Cluster{*m, *n};
}

std::optional<std::int64_t> find_number(std::string_view text) {
  if (text.empty() || text[0] == '-') return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int> find_small_number(std::string_view text) {
  return find_number_up_to(9999, text);
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    result += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace hgemm
