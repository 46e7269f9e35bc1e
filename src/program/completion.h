// Completion of command lines in shells. The scripts in completion/ ask the program itself, by its
// command `complete`, so that they never know more or less than it does.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace hgemm::cli {

/// The shells that there is a script for.
std::vector<std::string_view> shell_names();
/// The script that a user of the shell loads. Throws InputError for a shell that has none.
std::string completion_script(std::string_view shell);

/// What may stand in place of the last of `words`, which may be empty and is the word at the
/// cursor; before it, all words after the program's name. Lines as the scripts read them: a word,
/// or a word, a tab and what it means; "@files" and "@folders" where the shell is to add paths.
std::vector<std::string> completions(const CLI::App& program, std::span<const std::string> words);

}  // namespace hgemm::cli
