// The problems that a command was asked about.
#pragma once

#include <string>
#include <vector>

#include "gemm/problem.h"

namespace hgemm::cli {

/// What `--shapes` names (gemm/problem_list.h). Throws InputError also for a problem that no
/// machine could hold.
std::vector<GemmProblem> chosen_problems(const std::string& argument);

}  // namespace hgemm::cli
