// The commands of the program but those of studies (studies/registry.h). Each add_*() describes one
// command to the argument parser; when it is the one that was asked for, parsing sets `chosen` to
// what runs it and returns its exit code.
#pragma once

#include <string>

#include "program/command.h"

namespace CLI {
class App;
}

namespace hgemm::cli {

/// The default command. `command_line` is recorded with what a command measures.
void add_tune(CLI::App& program, Command& chosen, const std::string& command_line);
void add_plan(CLI::App& program, Command& chosen);
void add_best(CLI::App& program, Command& chosen);
void add_compare(CLI::App& program, Command& chosen);
void add_merge(CLI::App& program, Command& chosen);
void add_verify(CLI::App& program, Command& chosen, const std::string& command_line);
void add_advise(CLI::App& program, Command& chosen);
void add_replay(CLI::App& program, Command& chosen);
void add_export(CLI::App& program, Command& chosen);
void add_report(CLI::App& program, Command& chosen, const std::string& command_line);
void add_doctor(CLI::App& program, Command& chosen);
/// `help`, and `complete`, which shells ask (not in --help).
void add_help(CLI::App& program, Command& chosen);
/// `worker`, `compile-worker` and `launch`: how the program runs itself in child processes, and one
/// launch for another profiler. Not in --help.
void add_workers(CLI::App& program, Command& chosen);

}  // namespace hgemm::cli
