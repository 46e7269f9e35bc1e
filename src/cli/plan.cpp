#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "base/console.h"
#include "base/error.h"
#include "base/parallel.h"
#include "base/resources.h"
#include "cli/commands.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/axes.h"
#include "output/cost.h"
#include "output/plan.h"
#include "program/aim.h"
#include "program/configs.h"
#include "program/database.h"
#include "program/devices.h"
#include "program/help.h"
#include "program/shapes.h"
#include "program/slow_work.h"
#include "program/table_options.h"
#include "program/tune_options.h"
#include "search/calibration.h"
#include "search/proposer.h"
#include "store/store.h"
#include "studies/micro/points.h"
#include "tune/forecast.h"

namespace hgemm::cli {
namespace {

constexpr std::size_t kMostPredictions = 200'000;

struct PlanOptions {
  std::string space = kDefaultSpace;
  ShapeOptions problems;
  bool axes = false;
  bool explain = false;
  int top = 5;
  std::vector<std::string> configs;
  std::string device = "H200";
  std::size_t gpus = 0;  ///< 0: not asked for
  std::optional<std::string> budget;
  std::string db;  ///< database with the microbenchmarks for calibration; empty: none
  AllowedOptions allowed;
  std::string format = "table";
  TableOptions tables;
};

/// The number of configs that suit each problem; 0 for one that no kernel can compute.
std::vector<std::int64_t> suited(const PlanOptions& options, std::span<const GemmProblem> problems,
                                 std::span<const KernelConfig> configs) {
  if (options.space != kWholeSpace) return count_suited(configs, problems);
  const Allowed allowed = parse_allowed(options.allowed);
  std::vector<Scope> scopes;
  for (const GemmProblem& problem : problems) {
    scopes.push_back({.problem = problem, .figures = {}, .limits = {}, .allowed = allowed});
  }
  return whole_sizes(scopes);
}

SpacePlan planned(const PlanOptions& options, std::span<const GemmProblem> problems) {
  const Allowed allowed = parse_allowed(options.allowed);
  SpacePlan plan{.space = options.space, .points = {}, .shapes = {}};
  std::vector<KernelConfig> configs;
  if (options.space == kWholeSpace) {
    std::vector<GemmKind> kinds;
    for (const GemmProblem& problem : problems) kinds.push_back(problem.kind());
    plan.points = whole_size(kinds, allowed);
  } else {
    const Space space = load_space(options.space, (resource_dir() / "configs").string());
    plan.space = space.name;
    const Enumeration points = allowed_points(space, problems, allowed);
    plan.points = count_of(points);
    configs = points.valid;
  }
  const std::vector<std::int64_t> counts = suited(options, problems, configs);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const char* reason = why_no_kernel(problems[i]);
    plan.shapes.push_back({problems[i], counts[i], reason ? reason : ""});
  }
  return plan;
}

/// What the cost model expects of a list of configs at a problem. Throws InputError if the user
/// named one (`named`) that cannot compute it.
std::vector<PredictedConfig> predicted(std::span<const KernelConfig> configs, bool named,
                                       const GemmProblem& problem, const CostFigures& figures) {
  std::vector<PredictedConfig> predictions;
  for (const KernelConfig& config : configs) {
    const char* const reason = why_not(config, problem);
    if (reason && named) {
      throw InputError(
          fmt::format("--config {} at {}: {}", label(config), to_string(problem), reason));
    }
    if (reason || (!named && !suits(config, problem))) continue;
    predictions.push_back({problem, label(config), predict_cost(figures, config, problem)});
  }
  return predictions;
}

/// The configs that the cost model ranks best at each shape, or the configs that the user named.
std::vector<PredictedConfig> explained(const PlanOptions& options,
                                       std::span<const GemmProblem> problems,
                                       const CostFigures& figures) {
  std::vector<KernelConfig> configs;
  for (const std::string& text : options.configs) configs.push_back(chosen_config(text));
  const bool named = !configs.empty();
  const bool whole = !named && options.space == kWholeSpace;
  const Allowed allowed = parse_allowed(options.allowed);
  if (!named && !whole) {
    const Space space = load_space(options.space, (resource_dir() / "configs").string());
    configs = allowed_points(space, problems, allowed).valid;
  }
  std::vector<PredictedConfig> predictions;
  SlowWork work("shapes", problems.size());
  const auto explain = [&](std::size_t i) {
    const GemmProblem& problem = problems[i];
    std::vector<KernelConfig> proposed;
    if (whole) {
      for (Proposal& proposal : propose({problem, figures, {}, allowed})) {
        proposed.push_back(std::move(proposal.config));
      }
    }
    auto of_shape = predicted(whole ? proposed : configs, named, problem, figures);
    if (const char* reason = why_no_kernel(problem)) {
      throw InputError(fmt::format("shape {}: {}", to_string(problem), reason));
    }
    if (of_shape.empty()) {
      throw InputError(fmt::format(
          "shape {}: no configuration of the space suits it; choose another --space, or name one "
          "with --config",
          to_string(problem)));
    }
    std::ranges::stable_sort(of_shape, {}, [](const auto& one) { return one.cost.us(); });
    if (!named) of_shape.resize(std::min(of_shape.size(), static_cast<std::size_t>(options.top)));
    return of_shape;
  };
  make_in_parallel(problems.size(), explain, [&](std::vector<PredictedConfig> of_shape) {
    std::ranges::move(of_shape, std::back_inserter(predictions));
    if (predictions.size() > kMostPredictions) {
      throw InputError(
          fmt::format("--explain: more than {} rows, which nobody reads; give fewer shapes, or a "
                      "smaller --top",
                      kMostPredictions));
    }
    work.one_done();
  });
  return predictions;
}

void calibrate_by(const PlanOptions& options, const Device& device, CostFigures& figures) {
  require_database(options.db);
  const auto studies = Store::open(options.db, Store::Mode::kReadOnly).studies(kMicroStudy);
  int replaced = 0;
  for (const std::string& gpu_name : device.gpu_names) {
    if (replaced == 0) replaced = calibrate(figures, studies, gpu_name);
  }
  if (replaced == 0) {
    throw InputError(fmt::format(
        "--db {}: it has no microbenchmark of a {} that the model can use; measure them on one "
        "with `hgemm-tune micro --db {} --only {}`",
        options.db, device.name, options.db, fmt::join(calibrating_labels(), ",")));
  }
  say("{} figures of the model are by what micro measured ({})\n", replaced, options.db);
}

int run_explain(const PlanOptions& options, const Style& style) {
  if (options.problems.empty()) {
    throw InputError(
        "--explain: which shapes? Give --shapes, e.g. --shapes 4096x4096x4096, or --model");
  }
  const auto devices = choose_devices(known_devices(), options.device);
  if (devices.size() != 1) throw InputError("--device: choose one device to explain for");
  CostFigures figures = cost_figures(devices.front());
  if (!options.db.empty()) calibrate_by(options, devices.front(), figures);
  const std::vector<GemmProblem> problems = chosen_problems(options.problems);
  check_allowed(parse_allowed(options.allowed), problems);
  const auto predictions = explained(options, problems, figures);
  fmt::print("{}", format_costs(predictions, style));
  return 0;
}

/// Adds what tuning the shapes takes on GPUs of a known device.
void plan_sweep(const PlanOptions& options, SpacePlan& planned) {
  if (options.problems.empty()) {
    throw InputError("--gpus: which shapes? Give --shapes, e.g. --shapes llama7b.yaml, or --model");
  }
  const auto devices = choose_devices(known_devices(), options.device);
  if (devices.size() != 1) throw InputError("--device: choose one device to plan for");
  const Device& device = devices.front();
  TuneOptions tune;
  tune.problems = options.problems;
  tune.space = options.space;
  tune.budget = options.budget.value_or(default_configs(options.space));
  tune.aim.allowed = options.allowed;
  const TunePlan plan = plan_of(tune, parse_aim(tune.aim, {Regime::kSustained}), "",
                                std::chrono::steady_clock::now());
  if (plan.search && plan.search->deadline) {
    throw InputError(fmt::format(
        "--budget {}: a time is what the tune takes on each GPU, whatever their number; give a "
        "number (100configs), or with a space of grids a share (3%) or all",
        *tune.budget));
  }
  SweepForecast sweep = forecast_sweep(plan, environment_of(device), options.gpus);
  for (const RaceForecast& race : sweep.by_race) {
    const auto shape = std::ranges::find_if(planned.shapes, [&](const PlannedShape& one) {
      return one.problem.same_problem(race.problem);
    });
    if (shape != planned.shapes.end()) shape->race_s = race.seconds;
  }
  planned.sweep =
      PlannedSweep{.device = device.name, .budget = *tune.budget, .forecast = std::move(sweep)};
}

int run_plan(const PlanOptions& options) {
  const Style style = style_of(options.tables, parse_format(options.format));
  if (options.axes) {
    fmt::print("{}", format_axes(style));
    return 0;
  }
  if (options.explain) return run_explain(options, style);
  if (!style.columns.empty() || !style.sort.empty()) {
    throw InputError(
        "--columns and --sort are for --axes and --explain: plan itself has no columns");
  }
  if (style.format == Format::kCsv) {
    throw InputError("--format csv: plan has several tables; use table, md or json");
  }
  std::vector<GemmProblem> problems;
  if (!options.problems.empty()) problems = chosen_problems(options.problems);
  check_allowed(parse_allowed(options.allowed), problems);
  SpacePlan plan = planned(options, problems);
  if (options.gpus > 0) plan_sweep(options, plan);
  fmt::print("{}", format_plan(plan, style));
  return 0;
}

}  // namespace

void add_plan(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command = add_command(program, "plan");
  CLI::Option* space =
      command->add_option("--space", options->space, help_text("common", "--space"))
          ->type_name("NAME|FILE")
          ->capture_default_str();
  add_shapes(*command, options->problems);
  CLI::Option* axes = command->add_flag("--axes", options->axes, help_text("plan", "--axes"));
  axes->excludes(space);
  CLI::Option* explain =
      command->add_flag("--explain", options->explain, help_text("plan", "--explain"));
  explain->excludes(axes);
  CLI::Option* top = command->add_option("--top", options->top, help_text("plan", "--top"))
                         ->check(CLI::Range(1, 100000))
                         ->needs(explain)
                         ->capture_default_str();
  command->add_option("--config", options->configs, help_text("plan", "--config"))
      ->type_name("LABEL[,LABEL...]")
      ->delimiter(',')
      ->needs(explain)
      ->excludes(space)
      ->excludes(top);
  CLI::Option* gpus = command->add_option("--gpus", options->gpus, help_text("plan", "--gpus"))
                          ->type_name("N")
                          ->check(CLI::Range(1, 100000))
                          ->excludes(axes)
                          ->excludes(explain);
  command->add_option("--budget", options->budget, help_text("plan", "--budget"))
      ->type_name("P%|Nconfigs|all")
      ->needs(gpus)
      ->default_str(default_configs(kDefaultSpace));
  CLI::Option* device =
      command->add_option("--device", options->device, help_text("plan", "--device"))
          ->type_name("NAME")
          ->capture_default_str();
  command->add_option("--db", options->db, help_text("plan", "--db"))
      ->type_name("FILE")
      ->needs(explain);
  add_allowed(*command, options->allowed);
  command->add_option("--format", options->format, help_text("plan", "--format"))
      ->type_name("FORMAT")
      ->capture_default_str();
  add_table_options(*command, options->tables);
  options->tables.only_tables = true;
  command->callback([&chosen, options, device, explain, gpus] {
    if (device->count() > 0 && explain->count() + gpus->count() == 0) {
      throw InputError("--device: it says what --explain or --gpus is about; give one of them");
    }
    chosen = [options] { return run_plan(*options); };
  });
}

}  // namespace hgemm::cli
