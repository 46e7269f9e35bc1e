#include "space/words.h"

#include <fmt/core.h>

#include <charconv>

namespace hgemm {
namespace {

constexpr std::string_view kGroupPrefix = "group";

std::optional<int> find_small_number(std::string_view text) {
  const auto number = find_number(text);
  if (!number || *number > 9999) return std::nullopt;
  return static_cast<int>(*number);
}

}  // namespace

std::string order_word(TileOrder order, int group) {
  switch (order) {
    case TileOrder::kLinear:
      return "linear";
    case TileOrder::kGrouped:
      return fmt::format("{}{}", kGroupPrefix, group);
    case TileOrder::kHilbert:
      return "hilbert";
  }
  return "?";
}

std::string_view epilogue_word(Epilogue epilogue) {
  return epilogue == Epilogue::kDirect ? "direct" : "tma";
}

std::string_view schedule_word(bool persistent) { return persistent ? "persist" : "single"; }

std::optional<Grid::Order> find_order(std::string_view word) {
  if (word == "linear") return Grid::Order{TileOrder::kLinear, 0};
  if (word == "hilbert") return Grid::Order{TileOrder::kHilbert, 0};
  if (!word.starts_with(kGroupPrefix)) return std::nullopt;
  const auto group = find_small_number(word.substr(kGroupPrefix.size()));
  if (!group) return std::nullopt;
  return Grid::Order{TileOrder::kGrouped, *group};
}

std::optional<Epilogue> find_epilogue(std::string_view word) {
  for (const Epilogue epilogue : {Epilogue::kDirect, Epilogue::kTma})
    if (word == epilogue_word(epilogue)) return epilogue;
  return std::nullopt;
}

std::optional<bool> find_schedule(std::string_view word) {
  for (const bool persistent : {true, false})
    if (word == schedule_word(persistent)) return persistent;
  return std::nullopt;
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
