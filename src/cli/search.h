// How a search is asked for: shared by commands.
#pragma once

#include <string>

#include "search/strategy.h"

namespace hgemm::cli {

StrategyKind parse_strategy(const std::string& name);  ///< throws InputError naming all
Budget parse_budget(const std::string& text);          ///< "3%" or "100"; throws InputError

}  // namespace hgemm::cli
