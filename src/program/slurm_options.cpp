#include "program/slurm_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "program/help.h"

namespace hgemm::cli {

bool SlurmOptions::is_chosen() const {
  if (executor == "slurm") return true;
  if (executor == "local") return false;
  throw InputError(
      fmt::format("--executor {}: there is no such executor; expected local or slurm", executor));
}

void add_slurm_options(CLI::App& program, SlurmOptions& options) {
  options.program = &program;
  CLI::Option* executor =
      program.add_option("--executor", options.executor, help_text("tune", "--executor"))
          ->type_name("NAME")
          ->capture_default_str();
  const auto add = [&](const char* name, auto& value, const char* type) {
    return program.add_option(name, value, help_text("tune", name))
        ->type_name(type)
        ->needs(executor);
  };
  add("--partition", options.jobs.partition, "NAME");
  add("--gpus-per-node", options.jobs.gpus_per_node, "N")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add("--time", options.jobs.time, "TIME");
  add("--array-limit", options.array_limit, "N")->check(CLI::Range(1, 1'000'000));
  add("--compile-partition", options.jobs.compile_partition, "NAME");
  add("--sbatch-option", options.jobs.sbatch, "OPTION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add("--run", options.run, "FOLDER");
  add("--shard-minutes", options.shard_minutes, "M")
      ->check(CLI::Range(0.001, 10'000.0))
      ->capture_default_str();
  program.add_flag("--no-follow", options.no_follow, help_text("tune", "--no-follow"))
      ->needs(executor);
  program.add_flag("--dry-run", options.dry_run, help_text("tune", "--dry-run"))->needs(executor);
}

}  // namespace hgemm::cli
