// Python, which draws: found where it is likely to have what analysis/ needs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hgemm::cli {

/// A Python 3 that has matplotlib: that of $HGEMM_TUNE_PYTHON, else of .venv beside the program or
/// in the folder above it, else python3 on PATH, else /usr/bin/python3. Throws InputError if the
/// variable names one that has not, Error that says how to get it if there is none.
std::string find_python();

/// Runs `python script arguments...` with the standard streams of this program, and returns its
/// exit code (128 + signal if one ended it). Throws Error if it cannot be started.
int run_python(const std::string& python, const std::filesystem::path& script,
               const std::vector<std::string>& arguments);

}  // namespace hgemm::cli
