#include "program/help.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "program/completion.h"
#include "program/reference.h"

namespace hgemm::cli {
namespace {

struct HelpOptions {
  std::string command;
  std::string format = "text";
};

const CLI::App& command_of(const CLI::App& program, const std::string& name) {
  if (name.empty()) return program;
  std::vector<std::string> known;
  for (const CLI::App* command :
       program.get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); })) {
    if (command->get_name() == name) return *command;
    known.push_back(command->get_name());
  }
  throw InputError(fmt::format("help {}: there is no such command; {}hgemm-tune --help lists them",
                               name, did_you_mean(name, known)));
}

int run_help(const CLI::App& program, const HelpOptions& options) {
  const std::string& format = options.format;
  if (format == "text") {
    const CLI::App& command = command_of(program, options.command);
    const std::string name =
        options.command.empty() ? "hgemm-tune" : "hgemm-tune " + options.command;
    fmt::print("{}",
               command.get_formatter()->make_help(&command, name, CLI::AppFormatMode::Normal));
    return 0;
  }
  if (!options.command.empty()) {
    throw InputError(
        fmt::format("help {} --format {}: a command's own help is text; leave out {} to write the "
                    "{} of all commands",
                    options.command, format, options.command, format));
  }
  if (format == "md") {
    fmt::print("{}", reference_page(command_texts(program)));
  } else if (format == "man") {
    fmt::print("{}", manual_page(command_texts(program), "hgemm-tune " HGEMM_TUNE_VERSION));
  } else if (std::ranges::count(shell_names(), format) > 0) {
    fmt::print("{}", completion_script(format));
  } else {
    throw InputError(fmt::format("--format {}: use text, md, man, bash, zsh or fish", format));
  }
  return 0;
}

}  // namespace

void add_help(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<HelpOptions>();
  CLI::App* command = add_command(program, "help");
  command->add_option("COMMAND", options->command, help_text("help", "COMMAND"))->type_name("");
  command->add_option("--format", options->format, help_text("help", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&program, &chosen, options] {
    chosen = [&program, options] { return run_help(program, *options); };
  });

  // Completion scripts run: complete -- WORD...
  CLI::App* complete = program.add_subcommand("complete")->group("");
  const auto words = std::make_shared<std::vector<std::string>>();
  complete->add_option("words", *words);
  complete->callback([&program, &chosen, words] {
    chosen = [&program, words] {
      for (const std::string& line : completions(program, *words)) fmt::print("{}\n", line);
      return 0;
    };
  });
}

}  // namespace hgemm::cli
