// The shapes that a command was asked about.
#pragma once

#include <string>
#include <vector>

#include "space/shape.h"

namespace hgemm::cli {

/// What `--shapes` names (space/shape.h). Throws InputError also for a shape that no machine could
/// hold.
std::vector<Shape> chosen_shapes(const std::string& argument);

}  // namespace hgemm::cli
