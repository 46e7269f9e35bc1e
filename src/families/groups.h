// Groups of configs whose predictions err together.
#pragma once

#include <cstdint>
#include <string_view>

#include "families/family.h"

namespace hgemm {

/// Keys, for use within a process.
struct ConfigGroups {
  /// The family and its words that have a number, without the number: how a config cuts up the work
  /// and shares it out (schedule, scheduler).
  std::uint64_t manner = 0;
  /// All its words and pairs of numbers (also store, cluster).
  std::uint64_t kind = 0;
  /// All axes but details (AxisText::Vary): configs that differ in details only.
  std::uint64_t core = 0;
};

template <class Config>
ConfigGroups groups_of(const Config& config) {
  ConfigGroups groups;
  const auto mix = [](std::uint64_t& key, std::uint64_t value) {
    key = (key ^ value) * 0x9E3779B97F4A7C15ull;
    key ^= key >> 29;
  };
  for (const char letter : Family<Config>::kName) mix(groups.manner, static_cast<unsigned>(letter));
  groups.kind = groups.core = groups.manner;
  for (const Axis<Config>& axis : Family<Config>::axes()) {
    if (axis.text.vary == AxisText::Vary::kDetail) continue;
    const auto rank = static_cast<std::uint64_t>(axis.rank(config));
    mix(groups.core, rank);
    if (axis.text.number) continue;
    const bool has_word = !axis.members[0].type.empty();
    if (has_word && axis.member_count == 2) {  // "csplit4" works as "csplit2" does
      const auto word = static_cast<std::uint64_t>(axis.raw(config)[0]);
      mix(groups.manner, word);
      mix(groups.kind, word);
      continue;
    }
    mix(groups.kind, rank);
    if (!has_word && axis.member_count == 1) mix(groups.manner, rank);  // "single", "csplit4"
  }
  return groups;
}
ConfigGroups groups_of(const KernelConfig& config);

}  // namespace hgemm
