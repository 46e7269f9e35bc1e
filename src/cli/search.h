// How a search is asked for, and what the cost model goes by: shared by commands.
#pragma once

#include <string>
#include <vector>

#include "model/device.h"
#include "search/strategy.h"

namespace hgemm::cli {

StrategyKind parse_strategy(const std::string& name);  ///< throws InputError naming all
Budget parse_budget(const std::string& text);          ///< "3%" or "100"; throws InputError

std::vector<Device> known_devices();  ///< of configs/devices.yaml

}  // namespace hgemm::cli
