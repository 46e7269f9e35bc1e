#include "program/tune_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <random>

#include "base/error.h"
#include "base/resources.h"
#include "families/family.h"
#include "families/sum_order.h"
#include "gemm/codec.h"
#include "program/command.h"
#include "program/configs.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/peers.h"
#include "program/search.h"
#include "program/seed.h"
#include "search/proposer.h"
#include "search/space.h"

namespace hgemm::cli {
namespace {

/// A tune without --budget has to be short. By energy it takes so many configs instead, because the
/// energy of each finalist takes seconds.
constexpr const char* kDefaultBudget = "60s";

std::string space_of(const TuneOptions& options) { return options.space.value_or(kDefaultSpace); }

bool is_whole(const TuneOptions& options) {
  return options.configs.empty() && space_of(options) == kWholeSpace;
}

/// In the whole space the model's favourites are more alike than in a list that people wrote, so
/// that more can be learned from the first of them.
const char* default_strategy(const TuneOptions& options) {
  return is_whole(options) ? "adaptive" : "model";
}

std::string default_budget(const TuneOptions& options, StrategyKind strategy, Weighed weighed) {
  if (strategy == StrategyKind::kExhaustive) return "all";
  return weighed == Weighed::kFinalists ? default_configs(space_of(options)) : kDefaultBudget;
}

/// Throws InputError if the whole space cannot be measured so.
void check_whole(const std::string& budget, StrategyKind strategy, const Allowance& allowance) {
  constexpr std::string_view kInstead =
      "the whole space has some 10^10 points; give a number (--budget 100configs) or a time, or "
      "name a space of grids (--space full)";
  if (strategy == StrategyKind::kExhaustive) {
    throw InputError(fmt::format("--strategy exhaustive: {}", kInstead));
  }
  const bool is_number = allowance.configs && allowance.configs->share == 0;
  if (!allowance.seconds && !is_number) {
    throw InputError(fmt::format("--budget {}: {}", budget, kInstead));
  }
}

/// The search among the space's configs. Named configs have none (nullopt): all are measured.
std::optional<SearchPlan> search_of(const TuneOptions& options, Weighed weighed,
                                    std::chrono::steady_clock::time_point start) {
  const std::string name = options.strategy.value_or(default_strategy(options));
  const StrategyKind strategy = parse_strategy(name);
  if (!options.configs.empty()) return std::nullopt;
  const std::string budget = options.budget.value_or(default_budget(options, strategy, weighed));
  const Allowance allowance = parse_allowance(budget);
  if (is_whole(options)) check_whole(budget, strategy, allowance);
  SearchPlan search{.strategy = strategy, .budget = {}, .devices = known_devices()};
  if (allowance.seconds) {
    if (weighed == Weighed::kFinalists) {
      throw InputError(fmt::format(
          "--budget {}: --objective energy measures the energy of each finalist, which "
          "takes seconds; write a number of configs (\"100configs\"), or with a space of "
          "grids a share of it (\"3%\") or \"all\"",
          budget));
    }
    search.deadline = start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                  std::chrono::duration<double>(*allowance.seconds));
    return search;
  }
  if (!allowance.configs) {
    if (name != default_strategy(options) && strategy != StrategyKind::kExhaustive) {
      throw InputError(
          fmt::format("--strategy {}: with --budget all it would change nothing; give a share "
                      "(\"3%\") or a time",
                      name));
    }
    return std::nullopt;
  }
  search.budget = *allowance.configs;
  return search;
}

/// Throws InputError if a named config is not allowed.
void check_chosen(const KernelConfig& config, const std::string& text, const Allowed& allowed) {
  if (pdl_kind(config) > allowed.pdl) {
    throw InputError(fmt::format(
        "--config {}: its PDL kind is {}, and --pdl {} does not allow it; leave one of them away",
        text, to_string(pdl_kind(config)), to_string(allowed.pdl)));
  }
  if (const char* reason = why_bits_follow_m(sum_order(config));
      allowed.batch_invariant && reason != nullptr) {
    throw InputError(fmt::format(
        "--config {}: it {}, and --batch-invariant does not allow it; leave one of them away", text,
        reason));
  }
}

/// The configs of a list: those that are named, or those of a space of grids.
std::vector<KernelConfig> chosen_configs(const TuneOptions& options, const Aim& aim,
                                         std::span<const GemmProblem> problems) {
  if (options.configs.empty()) {
    const std::string configs_dir = (resource_dir() / "configs").string();
    return allowed_points(load_space(space_of(options), configs_dir), problems, aim.allowed).valid;
  }
  std::vector<KernelConfig> configs;
  for (const std::string& text : options.configs) {
    configs.push_back(chosen_config(text));
    check_chosen(configs.back(), text, aim.allowed);
    if (is_probed(configs.back())) {
      throw InputError(fmt::format(
          "--config {}: a build with cycle stamps is not timed against others; leave .probe1 away, "
          "or study it with hgemm-tune probe",
          text));
    }
  }
  return configs;
}

/// A kernel must be able to compute each problem, whatever its config.
void check_problems(std::span<const GemmProblem> problems) {
  for (const GemmProblem& problem : problems) {
    if (const char* reason = why_no_kernel(problem)) {
      throw InputError(fmt::format("shape {}: {}", to_string(problem), reason));
    }
    if (problem.data.lacks_files()) {
      throw InputError(fmt::format("shape {}: its data is from a file; name the file with --data",
                                   to_string(problem)));
    }
  }
}

/// Some point of the whole space must suit each problem.
void check_whole(std::span<const GemmProblem> problems, const Allowed& allowed) {
  for (const GemmProblem& problem : problems) {
    if (any_suits({.problem = problem, .figures = {}, .limits = {}, .allowed = allowed})) continue;
    throw InputError(
        fmt::format("shape {}: no configuration of any kernel family suits it; name "
                    "one with --config",
                    to_string(problem)));
  }
}

/// Each problem must have configs of the list that can compute it. If they come from a space, some
/// must also suit it.
void check_configs(std::span<const GemmProblem> problems, std::span<const KernelConfig> configs,
                   bool only_suitable) {
  for (const GemmProblem& problem : problems) {
    const auto is_able = [&](const KernelConfig& config) { return !why_not(config, problem); };
    if (std::ranges::none_of(configs, is_able)) {
      throw InputError(fmt::format(
          "shape {}: none of the configurations can compute it ({}); choose others with --config "
          "or --space",
          to_string(problem),
          configs.empty() ? "there are none" : why_not(configs.front(), problem)));
    }
    const auto is_suited = [&](const KernelConfig& config) { return suits(config, problem); };
    if (only_suitable && std::ranges::none_of(configs, is_suited)) {
      throw InputError(
          fmt::format("shape {}: no configuration of the space suits it (tiles are far taller than "
                      "its {} rows, or for few rows only); choose another --space, or name one "
                      "with --config",
                      to_string(problem), problem.m));
    }
  }
}

}  // namespace

TunePlan plan_of(const TuneOptions& options, const Aim& aim, const std::string& command_line,
                 std::chrono::steady_clock::time_point start) {
  TunePlan plan;
  plan.problems = chosen_problems(options.problems);
  check_problems(plan.problems);
  check_allowed(aim.allowed, plan.problems);
  if (is_whole(options)) {
    plan.whole = WholeSpace{aim.allowed};
    check_whole(plan.problems, aim.allowed);
  } else {
    plan.configs = chosen_configs(options, aim, plan.problems);
    plan.only_suitable = options.configs.empty();
    check_configs(plan.problems, plan.configs, plan.only_suitable);
  }
  plan.regimes = aim.regimes;
  plan.peers = parse_peers(options.peers);
  plan.weighed = aim.objective == Objective::kEnergy ? Weighed::kFinalists
                 : options.energy                    ? Weighed::kWinners
                                                     : Weighed::kNothing;
  plan.search = search_of(options, plan.weighed, start);
  plan.confirm = options.confirm > 1;
  if (plan.confirm && plan.weighed == Weighed::kWinners && plan.search && plan.search->deadline) {
    throw InputError(
        "--confirm 2 with --energy: within a time races are brief, but energy is measured at full "
        "effort, so that neither could confirm the other; leave one of them away, or give a number "
        "of configs (--budget 100configs)");
  }
  plan.pace_check = options.pace_check;
  // A config that would leave the final for being slow may take the least energy.
  plan.policy.keep_finalists = aim.objective == Objective::kEnergy;
  plan.policy.seed = options.seed ? *options.seed : std::random_device()();
  plan.compile.jobs = options.jobs;
  plan.command_line = command_line;
  // The seed is kept, so that a wrong result can be reproduced.
  if (!options.seed) plan.command_line += fmt::format(" --seed {}", plan.policy.seed);
  return plan;
}

/// The command that measures the same on another machine.
std::string same_command(const TuneOptions& options, const Aim& aim) {
  std::string command = fmt::format("hgemm-tune {}", options.problems.arguments());
  if (options.space) command += fmt::format(" --space {}", *options.space);
  if (!options.configs.empty()) {
    command += fmt::format(" --config {}", fmt::join(options.configs, ","));
  }
  if (options.strategy && *options.strategy != default_strategy(options)) {
    command += fmt::format(" --strategy {}", *options.strategy);
  }
  if (options.budget) command += fmt::format(" --budget {}", *options.budget);
  if (!options.aim.regime.empty()) command += fmt::format(" --regime {}", options.aim.regime);
  command += options_of(aim.allowed);
  if (aim.objective == Objective::kEnergy) {
    command += " --objective energy";
  } else if (options.energy) {
    command += " --energy";
  }
  return command;
}

void add_tune_options(CLI::App& program, TuneOptions& options) {
  add_shapes(program, options.problems);
  program.add_option("--misses", options.problems.shapes, help_text("tune", "--misses"))
      ->type_name("FILE")
      ->excludes(program.get_option("--shapes"))
      ->excludes(program.get_option("--model"));
  CLI::Option* space = program.add_option("--space", options.space, help_text("common", "--space"))
                           ->type_name("NAME|FILE")
                           ->default_str(kDefaultSpace);
  CLI::Option* config =
      program.add_option("--config", options.configs, help_text("tune", "--config"))
          ->type_name("LABEL[,LABEL...]")
          ->delimiter(',')
          ->excludes(space);
  program.add_option("--budget", options.budget, help_text("tune", "--budget"))
      ->type_name("TIME|P%|Nconfigs|all")
      ->default_str(kDefaultBudget)
      ->excludes(config);
  program.add_option("--strategy", options.strategy, help_text("tune", "--strategy"))
      ->type_name("NAME")
      ->excludes(config);
  program.add_option("--db", options.db, help_text("common", "--db"))
      ->type_name("FILE")
      ->default_str(kDefaultDatabase);
  add_cache(program, options.cache);
  program.add_option("--jobs", options.jobs, help_text("common", "--jobs"))
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  program.add_option("--devices", options.devices, help_text("tune", "--devices"))
      ->type_name("all|GPU[,GPU...]");
  program.add_option("--blas", options.blas, help_text("tune", "--blas"))->type_name("FOLDER");
  program.add_flag("--pace-check", options.pace_check, help_text("tune", "--pace-check"));
  program.add_option("--confirm", options.confirm, help_text("tune", "--confirm"))
      ->type_name("N")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  add_aim(program, options.aim, "sustained");
  program.add_flag("--energy", options.energy, help_text("tune", "--energy"));
  program.add_option("--format", options.format, help_text("common", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_table_options(program, options.tables);
  CLI::Option* require =
      program.add_flag("--require-gpu", options.require_gpu, help_text("common", "--require-gpu"));
  program.add_flag("--recorded", options.recorded, help_text("tune", "--recorded"))
      ->excludes(require);
  add_seed(program, options.seed, help_text("tune", "--seed"));
}

}  // namespace hgemm::cli
