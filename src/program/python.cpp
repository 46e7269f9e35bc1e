#include "program/python.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/command.h"
#include "base/error.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;
using std::chrono::seconds;
using std::chrono::steady_clock;

/// A hung interpreter, e.g. on a network file system that is gone, must not hang the program.
constexpr seconds kProbeLimit{60};
/// Drawing the recorded results takes half a minute on two cores.
constexpr seconds kDrawLimit{1200};

/// -I: neither the working folder nor PYTHON* variables decide which modules are loaded.
/// -B: nothing is written beside the scripts.
std::vector<std::string> isolated(const std::string& python) { return {python, "-I", "-B"}; }

/// Whether this Python has the modules. Does not import them: matplotlib takes a second to load.
bool can_draw(const std::string& python) {
  std::vector<std::string> command = isolated(python);
  command.insert(command.end(), {"-c",
                                 "import sys, importlib.util as u\n"
                                 "sys.exit(not all(map(u.find_spec, ('matplotlib', 'numpy'))))"});
  try {
    return run_command(std::move(command), ErrorStream::kDropped, kProbeLimit).exit_code == 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::string find_python() {
  if (const char* named = std::getenv("HGEMM_TUNE_PYTHON"); named != nullptr && *named != '\0') {
    if (can_draw(named)) return named;
    throw InputError(fmt::format(
        "$HGEMM_TUNE_PYTHON is {}, which is no Python 3 with matplotlib; name one that has it, "
        "or unset the variable",
        named));
  }
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& venv : {program / ".venv", program.parent_path() / ".venv"}) {
    const fs::path python = venv / "bin" / "python3";
    if (fs::exists(python) && can_draw(python.string())) return python.string();
  }
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (can_draw(python)) return python;
  }
  throw Error(
      "no Python 3 with matplotlib to draw with; install it (Debian: apt-get install "
      "python3-matplotlib; else python3 -m venv .venv && .venv/bin/pip install matplotlib, and "
      "HGEMM_TUNE_PYTHON=.venv/bin/python3)");
}

PythonRun run_python(const std::string& python, const fs::path& script,
                     const std::vector<std::string>& arguments,
                     const std::function<bool()>& should_stop) {
  std::vector<std::string> command = isolated(python);
  command.push_back(script.string());
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto until = steady_clock::now() + kDrawLimit;
  bool stopped = false;
  const CommandResult result = run_command(std::move(command), ErrorStream::kShown, [&] {
    stopped = stopped || should_stop();
    return stopped || steady_clock::now() >= until;
  });
  if (!result.exit_code && !stopped) {
    throw Error(
        fmt::format("{} was not done with {} after {} minutes and was ended; try once "
                    "more when the machine is less busy",
                    python, script.string(), kDrawLimit / std::chrono::minutes(1)));
  }
  return {result.exit_code, result.out};
}

}  // namespace hgemm::cli
