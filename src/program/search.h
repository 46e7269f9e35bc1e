// Command-line options of a search, shared by commands.
#pragma once

#include <optional>
#include <string>

#include "search/strategy.h"

namespace hgemm::cli {

StrategyKind parse_strategy(const std::string& name);  ///< throws InputError that names all
Budget parse_budget(const std::string& text);          ///< "3%" or "100configs"; throws InputError

/// Limits of a tune. If neither is set, it measures all configs, however long that takes.
struct Allowance {
  std::optional<double> seconds;  ///< wall-clock time
  std::optional<Budget> configs;  ///< number or share of configs
};
/// Parses "60s", "5min", "1h", "3%", "100configs" or "all". Throws InputError; for a number without
/// a unit, the message lists all forms that it could have.
Allowance parse_allowance(const std::string& text);

}  // namespace hgemm::cli
