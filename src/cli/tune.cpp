#include "tune/tune.h"
#include "base/console.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/resources.h"
#include "cli/commands.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/aim.h"
#include "program/cache.h"
#include "program/configs.h"
#include "program/current.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/progress.h"
#include "program/recorded.h"
#include "program/report.h"
#include "program/search.h"
#include "program/seed.h"
#include "program/shapes.h"
#include "program/signals.h"
#include "program/table_options.h"
#include "program/writable.h"
#include "results/best.h"
#include "search/space.h"
#include "worker/remote.h"

namespace hgemm::cli {
namespace {

constexpr const char* kDefaultStrategy = "model";

struct TuneOptions {
  ShapeOptions problems;
  std::optional<std::string> space;
  std::vector<std::string> configs;
  std::string strategy = kDefaultStrategy;
  std::optional<std::string> budget;
  std::optional<std::string> db;
  CacheOptions cache;
  int jobs = 0;
  AimOptions aim;
  bool energy = false;
  std::string format = "table";
  TableOptions tables;
  bool require_gpu = false;
  bool recorded = false;
  bool names_strategy = false;  ///< --strategy was given
  std::optional<std::uint64_t> seed;
};

/// A tune without --budget has to be short. With energy its budget is a share of the configs
/// instead, because the energy of each finalist takes seconds.
constexpr const char* kDefaultBudget = "60s";
constexpr const char* kDefaultBudgetForEnergy = "3%";

std::string default_budget(StrategyKind strategy, bool energy) {
  if (strategy == StrategyKind::kExhaustive) return "all";
  return energy ? kDefaultBudgetForEnergy : kDefaultBudget;
}

/// The search among the space's configs. Named configs have none (nullopt): all are measured.
std::optional<SearchPlan> search_of(const TuneOptions& options, bool energy,
                                    std::chrono::steady_clock::time_point start) {
  const StrategyKind strategy = parse_strategy(options.strategy);
  if (!options.configs.empty()) return std::nullopt;
  const std::string budget = options.budget.value_or(default_budget(strategy, energy));
  const Allowance allowance = parse_allowance(budget);
  SearchPlan search{.strategy = strategy, .budget = {}, .devices = known_devices()};
  if (allowance.seconds) {
    if (energy) {
      throw InputError(
          fmt::format("--budget {}: the energy of each finalist takes seconds, whatever the time; "
                      "write a share "
                      "of the configs (\"3%\"), or \"all\"",
                      budget));
    }
    if (learns(strategy)) {
      throw InputError(fmt::format(
          "--strategy {}: it chooses most configs by what the first ones took, in a second race "
          "of each shape. Within a time ({} {}) one of the two may be brief and the other not, and "
          "such times cannot be compared; give it a share of the configs (--budget 3%) or a number "
          "of them (--budget 100configs)",
          options.strategy, options.budget ? "--budget" : "the default:", budget));
    }
    search.deadline = start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                  std::chrono::duration<double>(*allowance.seconds));
    return search;
  }
  if (!allowance.configs) {
    if (options.strategy != kDefaultStrategy && strategy != StrategyKind::kExhaustive) {
      throw InputError(
          fmt::format("--strategy {}: with --budget all it would change nothing; give a share "
                      "(\"3%\"){}",
                      options.strategy, learns(strategy) ? "" : " or a time"));
    }
    return std::nullopt;
  }
  search.budget = *allowance.configs;
  return search;
}

std::vector<KernelConfig> chosen_configs(const TuneOptions& options, const Aim& aim,
                                         std::span<const GemmProblem> problems) {
  if (options.configs.empty()) {
    const std::string configs_dir = (resource_dir() / "configs").string();
    const Space space = load_space(options.space.value_or(kDefaultSpace), configs_dir);
    return allowed_points(space, problems, aim.pdl).valid;
  }
  std::vector<KernelConfig> configs;
  for (const std::string& text : options.configs) {
    configs.push_back(chosen_config(text));
    if (!allows(aim, configs.back())) {
      throw InputError(fmt::format(
          "--config {}: its PDL kind is {}, and --pdl {} does not allow it; leave one of them away",
          text, to_string(pdl_kind(configs.back())), options.aim.pdl));
    }
    if (is_probed(configs.back())) {
      throw InputError(fmt::format(
          "--config {}: a build with cycle stamps is not timed against others; leave .probe1 away, "
          "or study it with hgemm-tune probe",
          text));
    }
  }
  return configs;
}

/// Each problem must have configs that can compute it. If the configs come from a space, some must
/// also suit it.
void check_problems(std::span<const GemmProblem> problems, std::span<const KernelConfig> configs,
                    bool only_suitable) {
  for (const GemmProblem& problem : problems) {
    if (const char* reason = why_no_kernel(problem)) {
      throw InputError(fmt::format("shape {}: {}", to_string(problem), reason));
    }
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

/// True if a problem that a kernel can compute has no verified config in one of the regimes.
bool any_unsolved(std::span<const BestRow> rows) {
  return std::ranges::any_of(
      rows, [](const BestRow& row) { return !row.label && !why_no_kernel(row.problem); });
}

/// The trials that did not end ok, by status, with the first case of each. A rejected kernel is a
/// finding, too.
void print_failures(std::span<const RecordedRace> races, std::span<const GemmProblem> problems) {
  struct Failures {
    int count = 0;
    std::string first;
  };
  std::map<Status, Failures> by_status;
  for (const RecordedRace& recorded : races) {
    const Race& race = recorded.race;
    const bool asked_for = std::ranges::any_of(
        problems, [&](const GemmProblem& problem) { return problem.same_problem(race.problem); });
    if (!asked_for) continue;
    for (const Trial& trial : race.trials) {
      if (trial.status == Status::kOk || is_baseline(trial.label)) continue;
      Failures& failures = by_status[trial.status];
      if (++failures.count > 1) continue;
      failures.first = fmt::format("{} at {}: {}", trial.label, to_string(race.problem),
                                   trial.message.substr(0, trial.message.find('\n')));
    }
  }
  for (const auto& [status, failures] : by_status) {
    say("failed: {} {}, first {}\n", failures.count, to_string(status), failures.first);
  }
}

/// The command that measures the same on another machine.
std::string same_command(const TuneOptions& options, const Aim& aim) {
  std::string command = fmt::format("hgemm-tune {}", options.problems.arguments());
  if (options.space) command += fmt::format(" --space {}", *options.space);
  if (!options.configs.empty()) {
    command += fmt::format(" --config {}", fmt::join(options.configs, ","));
  }
  if (options.strategy != kDefaultStrategy) {
    command += fmt::format(" --strategy {}", options.strategy);
  }
  if (options.budget) command += fmt::format(" --budget {}", *options.budget);
  if (!options.aim.regime.empty()) command += fmt::format(" --regime {}", options.aim.regime);
  if (aim.pdl != PdlKind::kWeights) command += fmt::format(" --pdl {}", to_string(aim.pdl));
  if (aim.objective == Objective::kEnergy) {
    command += " --objective energy";
  } else if (options.energy) {
    command += " --energy";
  }
  return command;
}

// Bad outputs are refused before anything is created, so nothing is left half-written.

void check_db(const std::string& path) {
  const auto db_folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(db_folder) || !can_write_into(db_folder)) {
    throw InputError(
        fmt::format("database {}: {} is not a folder that can be written; choose another with --db",
                    path, db_folder.string()));
  }
}

TunePlan plan_of(const TuneOptions& options, const Aim& aim, const std::string& command_line,
                 std::chrono::steady_clock::time_point start) {
  TunePlan plan;
  plan.problems = chosen_problems(options.problems);
  plan.configs = chosen_configs(options, aim, plan.problems);
  plan.only_suitable = options.configs.empty();
  check_problems(plan.problems, plan.configs, plan.only_suitable);
  plan.regimes = aim.regimes;
  plan.energy = options.energy || aim.objective == Objective::kEnergy;
  plan.search = search_of(options, plan.energy, start);
  // A config that would leave the final for being slow may take the least energy.
  plan.policy.keep_finalists = aim.objective == Objective::kEnergy;
  plan.policy.seed = options.seed ? *options.seed : std::random_device()();
  plan.compile.jobs = options.jobs;
  plan.command_line = command_line;
  // The seed is kept, so that a wrong result can be reproduced.
  if (!options.seed) plan.command_line += fmt::format(" --seed {}", plan.policy.seed);
  return plan;
}

/// Whether --space or --config says which kernels may answer.
bool is_restricted(const TuneOptions& options) { return options.space || !options.configs.empty(); }

/// The options that apply only to a measurement: its database, its time limit, its search. Recorded
/// results were made without them.
std::vector<std::string> options_of_measurements(const TuneOptions& options) {
  std::vector<std::string> given;
  if (options.db) given.push_back(fmt::format("--db {}", *options.db));
  if (options.budget) given.push_back(fmt::format("--budget {}", *options.budget));
  if (options.names_strategy) given.push_back(fmt::format("--strategy {}", options.strategy));
  return given;
}

/// A file that is not a database is refused on every machine, whether it is used or not.
void check_content_of_db(const TuneOptions& options) {
  if (options.db && std::filesystem::exists(*options.db)) {
    Store::open(*options.db, Store::Mode::kReadOnly);
  }
}

/// Throws Error if the command asks for something that only a measurement gives.
void check_answerable(const TuneOptions& options, const std::string& why_no_gpu) {
  const auto given = options_of_measurements(options);
  if (given.empty()) return;
  throw Error(fmt::format(
      "no Hopper GPU here ({}), and {} ask{} for a measurement; run the same command on a machine "
      "with one, or add --recorded to see the results that ship with the program",
      why_no_gpu, fmt::join(given, ", "), given.size() == 1 ? "s" : ""));
}

int answer_without_measuring(const TuneOptions& options, const Aim& aim, const TunePlan& plan,
                             const Style& style, const std::string& reason) {
  if (const auto unused = options_of_measurements(options); !unused.empty()) {
    say("recorded results answer: {} changes nothing\n", fmt::join(unused, ", "));
  }
  Question question{.problems = plan.problems,
                    .command = same_command(options, aim),
                    .shapes = options.problems.arguments(),
                    .aim = aim,
                    .energy = plan.energy,
                    .configs = std::nullopt,
                    .style = style};
  if (is_restricted(options)) question.configs = plan.configs;
  answer_from_records(question, reason);
  return 0;
}

/// Prints the database's results for the plan's problems, and the results that are missing.
int print_outcome(const TunePlan& plan, const TuneOutcome& outcome, const std::string& db,
                  const std::vector<BestRow>& rows, const Style& style) {
  int recorded = 0;
  for (const BestRow& row : rows) recorded += row.trials;
  say("measured {} trials; {} holds {} of these shapes\n", outcome.recorded, db, recorded);
  if (const int missing = without_energy(rows); plan.energy && missing > 0) {
    say("energy is not known for {} of {} shapes\n", missing, plan.problems.size());
  }
  print_best(rows, style);
  if (!outcome.late_problems.empty()) {
    say("the time was over before {} of {} races began ({}); the same command goes on with "
        "them, or give it a larger --budget\n",
        outcome.late_problems.size(), plan.problems.size() * plan.regimes.size(),
        fmt::join(outcome.late_problems, ", "));
  }
  if (!outcome.skipped_problems.empty()) {
    throw InputError(
        fmt::format("{} of {} shapes do not fit this GPU and were skipped ({}); the others are "
                    "recorded in {}",
                    outcome.skipped_problems.size(), plan.problems.size(),
                    fmt::join(outcome.skipped_problems, ", "), db));
  }
  return any_unsolved(rows) ? 1 : 0;
}

int run_tune(const TuneOptions& options, const std::string& command_line) {
  const auto start = std::chrono::steady_clock::now();
  const Style style = style_of(options.tables, parse_format(options.format));
  check_best_columns(style);
  const Aim aim = parse_aim(options.aim, {Regime::kSustained});
  if (options.energy) check_energy(aim, "--energy");
  TunePlan plan = plan_of(options, aim, command_line, start);
  // A default location matters only if something is written there.
  if (options.db) check_db(*options.db);
  check_cache(options.cache);

  if (options.recorded) {
    check_content_of_db(options);
    return answer_without_measuring(options, aim, plan, style,
                                    "Nothing is measured now, as asked for.");
  }

  StopSignals stop;
  RemoteMeasurer measurer;
  Environment environment;
  try {
    environment = measurer.machine().environment;
  } catch (const NoDevice& reason) {
    if (options.require_gpu) throw;
    check_content_of_db(options);
    check_answerable(options, reason.what());
    return answer_without_measuring(
        options, aim, plan, style,
        fmt::format("No Hopper GPU here ({}): nothing is measured now.", reason.what()));
  }

  const std::string db = options.db.value_or(kDefaultDatabase);
  check_db(db);
  use_cache(options.cache, plan.compile);
  Store store = Store::open(db, Store::Mode::kReadWrite);
  TuneOutcome outcome;
  {
    Progress progress(stderr, plan.regimes != std::vector{Regime::kSustained},
                      plan.search ? plan.search->deadline : std::nullopt);
    outcome = tune(plan, measurer, store, nvrtc_compiler(), progress,
                   [&] { return stop.received().has_value(); });
  }
  if (const auto signal = stop.received()) {
    say("stopped; {} trials of this run are in {}. The same command goes on from there.\n",
        outcome.recorded, db);
    return 128 + *signal;
  }
  auto races = store.races(environment);
  if (is_restricted(options)) keep_configs(races, plan.configs);
  const auto rows = best_for(aim, races, plan.problems, current_among(store.builds()));
  print_failures(races, plan.problems);
  return print_outcome(plan, outcome, db, rows, style);
}

}  // namespace

void add_tune(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<TuneOptions>();
  add_shapes(program, options->problems);
  CLI::Option* space =
      program.add_option("--space", options->space, help_text("common", "--space"))
          ->type_name("NAME|FILE")
          ->default_str(kDefaultSpace);
  CLI::Option* config =
      program.add_option("--config", options->configs, help_text("tune", "--config"))
          ->type_name("LABEL[,LABEL...]")
          ->delimiter(',')
          ->excludes(space);
  program.add_option("--budget", options->budget, help_text("tune", "--budget"))
      ->type_name("TIME|P%|Nconfigs|all")
      ->default_str(kDefaultBudget)
      ->excludes(config);
  CLI::Option* strategy =
      program.add_option("--strategy", options->strategy, help_text("tune", "--strategy"))
          ->type_name("NAME")
          ->excludes(config)
          ->capture_default_str();
  program.add_option("--db", options->db, help_text("common", "--db"))
      ->type_name("FILE")
      ->default_str(kDefaultDatabase);
  add_cache(program, options->cache);
  program.add_option("--jobs", options->jobs, help_text("common", "--jobs"))
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_aim(program, options->aim, "sustained");
  program.add_flag("--energy", options->energy, help_text("tune", "--energy"));
  program.add_option("--format", options->format, help_text("common", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_table_options(program, options->tables);
  CLI::Option* require =
      program.add_flag("--require-gpu", options->require_gpu, help_text("common", "--require-gpu"));
  program.add_flag("--recorded", options->recorded, help_text("tune", "--recorded"))
      ->excludes(require);
  add_seed(program, options->seed, help_text("tune", "--seed"));
  program.callback([&program, &chosen, options, strategy, command_line] {
    if (program.get_subcommands().empty()) {
      options->names_strategy = strategy->count() > 0;
      chosen = [options, command_line] { return run_tune(*options, command_line); };
      return;
    }
    for (const CLI::Option* option : program.get_options()) {
      if (option->count() == 0) continue;
      throw InputError(fmt::format("{0} stands before the command: write hgemm-tune {1} {0} ...",
                                   option->get_name(),
                                   program.get_subcommands().front()->get_name()));
    }
  });
}

}  // namespace hgemm::cli
