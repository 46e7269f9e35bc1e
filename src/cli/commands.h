// The commands of the program except those of studies (studies/registry.h). Each add_*() describes
// one command to the argument parser. If the command line names that command, parsing sets `chosen`
// to the function that runs it and returns its exit code.
#pragma once

#include <string>

#include "program/backend.h"
#include "program/command.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

/// Adds the default command. `command_line` is recorded with a command's measurements.
void add_tune(CLI::App& program, Command& chosen, const std::string& command_line,
              const Backend& backend);
/// Adds `race`: a tune against peers.
void add_race(CLI::App& program, Command& chosen, const std::string& command_line,
              const Backend& backend);
void add_plan(CLI::App& program, Command& chosen);
void add_best(CLI::App& program, Command& chosen);
void add_compare(CLI::App& program, Command& chosen);
/// Adds `slurm`: sweeps that the tune command submitted to a cluster.
void add_slurm(CLI::App& program, Command& chosen, const Backend& backend);
void add_merge(CLI::App& program, Command& chosen);
void add_verify(CLI::App& program, Command& chosen, const std::string& command_line);
void add_advise(CLI::App& program, Command& chosen);
void add_replay(CLI::App& program, Command& chosen);
void add_export(CLI::App& program, Command& chosen);
/// Adds `bundle`, which shows what `export --format bundle` wrote.
void add_bundle(CLI::App& program, Command& chosen);
void add_report(CLI::App& program, Command& chosen, const std::string& command_line);
void add_doctor(CLI::App& program, Command& chosen);
/// Adds `help` and `complete`. Completion scripts of shells run `complete`; --help does not list
/// it.
void add_help(CLI::App& program, Command& chosen);
/// Adds `worker` and `compile-worker`, which the program runs as child processes, and `launch`,
/// which makes one launch for another profiler. --help does not list them.
void add_workers(CLI::App& program, Command& chosen);

}  // namespace hgemm::cli
