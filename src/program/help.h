// The texts of --help, from help/<command>.txt. A file has an entry for each option, headed by the
// option's name in brackets, and the entries [summary] and [about]. These two keep their line
// breaks; every other text is one paragraph.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace hgemm::cli {

/// An entry of the command's file, or of common.txt if the command's file lacks it. Throws
/// std::logic_error if both lack it.
std::string help_text(std::string_view command, std::string_view entry);

/// Adds a subcommand with the [summary] of its file, and with its [about] below the options.
CLI::App* add_command(CLI::App& program, const std::string& name);

}  // namespace hgemm::cli
