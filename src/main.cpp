#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/console.h"
#include "base/error.h"
#include "base/revision.h"
#include "cli/commands.h"
#include "program/help.h"
#include "studies/registry.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

/// One line: scripts and people read the last line of stderr.
int fail(int exit_code, std::string message) {
  while (!message.empty() && message.back() == '\n') message.pop_back();
  std::replace(message.begin(), message.end(), '\n', ' ');
  hgemm::say("hgemm-tune: {}\n", message);
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace hgemm;
  open_closed_streams();
  try {
    CLI::App program(cli::help_text("tune", "summary"), "hgemm-tune");
    program.footer(cli::help_text("tune", "about"));
    program.set_version_flag("--version",
                             fmt::format("hgemm-tune {} ({})", HGEMM_TUNE_VERSION, git_revision()));
    program.require_subcommand(0, 1);
    cli::Command command;
    const auto command_line = fmt::format("hgemm-tune {}", fmt::join(argv + 1, argv + argc, " "));
    cli::add_tune(program, command, command_line);
    cli::add_plan(program, command);
    cli::add_best(program, command);
    cli::add_compare(program, command);
    cli::add_merge(program, command);
    cli::add_verify(program, command, command_line);
    add_studies(program, command, command_line);
    cli::add_advise(program, command);
    cli::add_replay(program, command);
    cli::add_export(program, command);
    cli::add_report(program, command, command_line);
    cli::add_doctor(program, command);
    cli::add_workers(program, command);
    try {
      program.parse(argc, argv);
    } catch (const CLI::Success& request) {  // --help, --version
      return program.exit(request);
    } catch (const CLI::ExtrasError&) {
      return fail(kBadInput, cli::explain_unknown(program));
    }
    const int exit_code = command();
    if (std::fflush(stdout) != 0) throw Error("the results could not be written to stdout");
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return fail(kBadInput, error.what());
  } catch (const InputError& error) {
    return fail(kBadInput, error.what());
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
}
