// The configs that a command was asked about.
#pragma once

#include <string>

#include "families/family.h"

namespace hgemm::cli {

/// The config of a `--config` label. Throws InputError, with the rule, if the kernel cannot run it.
KernelConfig chosen_config(const std::string& label);

}  // namespace hgemm::cli
