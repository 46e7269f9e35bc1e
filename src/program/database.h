// Databases as arguments of commands.
#pragma once

#include <string>

#include "record/environment.h"

namespace hgemm::cli {

/// Throws InputError if there is no such file; the message says what to do.
void require_database(const std::string& path);

/// "NVIDIA H200, driver 580.1, CUDA 13.0, cuBLAS 13.1.0".
std::string in_words(const Environment& environment);

}  // namespace hgemm::cli
