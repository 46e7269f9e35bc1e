// Python, which draws: found where it is likely to have what analysis/ needs.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hgemm::cli {

/// A Python 3 that has matplotlib: that of $HGEMM_TUNE_PYTHON, else of .venv beside the program or
/// in the folder above it, else python3 on PATH, else /usr/bin/python3. Throws InputError if the
/// variable names one that has not, Error that says how to get it if there is none.
std::string find_python();

struct PythonRun {
  std::optional<int> exit_code;  ///< 128 + signal if one ended it
  std::string out;               ///< what it wrote to stdout
};

/// Runs `python script arguments...`, isolated from the working folder and the environment, with
/// this program's stderr; it ends with this program. Asks `should_stop` many times a second; once
/// that is true Python is ended, and only then there is no exit code. Throws Error if it cannot be
/// started, or is still not done long after it should be.
PythonRun run_python(const std::string& python, const std::filesystem::path& script,
                     const std::vector<std::string>& arguments,
                     const std::function<bool()>& should_stop);

}  // namespace hgemm::cli
