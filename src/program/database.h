// Databases as arguments of commands.
#pragma once

#include <string>

#include "record/environment.h"

namespace hgemm::cli {

/// Throws InputError, with what to do, if there is no such file.
void require_database(const std::string& path);

/// "NVIDIA H200, driver 580.1, CUDA 13.0, cuBLAS 13.1.0".
std::string in_words(const Environment& environment);

}  // namespace hgemm::cli
