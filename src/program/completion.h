// Completion of command lines in shells. The scripts in completion/ run the program's `complete`
// command, so that they always match the program.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace hgemm::cli {

/// The shells with a completion script.
std::vector<std::string_view> shell_names();
/// The script for users of the shell. Throws InputError for a shell without one.
std::string completion_script(std::string_view shell);

/// The candidates for the word at the cursor. `words` are all words after the program's name; the
/// last is the word at the cursor and may be empty. Each candidate is a line for the scripts: a
/// word, optionally with a tab and its meaning. "@files" and "@folders" ask the shell to add paths.
std::vector<std::string> completions(const CLI::App& program, std::span<const std::string> words);

}  // namespace hgemm::cli
