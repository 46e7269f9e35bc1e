// The configs that are named on the command line.
#pragma once

#include <string>

#include "families/family.h"

namespace hgemm::cli {

/// The config of a `--config` label. Throws InputError that names the broken rule if the kernel
/// cannot run it.
KernelConfig chosen_config(const std::string& label);

}  // namespace hgemm::cli
