#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/nearest.h"
#include "program/command.h"

namespace hgemm::cli {

std::string explain_unknown(const CLI::App& program) {
  const auto parsed = program.get_subcommands();
  const CLI::App& command = parsed.empty() ? program : *parsed.front();
  // The value of an unknown option is unknown, too. The message names the option.
  const std::vector<std::string> unknown = program.remaining(true);
  const auto is_option = [](const std::string& word) { return word.starts_with('-'); };
  const auto first = std::ranges::find_if(unknown, is_option);
  const std::string word = first != unknown.end() ? *first : unknown.empty() ? "" : unknown.front();

  if (word == "tune" && parsed.empty()) {
    return "tune stands before its options: write hgemm-tune tune --shapes ...";
  }
  std::vector<std::string> known;
  if (is_option(word)) {
    for (const CLI::Option* option : command.get_options()) known.push_back(option->get_name());
  } else {
    const auto visible = [](const CLI::App* app) { return !app->get_group().empty(); };
    for (const CLI::App* subcommand : program.get_subcommands(visible)) {
      known.push_back(subcommand->get_name());
    }
  }
  return fmt::format("unknown argument {}; {}{} --help lists what there is", word,
                     did_you_mean(word, known),
                     parsed.empty() ? "hgemm-tune" : "hgemm-tune " + command.get_name());
}

}  // namespace hgemm::cli
