#include "main/run_program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <system_error>
#include <vector>

#include "base/console.h"
#include "base/error.h"
#include "base/revision.h"
#include "base/text.h"
#include "cli/commands.h"
#include "program/help.h"
#include "studies/registry.h"

namespace hgemm::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;
constexpr int kReaderGone = 128 + SIGPIPE;  ///< shells' exit code of a program that SIGPIPE ended

/// Writes one line, because scripts and people read the last line of stderr. Names in it may have
/// any length.
int fail(int exit_code, std::string message) {
  constexpr std::size_t kLongest = 4000;
  if (message.size() > kLongest) message.replace(kLongest, message.npos, "...");
  while (!message.empty() && message.back() == '\n') message.pop_back();
  std::replace(message.begin(), message.end(), '\n', ' ');
  say("hgemm-tune: {}\n", message);
  return exit_code;
}

/// `error` is an errno. Nothing is printed if the reader closed the pipe (`| head`).
int fail_to_print(int error) {
  if (error == EPIPE) return kReaderGone;
  return fail(kFailed, fmt::format("stdout cannot be written: {}; what was recorded is kept",
                                   std::strerror(error)));
}

int fail_by_file(const std::filesystem::filesystem_error& error) {
  const bool bad_name = error.code() == std::errc::filename_too_long ||
                        error.code() == std::errc::too_many_symbolic_link_levels ||
                        error.code() == std::errc::not_a_directory;
  return fail(bad_name ? kBadInput : kFailed,
              fmt::format("{}: {}; check the path and its permissions", error.path1().string(),
                          error.code().message()));
}

int fail_by_defect(const std::string& command_line, const char* what) {
  return fail(kFailed, fmt::format("internal error: {}; please report it with the command line: {}",
                                   what, command_line));
}

/// Reports the exception that is being handled; returns the exit code.
int fail_by_exception(const std::string& command_line) noexcept {
  try {
    try {
      throw;
    } catch (const CLI::ParseError& error) {
      return fail(kBadInput, error.what());
    } catch (const InputError& error) {
      return fail(kBadInput, error.what());
    } catch (const Error& error) {
      return fail(kFailed, error.what());
    } catch (const std::filesystem::filesystem_error& error) {
      return fail_by_file(error);
    } catch (const std::system_error& error) {
      if (std::ferror(stdout) != 0) return fail_to_print(error.code().value());
      return fail(kFailed, fmt::format("the system refuses: {}", error.what()));
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      return fail_by_defect(command_line, error.what());
    } catch (...) {
      return fail_by_defect(command_line, "an exception without a text");
    }
  } catch (...) {
    write_to(stderr, "hgemm-tune: out of memory; free some, or ask for less at a time\n");
    return kFailed;
  }
}

/// Disables what ends other programs in the middle of their work. Runs before anything else.
void prepare_process() {
  // Writes fail instead, so a tune records to its end even if its reader goes away or it meets a
  // limit.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // For exceptions that leave a thread or a destructor.
  std::set_terminate(
      [] { std::_Exit(std::current_exception() ? fail_by_exception("(unknown)") : kFailed); });
  open_closed_streams();
}

/// The arguments without the name of the default command: `hgemm-tune tune ...` is `hgemm-tune
/// ...`.
std::vector<char*> without_default_command(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  if (argc > 1 && std::strcmp(argv[1], "tune") == 0) arguments.erase(arguments.begin() + 1);
  return arguments;
}

int parse_and_run(int argc, char** argv, const std::string& command_line, const Backend& backend) {
  const std::vector<char*> arguments = without_default_command(argc, argv);
  CLI::App program(help_text("tune", "summary"), "hgemm-tune");
  program.footer(help_text("tune", "about"));
  program.set_version_flag("--version",
                           fmt::format("hgemm-tune {} ({})", HGEMM_TUNE_VERSION, git_revision()));
  program.require_subcommand(0, 1);
  Command command;
  add_tune(program, command, command_line, backend);
  add_race(program, command, command_line, backend);
  add_plan(program, command);
  add_best(program, command);
  add_compare(program, command);
  add_merge(program, command);
  add_slurm(program, command, backend);
  add_verify(program, command, command_line);
  add_studies(program, command, command_line);
  add_advise(program, command);
  add_replay(program, command);
  add_export(program, command);
  add_bundle(program, command);
  add_report(program, command, command_line);
  add_doctor(program, command);
  add_help(program, command);
  add_workers(program, command);
  int exit_code = 0;
  try {
    const int count = static_cast<int>(arguments.size());
    program.parse(count, arguments.data());
    if (const auto chosen = program.get_subcommands(); count < argc && !chosen.empty()) {
      throw InputError(fmt::format("tune and {} are two commands; leave one of them out",
                                   chosen.front()->get_name()));
    }
    exit_code = command();
  } catch (const CLI::Success& request) {  // --help, --version
    std::ostringstream text;
    exit_code = program.exit(request, text, text);
    fmt::print("{}", text.str());
  } catch (const CLI::ExtrasError&) {
    return fail(kBadInput, explain_unknown(program));
  }
  return std::fflush(stdout) == 0 ? exit_code : fail_to_print(errno);
}

}  // namespace

int run_program(int argc, char** argv, const Backend& backend) {
  prepare_process();
  std::string command_line = "hgemm-tune";
  try {
    for (int i = 1; i < argc; ++i) command_line += fmt::format(" {}", printable(argv[i]));
    return parse_and_run(argc, argv, command_line, backend);
  } catch (...) {
    return fail_by_exception(command_line);
  }
}

}  // namespace hgemm::cli
