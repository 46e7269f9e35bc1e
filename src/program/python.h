// Finds and runs the Python that draws the figures (analysis/).
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hgemm::cli {

/// The first Python 3 with matplotlib among $HGEMM_TUNE_PYTHON, .venv beside the program or in the
/// folder above it, python3 on PATH, and /usr/bin/python3. Throws InputError if the variable names
/// a Python without matplotlib, and Error that says how to get it if none is found.
std::string find_python();

struct PythonRun {
  std::optional<int> exit_code;  ///< 128 + signal if a signal ended it
  std::string out;               ///< its stdout
};

/// Runs `python script arguments...` with this program's stderr, isolated from the working folder
/// and the environment. Python ends when this program ends. Calls `should_stop` many times a
/// second; once it returns true, Python is ended, and only then there is no exit code. Throws Error
/// if Python cannot be started or runs far longer than it should.
PythonRun run_python(const std::string& python, const std::filesystem::path& script,
                     const std::vector<std::string>& arguments,
                     const std::function<bool()>& should_stop);

}  // namespace hgemm::cli
