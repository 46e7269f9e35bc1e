// Databases as arguments of commands.
#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace hgemm::cli {

/// Throws InputError, with what to do, if there is no such file.
void require_database(const std::string& path);

/// "driver 580.1 -> 590.2": every condition in which `to` differs from `from`, none if they are the
/// same (Environment::same_conditions).
std::vector<std::string> differences(const Environment& from, const Environment& to);

/// "NVIDIA H200 (GPU-1234), driver 580.1, kernel sources 0123456789ab".
std::string in_words(const Environment& environment);

}  // namespace hgemm::cli
