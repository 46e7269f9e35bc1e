// The kinds of GPU with known figures.
#pragma once

#include <vector>

#include "search/devices.h"

namespace hgemm::cli {

std::vector<Device> known_devices();  ///< from configs/devices.yaml

}  // namespace hgemm::cli
