#include "program/sweep_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/console.h"
#include "base/error.h"
#include "base/resources.h"
#include "base/yaml.h"
#include "gemm/codec.h"
#include "program/command.h"
#include "program/configs.h"
#include "program/current.h"
#include "program/devices.h"
#include "program/report.h"
#include "program/search.h"
#include "search/figures.h"
#include "tune/forecast.h"

namespace hgemm::cli {
namespace fs = std::filesystem;
namespace {

/// Options of a tune that are not for its tasks: which shapes, how to show them, and which GPUs.
const std::set<std::string> kNotForTasks = {
    "--shapes",      "--misses",   "--model",   "--tp",      "--m",    "--unfused", "--gated",
    "--dtype",       "--db",       "--format",  "--columns", "--sort", "--wide",    "--color",
    "--require-gpu", "--recorded", "--devices", "--help",    "--data"};
/// Their values are paths: tasks may run in another folder.
const std::set<std::string> kPaths = {"--cache-dir", "--shared-cache", "--blas"};

/// The space as tasks find it, wherever they run.
std::string space_for_tasks(const std::string& argument) {
  if (argument == kWholeSpace) return argument;
  const fs::path shipped = resource_dir() / "configs" / "spaces";
  const fs::path found = find_yaml(argument, shipped, "space");
  std::error_code error;
  const bool is_shipped = fs::equivalent(fs::absolute(found).parent_path(), shipped, error);
  return is_shipped ? argument : fs::absolute(found).string();
}

std::vector<std::string> options_for_tasks(const CLI::App& given, const TuneOptions& options) {
  CLI::App tune;
  TuneOptions unused;
  add_tune_options(tune, unused);
  std::vector<std::string> words;
  for (const CLI::Option* known : tune.get_options()) {
    const std::string name = known->get_name();
    const CLI::Option* option = given.get_option_no_throw(name);
    if (option == nullptr || option->count() == 0 || kNotForTasks.contains(name)) continue;
    std::vector<std::string> values = option->results();
    if (option->get_items_expected_max() == 0) {
      words.push_back(name);
      continue;
    }
    if (kPaths.contains(name)) values = {fs::absolute(values.front()).string()};
    if (name == "--space") values = {space_for_tasks(values.front())};
    words.push_back(fmt::format("{}={}", name, fmt::join(values, ",")));
  }
  if (given.get_option("--budget")->count() == 0 && options.budget) {
    words.push_back("--budget=" + *options.budget);
  }
  return words;
}

void refuse(bool given, const char* option, const char* why) {
  if (given) throw InputError(fmt::format("--executor slurm: {} {}", option, why));
}

void check_for_slurm(const TuneOptions& options, const SlurmOptions& slurm) {
  refuse(!options.devices.empty(), "--devices",
         "chooses GPUs of this machine; say how many GPUs a task gets with --gpus-per-node");
  refuse(options.recorded, "--recorded", "measures nothing; leave one of them away");
  refuse(options.confirm > 1 && slurm.jobs.gpus_per_node < 2, "--confirm",
         "needs a second GPU in each task; add --gpus-per-node 2");
}

bool has_learning_search(const TunePlan& plan) {
  return plan.search && learns(plan.search->strategy);
}

}  // namespace

Environment assumed_environment() {
  return environment_of(choose_devices(known_devices(), "h200").front());
}

Sweep sweep_of(TuneOptions options, const SlurmOptions& slurm, const std::string& command_line) {
  check_for_slurm(options, slurm);
  const bool measures_all = options.strategy == "exhaustive" || !options.configs.empty();
  if (!options.budget && !measures_all) {
    options.budget = default_configs(options.space.value_or(kDefaultSpace));
  }
  const Aim aim = parse_aim(options.aim, {Regime::kSustained});
  if (options.energy) check_energy(aim, "--energy");
  check_cache(options.cache);
  TunePlan tune = plan_of(options, aim, command_line, std::chrono::steady_clock::now());
  // The shapes of a task name their data, and no file.
  const bool from_file = std::ranges::any_of(tune.problems, [](const GemmProblem& problem) {
    return problem.data.kind == DataKind::kFile;
  });
  refuse(from_file, "--data",
         "takes no file there; choose normal, uniform, integers, zeros or sparse");

  Sweep sweep;
  sweep.problems = tune.problems;
  sweep::SweepPlan& plan = sweep.plan;
  plan.created_utc = sweep::now_utc();
  plan.program = fs::read_symlink("/proc/self/exe").string();
  plan.version = HGEMM_TUNE_VERSION;
  plan.command_line = command_line;
  plan.options = options_for_tasks(*slurm.program, options);
  plan.database = fs::absolute(options.db.value_or(kDefaultDatabase)).string();
  plan.regimes = tune.regimes;
  plan.gpus = slurm.jobs.gpus_per_node;
  plan.array_limit = slurm.array_limit;
  plan.in_one_stage = !has_learning_search(tune);
  plan.compiles_ahead = !slurm.jobs.compile_partition.empty();
  if (options.budget) plan.budget_s = parse_allowance(*options.budget).seconds;

  std::map<std::string, double> seconds;
  double total = 0;
  for (const RaceForecast& race : forecast(tune, assumed_environment())) {
    seconds[to_string(race.problem)] += race.seconds;
    total += race.seconds;
  }
  const double scale = plan.budget_s && total > 0 ? *plan.budget_s / total : 1;
  for (const GemmProblem& problem : sweep.problems) {
    sweep.seconds.push_back(seconds[to_string(problem)] * scale);
  }
  return sweep;
}

TuneOptions options_of(const sweep::SweepPlan& plan) {
  CLI::App tune;
  TuneOptions options;
  add_tune_options(tune, options);
  std::vector<std::string> reversed(plan.options.rbegin(), plan.options.rend());
  try {
    tune.parse(reversed);
  } catch (const CLI::Error& error) {
    throw InputError(
        fmt::format("run.json: its options are not those of a tune: {}", error.what()));
  }
  return options;
}

int print_sweep(const sweep::RunFolder& run, const Store& store, const TuneOptions& options) {
  const Style style = style_of(options.tables, parse_format(options.format));
  const Aim aim = parse_aim(options.aim, {Regime::kSustained});
  const std::vector<GemmProblem> problems = run.plan().problems();
  auto races = store.races();
  print_best(best_for(aim, races, problems, current_among(store.builds())), style);

  using sweep::RaceState;
  const sweep::SweepState state = run.state();
  const auto names = [&](RaceState wanted) {
    std::vector<std::string> names;
    for (const auto& race : state.races) {
      if (race.state == wanted) names.push_back(race.name);
    }
    return names;
  };
  for (const std::string& warning : state.warnings) say("warning: {}\n", warning);
  if (const auto late = names(RaceState::kLate); !late.empty()) {
    say("the time was over before {} races began ({}); hgemm-tune slurm resume --retry goes on "
        "with them\n",
        late.size(), fmt::join(late, ", "));
  }
  if (const auto skipped = names(RaceState::kSkipped); !skipped.empty()) {
    say("{} races were skipped, because their shapes do not fit the GPU ({})\n", skipped.size(),
        fmt::join(skipped, ", "));
  }
  const auto aside = names(RaceState::kSetAside);
  if (!aside.empty()) {
    say("{} races were set aside, because their tasks died ({}); logs/ says how. After the cause "
        "is "
        "gone, hgemm-tune slurm resume --retry tries them again\n",
        aside.size(), fmt::join(aside, ", "));
  }
  if (state.left() > 0) {
    say("{} of {} races are not done; hgemm-tune slurm resume {} goes on with them\n", state.left(),
        state.races.size(), run.path().string());
  }
  return aside.empty() && state.left() == 0 ? 0 : 1;
}

}  // namespace hgemm::cli
