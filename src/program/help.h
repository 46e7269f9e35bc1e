// The texts of --help. They are in help/<command>.txt: an entry for each option, headed by its name
// in brackets, and [summary] and [about]. Line breaks of these two stay; other texts are one
// paragraph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace hgemm::cli {

/// An entry of a command's file, or, if it has none of that name, of common.txt. Throws
/// std::logic_error if that has none either.
std::string help_text(std::string_view command, std::string_view entry);

/// A subcommand with its summary, and what its file says about it below the options.
CLI::App* add_command(CLI::App& program, const std::string& name);

}  // namespace hgemm::cli
