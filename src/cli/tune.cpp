#include "tune/tune.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/resources.h"
#include "best/best.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/recorded.h"
#include "cli/signals.h"
#include "cli/writable.h"
#include "space/label.h"
#include "space/space.h"
#include "worker/remote.h"

namespace hgemm::cli {
namespace {

struct TuneOptions {
  std::string shapes;
  std::string space = kDefaultSpace;
  std::vector<std::string> configs;
  std::string db = kDefaultDatabase;
  std::string cache_dir;
  int jobs = 0;
  std::string format = "table";
  bool require_gpu = false;
  std::optional<std::uint64_t> seed;
};

std::vector<KernelConfig> chosen_configs(const TuneOptions& options,
                                         const std::string& configs_dir) {
  if (options.configs.empty()) return enumerate(load_space(options.space, configs_dir)).valid;
  std::vector<KernelConfig> configs;
  for (const std::string& text : options.configs) {
    configs.push_back(parse_label(text));
    const Rule rule = why_invalid(configs.back());
    if (rule != Rule::kValid) {
      throw InputError(fmt::format("--config {}: the kernel cannot run it: {} (rule {})", text,
                                   rule_text(rule).reason, rule_text(rule).name));
    }
  }
  return configs;
}

void check_dtypes(std::span<const Shape> shapes, std::span<const KernelConfig> configs) {
  for (const Shape& shape : shapes) {
    if (std::ranges::find(configs, shape.dtype, &KernelConfig::dtype) == configs.end()) {
      throw InputError(fmt::format(
          "shape {}: none of the configurations is for {}; choose others with --config or --space",
          to_string(shape), to_string(shape.dtype)));
    }
  }
}

/// Some shape that the kernel supports has no verified config.
bool any_unsolved(std::span<const BestRow> rows) {
  return std::ranges::any_of(rows, [](const BestRow& row) {
    return !row.label && why_unsupported(row.shape.m, row.shape.n, row.shape.k) == nullptr;
  });
}

/// What did not end ok, by status, with the first case of each: a rejected kernel is a finding too.
void print_failures(std::span<const RecordedRace> races, std::span<const Shape> shapes) {
  struct Failures {
    int count = 0;
    std::string first;
  };
  std::map<Status, Failures> by_status;
  for (const auto& [id, environment, started_utc, race] : races) {
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

/// Refused before anything is created: so nothing is left half-written.
void check_outputs(const TuneOptions& options) {
  const auto db_folder = std::filesystem::absolute(options.db).parent_path();
  if (!std::filesystem::is_directory(db_folder) || !can_write_into(db_folder)) {
    throw InputError(
        fmt::format("database {}: {} is not a folder that can be written; choose another with --db",
                    options.db, db_folder.string()));
  }
  if (!options.cache_dir.empty() && !can_write_into(options.cache_dir)) {
    throw InputError(fmt::format("the cache {} cannot be written; choose another with --cache-dir",
                                 options.cache_dir));
  }
}

int run_tune(const TuneOptions& options, const std::string& command_line) {
  const Format format = parse_format(options.format);
  if (options.shapes.empty()) {
    throw InputError(
        "which shapes? Give --shapes a YAML file or MxNxK, e.g. --shapes llama7b.yaml; "
        "--help has more examples");
  }
  const std::string configs_dir = (resource_dir() / "configs").string();
  TunePlan plan;
  plan.shapes = load_shapes(options.shapes, configs_dir);
  plan.configs = chosen_configs(options, configs_dir);
  check_dtypes(plan.shapes, plan.configs);
  plan.policy.seed = options.seed ? *options.seed : std::random_device()();
  plan.compile.jobs = options.jobs;
  plan.command_line = command_line;
  // Kept, so that a wrong result can be made again.
  if (!options.seed) plan.command_line += fmt::format(" --seed {}", plan.policy.seed);
  check_outputs(options);

  StopSignals stop;
  RemoteMeasurer measurer;
  Environment environment;
  try {
    environment = measurer.environment();
  } catch (const NoDevice& reason) {
    if (options.require_gpu) throw;
    // Neither used nor written here, but what is no database on one machine is none on another.
    if (std::filesystem::exists(options.db)) Store::open(options.db, Store::Mode::kReadOnly);
    answer_from_records(plan.shapes, format, reason.what());
    return 0;
  }

  plan.compile.cache_dir =
      options.cache_dir.empty() ? default_cache_dir() : std::filesystem::path(options.cache_dir);
  Store store = Store::open(options.db, Store::Mode::kReadWrite);
  std::int64_t measured = 0;
  std::optional<InputError> shapes_skipped;
  try {
    Progress progress(stderr);
    measured = tune(plan, measurer, store, compile_all, progress,
                    [&] { return stop.received().has_value(); });
  } catch (const InputError& error) {  // some shapes do not fit; the others are still an answer
    shapes_skipped = error;
  }
  if (const auto signal = stop.received()) {
    fmt::print(stderr,
               "stopped; {} trials of this run are in {}. The same command goes on from there.\n",
               measured, options.db);
    return 128 + *signal;
  }
  const auto races = store.races(environment);
  const auto rows = best_rows(races, plan.shapes);
  print_failures(races, plan.shapes);
  if (!shapes_skipped) {
    int recorded = 0;
    for (const BestRow& row : rows) recorded += row.trials;
    fmt::print(stderr, "measured {} trials; {} holds {} of these shapes\n", measured, options.db,
               recorded);
  }
  fmt::print("{}", format_best(rows, format));
  if (shapes_skipped) throw *shapes_skipped;
  return any_unsolved(rows) ? 1 : 0;
}

}  // namespace

void add_tune(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto options = std::make_shared<TuneOptions>();
  program.add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  CLI::Option* space = program.add_option("--space", options->space, help::kSpace)
                           ->type_name("NAME|FILE")
                           ->capture_default_str();
  program.add_option("--config", options->configs, help::kConfig)
      ->type_name("LABEL[,LABEL...]")
      ->delimiter(',')
      ->excludes(space);
  program.add_option("--db", options->db, help::kDb)->type_name("FILE")->capture_default_str();
  program.add_option("--cache-dir", options->cache_dir, help::kCacheDir)->type_name("FOLDER");
  program.add_option("--jobs", options->jobs, help::kJobs)
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  program.add_option("--format", options->format, help::kBestFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  program.add_flag("--require-gpu", options->require_gpu, help::kRequireGpu);
  program.add_option("--seed", options->seed, help::kSeed)->type_name("N");
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
