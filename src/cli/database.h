// Databases as arguments of commands.
#pragma once

#include <string>

#include "trial/trial.h"

namespace hgemm::cli {

/// Throws InputError, with what to do, if there is no such file.
void require_database(const std::string& path);

/// "NVIDIA H200 (GPU-1234), driver 580.1, kernel sources 0123456789ab".
std::string in_words(const Environment& environment);

}  // namespace hgemm::cli
