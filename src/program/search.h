// How a search is asked for: shared by commands.
#pragma once

#include <optional>
#include <string>

#include "search/strategy.h"

namespace hgemm::cli {

StrategyKind parse_strategy(const std::string& name);  ///< throws InputError naming all
Budget parse_budget(const std::string& text);          ///< "3%" or "100configs"; throws InputError

/// What a tune may take.
struct Allowance {
  std::optional<double> seconds;  ///< of wall-clock time
  std::optional<Budget> configs;  ///< neither: all of them, however long it takes
};
/// "60s", "5min", "1h", "3%", "100configs" or "all". Throws InputError, for a number without a unit
/// with all forms that it could have.
Allowance parse_allowance(const std::string& text);

}  // namespace hgemm::cli
