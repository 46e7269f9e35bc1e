#include "program/slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/commands.h"
#include "program/help.h"
#include "program/sweep_plan.h"
#include "program/sweep_task.h"

namespace hgemm::cli {
namespace {

struct SlurmCommand {
  std::string action, run;
  int shard = 0;
  std::string attempt;
  bool retry = false;
  bool follow = false;
};

constexpr std::array kActions = {"status", "resume", "cancel", "task", "compile", "merge"};

void check(const SlurmCommand& command) {
  if (std::ranges::find(kActions, command.action) == kActions.end()) {
    throw InputError(fmt::format("slurm {}: there is no such action; expected one of {}",
                                 command.action, fmt::join(kActions, ", ")));
  }
  const bool has_shard = command.action == "task" || command.action == "compile";
  if (has_shard != (command.shard > 0)) {
    throw InputError(fmt::format("slurm {}: {}", command.action,
                                 has_shard ? "which shard? Give its number after the run folder"
                                           : "it is for the whole run; leave the shard away"));
  }
  if (command.retry && command.action != "resume") {
    throw InputError("--retry is an option of slurm resume");
  }
}

int run_slurm(const SlurmCommand& command, const Backend& backend) {
  check(command);
  const auto path = std::filesystem::absolute(command.run).lexically_normal();
  const auto run = sweep::RunFolder::open(path.has_filename() ? path : path.parent_path());
  const sweep::Slurm slurm;
  if (command.action == "task") return run_shard(run, command.shard, command.attempt, backend);
  if (command.action == "compile") return compile_shard(run, command.shard, backend);
  if (command.action == "merge") return merge_run(run);
  if (command.action == "cancel") {
    cancel(run, slurm);
    return 0;
  }
  if (command.action == "resume") resume(run, slurm, command.retry);
  if (command.follow) return follow(run, slurm, options_of(run.plan()));
  if (command.action == "status") print_status(run, slurm);
  return 0;
}

}  // namespace

void add_slurm(CLI::App& program, Command& chosen, const Backend& backend) {
  const auto options = std::make_shared<SlurmCommand>();
  CLI::App* command = add_command(program, "slurm");
  command->add_option("ACTION", options->action, help_text("slurm", "ACTION"))
      ->required()
      ->type_name("");
  command->add_option("RUN", options->run, help_text("slurm", "RUN"))
      ->required()
      ->type_name("FOLDER");
  command->add_option("SHARD", options->shard, help_text("slurm", "SHARD"))
      ->type_name("")
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--follow", options->follow, help_text("slurm", "--follow"));
  command->add_flag("--retry", options->retry, help_text("slurm", "--retry"));
  command->add_option("--attempt", options->attempt, help_text("slurm", "--attempt"))
      ->type_name("JOB.RESTART.TRY");
  command->callback(
      [&chosen, options, backend] { chosen = [=] { return run_slurm(*options, backend); }; });
}

}  // namespace hgemm::cli
