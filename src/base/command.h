// External programs that this program runs to their end and whose output it reads: Python, and
// Slurm's commands.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hgemm {

/// What becomes of the program's stderr.
enum class ErrorStream { kShown, kDropped, kCaptured };

struct CommandResult {
  std::optional<int> exit_code;  ///< 128 + signal if a signal ended it; none: it was given up
  std::string out;               ///< its stdout, at most 16 MiB
  std::string err;               ///< its stderr, if captured; at most 16 MiB
};

/// Runs a program, looked up in $PATH, with these arguments and an empty stdin. Calls `give_up`
/// many times a second; once it returns true, the program is killed with its children. The program
/// also ends when this one ends, however that ends. Throws ProgramMissing if there is no such
/// program, and Error if it cannot be started.
CommandResult run_command(std::vector<std::string> command, ErrorStream errors,
                          const std::function<bool()>& give_up);
/// The same, given up after a time.
CommandResult run_command(std::vector<std::string> command, ErrorStream errors,
                          std::chrono::seconds limit);

}  // namespace hgemm
