// Grids as space files had them before kernels had families: one set of axes for all, with schedule
// swap and vec for what are families today, consumers apart, and the types among the axes.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// Whether a grid has a key that there is no more: consumers, walk, epilogue or dtype.
bool is_legacy_grid(const YAML::Node& grid);

/// Every key that such a grid may have.
std::vector<std::string> legacy_keys();
/// The schedules that such a grid may have.
std::vector<std::string> legacy_schedules();

/// Today's family of the kernels that had the schedule; nullopt: there was no such schedule.
std::optional<std::string_view> legacy_family(std::string_view schedule);

/// The key in such a grid of an axis of today; nullopt: the axis keeps its default.
std::optional<std::string> legacy_key(std::string_view family, std::string_view axis);

/// The values of an axis of today which such a grid gave by its schedules, all of the family, and
/// its numbers of consumers: "coop2", or a GEMV's warps. nullopt: any other axis.
std::optional<std::vector<std::string>> legacy_values(std::string_view family,
                                                      std::string_view axis,
                                                      std::span<const std::string> schedules,
                                                      std::span<const std::int64_t> consumers);

/// A value in today's words.
std::string modern_word(const std::string& word);

}  // namespace hgemm
