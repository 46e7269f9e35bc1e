// The commands of the program. Each add_*() describes one command to the argument parser; when it
// is the one that was asked for, parsing sets `chosen` to what runs it and returns its exit code.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace hgemm::cli {

using Command = std::function<int()>;

/// The default command. `command_line` is recorded with what a command measures.
void add_tune(CLI::App& program, Command& chosen, const std::string& command_line);
void add_plan(CLI::App& program, Command& chosen);
void add_best(CLI::App& program, Command& chosen);
void add_compare(CLI::App& program, Command& chosen);
void add_merge(CLI::App& program, Command& chosen);
void add_verify(CLI::App& program, Command& chosen, const std::string& command_line);
void add_micro(CLI::App& program, Command& chosen, const std::string& command_line);
void add_probe(CLI::App& program, Command& chosen, const std::string& command_line);
void add_counters(CLI::App& program, Command& chosen, const std::string& command_line);
void add_ladder(CLI::App& program, Command& chosen, const std::string& command_line);
void add_chain(CLI::App& program, Command& chosen, const std::string& command_line);
void add_advise(CLI::App& program, Command& chosen);
void add_replay(CLI::App& program, Command& chosen);
void add_export(CLI::App& program, Command& chosen);
void add_report(CLI::App& program, Command& chosen, const std::string& command_line);
void add_doctor(CLI::App& program, Command& chosen);
/// `worker` and `compile-worker`: how the program runs itself in child processes. Not in --help.
void add_workers(CLI::App& program, Command& chosen);

/// After a parse that met arguments it did not know: names the first, and the nearest known one.
std::string explain_unknown(const CLI::App& program);

inline constexpr const char* kDefaultDatabase = "hgemm-tune.db";
inline constexpr const char* kDefaultSpace = "full";

}  // namespace hgemm::cli
