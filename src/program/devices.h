// The kinds of GPU that the program knows figures of.
#pragma once

#include <vector>

#include "search/devices.h"

namespace hgemm::cli {

std::vector<Device> known_devices();  ///< of configs/devices.yaml

}  // namespace hgemm::cli
