// Grids of old space files, from before kernels had families: one set of axes for all, with the
// schedules swap and vec for two of the present families, consumers as a separate axis, and the
// types among the axes.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hgemm {

/// Whether a grid has a key that only old grids have: consumers, walk, epilogue or dtype.
bool is_legacy_grid(const YAML::Node& grid);

/// Every key that such a grid may have.
std::vector<std::string> legacy_keys();
/// The schedules that such a grid may have.
std::vector<std::string> legacy_schedules();

/// The present family of the kernels with this schedule; nullopt if there was no such schedule.
std::optional<std::string_view> legacy_family(std::string_view schedule);

/// The key that such a grid has for a present axis; nullopt: the axis keeps its default.
std::optional<std::string> legacy_key(std::string_view family, std::string_view axis);

/// The values of a present axis that such a grid gave by its schedules, all of `family`, and its
/// numbers of consumers: "coop2", or a GEMV's warps. nullopt for any other axis.
std::optional<std::vector<std::string>> legacy_values(std::string_view family,
                                                      std::string_view axis,
                                                      std::span<const std::string> schedules,
                                                      std::span<const std::int64_t> consumers);

/// The present spelling of a value.
std::string modern_word(const std::string& word);

}  // namespace hgemm
