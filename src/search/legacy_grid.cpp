#include "search/legacy_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hgemm {
namespace {

constexpr std::array kGone = {"consumers", "walk", "epilogue", "dtype"};
constexpr std::array kKeys = {"bm",        "bn",       "bk",        "q",     "cluster",
                              "consumers", "schedule", "d",         "order", "a_hint",
                              "b_hint",    "d_hint",   "promotion", "walk",  "epilogue",
                              "ctas",      "pack",     "pdl",       "fixed", "dtype"};

/// A schedule of old grids, and the present family of its kernels.
struct OldSchedule {
  std::string_view word, family;
};
constexpr std::array kSchedules = {OldSchedule{"coop", "tiled"}, OldSchedule{"cols", "tiled"},
                                   OldSchedule{"pp", "tiled"}, OldSchedule{"swap", "swap_ab"},
                                   OldSchedule{"vec", "gemv"}};

/// A present axis that had another key in old grids. `family` "": in every family.
struct OldKey {
  std::string_view family, axis, key;
};
constexpr std::array kRenamed = {OldKey{"", "scheduler", "walk"}, OldKey{"", "store", "epilogue"},
                                 OldKey{"gemv", "vectors", "bm"}, OldKey{"gemv", "rows", "bn"},
                                 OldKey{"gemv", "step", "bk"},    OldKey{"gemv", "depth", "q"}};

}  // namespace

bool is_legacy_grid(const YAML::Node& grid) {
  return grid.IsMap() &&
         std::ranges::any_of(kGone, [&](const char* key) { return grid[key].IsDefined(); });
}

std::vector<std::string> legacy_keys() { return {kKeys.begin(), kKeys.end()}; }

std::vector<std::string> legacy_schedules() {
  std::vector<std::string> words;
  for (const OldSchedule& schedule : kSchedules) words.emplace_back(schedule.word);
  return words;
}

std::optional<std::string_view> legacy_family(std::string_view schedule) {
  for (const auto& [word, family] : kSchedules) {
    if (word == schedule) return family;
  }
  return std::nullopt;
}

std::optional<std::string> legacy_key(std::string_view family, std::string_view axis) {
  for (const OldKey& renamed : kRenamed) {
    if (renamed.axis == axis && (renamed.family.empty() || renamed.family == family)) {
      return std::string(renamed.key);
    }
  }
  if (std::ranges::find(kKeys, axis) == kKeys.end()) return std::nullopt;
  return std::string(axis);
}

std::optional<std::vector<std::string>> legacy_values(std::string_view family,
                                                      std::string_view axis,
                                                      std::span<const std::string> schedules,
                                                      std::span<const std::int64_t> consumers) {
  std::vector<std::string> values;
  if (family == "tiled" && axis == "schedule") {
    for (const std::string& schedule : schedules) {
      for (const std::int64_t count : consumers) {
        values.push_back(fmt::format("{}{}", schedule, count));
      }
    }
  } else if (family == "gemv" && axis == "warps") {
    for (const std::int64_t count : consumers) values.push_back(fmt::to_string(4 * count));
  } else {
    return std::nullopt;
  }
  return values;
}

std::string modern_word(const std::string& word) { return word == "late" ? "overlap" : word; }

}  // namespace hgemm
