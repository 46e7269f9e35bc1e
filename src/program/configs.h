// The configs that a command line asks for, by name or by a space.
#pragma once

#include <span>
#include <string>

#include "families/allowed.h"
#include "search/space.h"

namespace hgemm::cli {

/// The config of a `--config` label. Throws InputError that names the broken rule if the kernel
/// cannot run it with operands of any type. (Whether it can compute a problem: why_not().)
KernelConfig chosen_config(const std::string& label);

/// The points of a space for the types of the problems, without configs that are not allowed.
/// `rejected` counts only what rules reject.
Enumeration allowed_points(const Space& space, std::span<const GemmProblem> problems,
                           const Allowed& allowed);

/// The number or share of a space's configs that is measured at each shape where neither that nor a
/// time is given.
std::string default_configs(const std::string& space);

}  // namespace hgemm::cli
