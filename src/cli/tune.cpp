#include "tune/tune.h"

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
#include "best/best.h"
#include "cli/aim.h"
#include "cli/commands.h"
#include "cli/configs.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/recorded.h"
#include "cli/report.h"
#include "cli/search.h"
#include "cli/seed.h"
#include "cli/shapes.h"
#include "cli/signals.h"
#include "cli/writable.h"
#include "space/label.h"
#include "space/space.h"
#include "worker/remote.h"

namespace hgemm::cli {
namespace {

constexpr const char* kDefaultStrategy = "model";

struct TuneOptions {
  std::string shapes;
  std::optional<std::string> space;
  std::vector<std::string> configs;
  std::string strategy = kDefaultStrategy;
  std::optional<std::string> budget;
  std::optional<std::string> db;
  std::optional<std::string> cache_dir;
  int jobs = 0;
  AimOptions aim;
  bool energy = false;
  std::string format = "table";
  bool require_gpu = false;
  std::optional<std::uint64_t> seed;
};

/// What is not asked for has to be over soon; but the energy of a finalist takes seconds.
constexpr const char* kDefaultBudget = "60s";
constexpr const char* kDefaultBudgetForEnergy = "3%";

std::string default_budget(StrategyKind strategy, bool energy) {
  if (strategy == StrategyKind::kExhaustive) return "all";
  return energy ? kDefaultBudgetForEnergy : kDefaultBudget;
}

/// Which of the space's configs, of those that were named all.
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
          "(--budget 100)",
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

std::vector<KernelConfig> chosen_configs(const TuneOptions& options,
                                         std::span<const Shape> shapes) {
  if (options.configs.empty()) {
    const std::string configs_dir = (resource_dir() / "configs").string();
    const Space space = load_space(options.space.value_or(kDefaultSpace), configs_dir);
    return enumerate(space, shapes).valid;
  }
  std::vector<KernelConfig> configs;
  for (const std::string& text : options.configs) {
    configs.push_back(chosen_config(text));
    if (configs.back().probe) {
      throw InputError(fmt::format(
          "--config {}: a build with cycle stamps is not timed against others; leave .probe1 away, "
          "or study it with hgemm-tune probe",
          text));
    }
  }
  return configs;
}

/// Each shape must have configs that are made for it, and where they are a space's, some that suit
/// it.
void check_shapes(std::span<const Shape> shapes, std::span<const KernelConfig> configs,
                  bool only_suitable) {
  for (const Shape& shape : shapes) {
    if (const Rule rule = why_invalid({.dtype = shape.dtype}); rule != Rule::kValid) {
      throw InputError(fmt::format("shape {}: {} (rule {})", to_string(shape),
                                   rule_text(rule).reason, rule_text(rule).name));
    }
    const auto made_for_it = [&](const KernelConfig& config) { return is_made_for(config, shape); };
    if (std::ranges::none_of(configs, made_for_it)) {
      const char* reason = why_unsupported(shape);
      throw InputError(
          fmt::format("shape {}: none of the configurations is made for it ({}); "
                      "choose others with --config or --space",
                      to_string(shape), reason ? reason : "they are for other types or problems"));
    }
    const auto fits = [&](const KernelConfig& config) { return suits(config, shape); };
    if (only_suitable && std::ranges::none_of(configs, fits)) {
      const auto able = std::ranges::find_if(configs, [&](const KernelConfig& config) {
        return is_made_for(config, shape) && !why_unsupported(config, shape);
      });
      const KernelConfig& first = *std::ranges::find_if(configs, made_for_it);
      throw InputError(fmt::format(
          "shape {}: no configuration of the space suits it ({}); choose another --space, or name "
          "one with --config",
          to_string(shape),
          able != configs.end()
              ? fmt::format("tiles are far taller than its {} rows, or for few rows only", shape.m)
              : std::string(why_unsupported(first, shape))));
    }
  }
}

/// Some shape that the kernel supports has no verified config in some regime.
bool any_unsolved(std::span<const BestRow> rows) {
  return std::ranges::any_of(
      rows, [](const BestRow& row) { return !row.label && why_unsupported(row.shape) == nullptr; });
}

/// What did not end ok, by status, with the first case of each: a rejected kernel is a finding too.
void print_failures(std::span<const RecordedRace> races, std::span<const Shape> shapes) {
  struct Failures {
    int count = 0;
    std::string first;
  };
  std::map<Status, Failures> by_status;
  for (const RecordedRace& recorded : races) {
    const Race& race = recorded.race;
    const bool asked_for = std::ranges::any_of(
        shapes, [&](const Shape& shape) { return shape.same_problem(race.shape); });
    if (!asked_for) continue;
    for (const Trial& trial : race.trials) {
      if (trial.status == Status::kOk || is_baseline(trial.label)) continue;
      Failures& failures = by_status[trial.status];
      if (++failures.count > 1) continue;
      failures.first = fmt::format("{} at {}: {}", trial.label, to_string(race.shape),
                                   trial.message.substr(0, trial.message.find('\n')));
    }
  }
  for (const auto& [status, failures] : by_status) {
    fmt::print(stderr, "failed: {} {}, first {}\n", failures.count, to_string(status),
               failures.first);
  }
}

/// What measures the same on another machine.
std::string same_command(const TuneOptions& options, const Aim& aim) {
  std::string command = fmt::format("hgemm-tune --shapes {}", options.shapes);
  if (options.space) command += fmt::format(" --space {}", *options.space);
  if (!options.configs.empty()) {
    command += fmt::format(" --config {}", fmt::join(options.configs, ","));
  }
  if (options.strategy != kDefaultStrategy) {
    command += fmt::format(" --strategy {}", options.strategy);
  }
  if (options.budget) command += fmt::format(" --budget {}", *options.budget);
  if (!options.aim.regime.empty()) command += fmt::format(" --regime {}", options.aim.regime);
  if (aim.objective == Objective::kEnergy) {
    command += " --objective energy";
  } else if (options.energy) {
    command += " --energy";
  }
  return command;
}

// Outputs are refused before anything is created: so nothing is left half-written.

void check_db(const std::string& path) {
  const auto db_folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(db_folder) || !can_write_into(db_folder)) {
    throw InputError(
        fmt::format("database {}: {} is not a folder that can be written; choose another with --db",
                    path, db_folder.string()));
  }
}

int run_tune(const TuneOptions& options, const std::string& command_line) {
  const auto start = std::chrono::steady_clock::now();
  const Format format = parse_format(options.format);
  const Aim aim = parse_aim(options.aim, {Regime::kSustained});
  if (options.energy) check_energy(aim, "--energy");
  if (options.shapes.empty()) {
    throw InputError(
        "which shapes? Give --shapes a YAML file or MxNxK, e.g. --shapes llama7b.yaml; "
        "--help has more examples");
  }
  TunePlan plan;
  plan.shapes = chosen_shapes(options.shapes);
  plan.configs = chosen_configs(options, plan.shapes);
  plan.only_suitable = options.configs.empty();
  check_shapes(plan.shapes, plan.configs, plan.only_suitable);
  plan.regimes = aim.regimes;
  plan.energy = options.energy || aim.objective == Objective::kEnergy;
  plan.search = search_of(options, plan.energy, start);
  // Whoever leaves the final for being slow may be the one that takes the least energy.
  plan.policy.keep_finalists = aim.objective == Objective::kEnergy;
  plan.policy.seed = options.seed ? *options.seed : std::random_device()();
  plan.compile.jobs = options.jobs;
  plan.command_line = command_line;
  // Kept, so that a wrong result can be made again.
  if (!options.seed) plan.command_line += fmt::format(" --seed {}", plan.policy.seed);
  // What was not asked for matters only where something is written.
  if (options.db) check_db(*options.db);
  if (options.cache_dir) require_writable_cache(*options.cache_dir);
  const bool restricted = options.space || !options.configs.empty();

  StopSignals stop;
  RemoteMeasurer measurer;
  Environment environment;
  try {
    environment = measurer.environment();
  } catch (const NoDevice& reason) {
    if (options.require_gpu) throw;
    // Neither used nor written here, but what is no database on one machine is none on another.
    if (options.db && std::filesystem::exists(*options.db)) {
      Store::open(*options.db, Store::Mode::kReadOnly);
    }
    Question question{.shapes = plan.shapes,
                      .command = same_command(options, aim),
                      .aim = aim,
                      .energy = plan.energy,
                      .configs = std::nullopt,
                      .format = format};
    if (restricted) question.configs = plan.configs;
    answer_from_records(question, reason.what());
    return 0;
  }

  const std::string db = options.db.value_or(kDefaultDatabase);
  check_db(db);
  plan.compile.cache_dir =
      options.cache_dir ? std::filesystem::path(*options.cache_dir) : default_cache_dir();
  require_writable_cache(plan.compile.cache_dir);
  Store store = Store::open(db, Store::Mode::kReadWrite);
  TuneOutcome outcome;
  {
    Progress progress(stderr, plan.regimes != std::vector{Regime::kSustained},
                      plan.search ? plan.search->deadline : std::nullopt);
    outcome = tune(plan, measurer, store, compile_all, progress,
                   [&] { return stop.received().has_value(); });
  }
  if (const auto signal = stop.received()) {
    fmt::print(stderr,
               "stopped; {} trials of this run are in {}. The same command goes on from there.\n",
               outcome.recorded, db);
    return 128 + *signal;
  }
  auto races = store.races(environment);
  if (restricted) keep_configs(races, plan.configs);
  const auto rows = best_for(aim, races, plan.shapes);
  print_failures(races, plan.shapes);
  int recorded = 0;
  for (const BestRow& row : rows) recorded += row.trials;
  fmt::print(stderr, "measured {} trials; {} holds {} of these shapes\n", outcome.recorded, db,
             recorded);
  if (const int missing = without_energy(rows); plan.energy && missing > 0) {
    fmt::print(stderr, "energy is not known for {} of {} shapes\n", missing, plan.shapes.size());
  }
  print_best(rows, format);
  if (!outcome.late_shapes.empty()) {
    fmt::print(stderr,
               "the time was over before {} of {} races began ({}); the same command goes on with "
               "them, or give it a larger --budget\n",
               outcome.late_shapes.size(), plan.shapes.size() * plan.regimes.size(),
               fmt::join(outcome.late_shapes, ", "));
  }
  if (!outcome.skipped_shapes.empty()) {
    throw InputError(
        fmt::format("{} of {} shapes do not fit this GPU and were skipped ({}); the others are "
                    "recorded in {}",
                    outcome.skipped_shapes.size(), plan.shapes.size(),
                    fmt::join(outcome.skipped_shapes, ", "), db));
  }
  return any_unsolved(rows) ? 1 : 0;
}

}  // namespace

void add_tune(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<TuneOptions>();
  program.add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  CLI::Option* space = program.add_option("--space", options->space, help::kSpace)
                           ->type_name("NAME|FILE")
                           ->default_str(kDefaultSpace);
  CLI::Option* config = program.add_option("--config", options->configs, help::kConfig)
                            ->type_name("LABEL[,LABEL...]")
                            ->delimiter(',')
                            ->excludes(space);
  program.add_option("--budget", options->budget, help::kBudget)
      ->type_name("TIME|P%|N|all")
      ->default_str(kDefaultBudget)
      ->excludes(config);
  program.add_option("--strategy", options->strategy, help::kStrategy)
      ->type_name("NAME")
      ->excludes(config)
      ->capture_default_str();
  program.add_option("--db", options->db, help::kDb)
      ->type_name("FILE")
      ->default_str(kDefaultDatabase);
  program.add_option("--cache-dir", options->cache_dir, help::kCacheDir)->type_name("FOLDER");
  program.add_option("--jobs", options->jobs, help::kJobs)
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  add_aim(program, options->aim, "sustained");
  program.add_flag("--energy", options->energy, help::kEnergy);
  program.add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  program.add_flag("--require-gpu", options->require_gpu, help::kRequireGpu);
  add_seed(program, options->seed, help::kSeed);
  program.callback([&program, &chosen, options, command_line] {
    if (program.get_subcommands().empty()) {
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
