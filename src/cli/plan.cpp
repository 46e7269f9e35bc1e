#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/resources.h"
#include "cli/commands.h"
#include "cli/configs.h"
#include "cli/database.h"
#include "cli/devices.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "emit/cost.h"
#include "model/calibration.h"
#include "space/label.h"
#include "space/space.h"
#include "store/store.h"

namespace hgemm::cli {
namespace {

struct PlanOptions {
  std::string space = kDefaultSpace;
  std::string shapes;
  bool explain = false;
  int top = 5;
  std::vector<std::string> configs;
  std::string device = "H200";
  std::string db;  ///< whose microbenchmarks calibrate; empty: none
  std::string format = "table";
};

/// What a space would mean for a shape.
struct ShapePlan {
  Shape shape;
  std::int64_t configs = 0;  ///< valid points that suit the shape
  std::string unsupported;   ///< why the kernel cannot compute the shape; empty if it can
};

std::vector<ShapePlan> plan_shapes(std::span<const Shape> shapes, const Enumeration& points) {
  std::vector<ShapePlan> plans;
  for (const Shape& shape : shapes) {
    const char* reason = why_unsupported(shape);
    const auto configs = std::ranges::count_if(
        points.valid, [&](const KernelConfig& config) { return suits(config, shape); });
    plans.push_back({shape, reason ? 0 : configs, reason ? reason : ""});
  }
  return plans;
}

bool makes_for_each_shape(const Space& space) {
  return std::ranges::any_of(space.grids, [](const Grid& grid) {
    return std::ranges::find(grid.fixed, 1) != grid.fixed.end();
  });
}

void print_table(const Space& space, const Enumeration& points, std::span<const ShapePlan> plans) {
  std::vector<std::pair<Rule, std::int64_t>> rejected(points.rejected.begin(),
                                                      points.rejected.end());
  std::ranges::sort(rejected, std::ranges::greater{}, &std::pair<Rule, std::int64_t>::second);
  std::int64_t rejections = 0;
  for (const auto& [rule, count] : rejected) rejections += count;

  fmt::print("space {}: {} valid points, {} rejected\n", space.name, points.valid.size(),
             rejections);
  if (!rejected.empty()) fmt::print("\n{:>9}  {:<18} {}\n", "rejected", "by rule", "because");
  for (const auto& [rule, count] : rejected) {
    fmt::print("{:>9}  {:<18} {}\n", count, rule_text(rule).name, rule_text(rule).reason);
  }
  if (plans.empty() && makes_for_each_shape(space)) {
    fmt::print(
        "\nNot counted: what is made for each shape (fixed: 1), of which there is one for each of "
        "--shapes\n");
  }
  fmt::print("\n{:<12} values among the valid points\n", "axis");
  for (const auto& [axis, values] : axis_values(points.valid)) {
    fmt::print("{:<12} {}\n", axis, fmt::join(values, " "));
  }
  if (plans.empty()) return;
  std::int64_t trials = 0;
  fmt::print("\n{:<24} {:>8}\n", "shape", "trials");
  for (const ShapePlan& plan : plans) {
    trials += plan.configs;
    fmt::print("{:<24} {:>8}  {}\n", to_string(plan.shape), plan.configs,
               plan.unsupported.empty() ? plan.shape.tag : "invalid_config: " + plan.unsupported);
  }
  fmt::print("{:<24} {:>8}\n", "together", trials);
}

void print_json(const Space& space, const Enumeration& points, std::span<const ShapePlan> plans) {
  nlohmann::json json{{"space", space.name},
                      {"valid", points.valid.size()},
                      {"rejected", nlohmann::json::object()},
                      {"axes", axis_values(points.valid)}};
  for (const auto& [rule, count] : points.rejected) json["rejected"][rule_text(rule).name] = count;
  for (const ShapePlan& plan : plans) {
    nlohmann::json entry{{"shape", to_string(plan.shape)}, {"trials", plan.configs}};
    if (!plan.unsupported.empty()) entry["unsupported"] = plan.unsupported;
    json["shapes"].push_back(std::move(entry));
  }
  fmt::print("{}\n", json.dump(2));
}

/// The configs that the cost model likes best at each shape, or those that were asked for.
std::vector<PredictedConfig> explained(const PlanOptions& options, std::span<const Shape> shapes,
                                       const CostFigures& figures) {
  std::vector<KernelConfig> configs;
  for (const std::string& text : options.configs) configs.push_back(chosen_config(text));
  const bool all = configs.empty();
  if (all) {
    const Space space = load_space(options.space, (resource_dir() / "configs").string());
    configs = enumerate(space, shapes).valid;
  }
  std::vector<PredictedConfig> predictions;
  for (const Shape& shape : shapes) {
    std::vector<PredictedConfig> of_shape;
    for (const KernelConfig& config : configs) {
      const char* const reason = is_made_for(config, shape)
                                     ? why_unsupported(config, shape)
                                     : "it is made for another type or problem";
      if (reason && !all) {
        throw InputError(
            fmt::format("--config {} at {}: {}", label(config), to_string(shape), reason));
      }
      if (reason || (all && !suits(config, shape))) continue;
      of_shape.push_back({shape, label(config), predict_cost(figures, config, shape)});
    }
    if (of_shape.empty()) {
      throw InputError(fmt::format(
          "shape {}: no configuration of the space suits it; choose another --space, or name one "
          "with --config",
          to_string(shape)));
    }
    std::ranges::stable_sort(of_shape, {}, [](const auto& one) { return one.cost.us(); });
    if (all) of_shape.resize(std::min(of_shape.size(), static_cast<std::size_t>(options.top)));
    std::ranges::move(of_shape, std::back_inserter(predictions));
  }
  return predictions;
}

void calibrate_by(const PlanOptions& options, const Device& device, CostFigures& figures) {
  require_database(options.db);
  const auto studies = Store::open(options.db, Store::Mode::kReadOnly).studies(StudyKind::kMicro);
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
  fmt::print(stderr, "{} figures of the model are by what micro measured ({})\n", replaced,
             options.db);
}

int run_explain(const PlanOptions& options) {
  const Format format = parse_format(options.format);
  if (options.shapes.empty()) {
    throw InputError("--explain: which shapes? Give --shapes, e.g. --shapes 4096x4096x4096");
  }
  const auto devices = choose_devices(known_devices(), options.device);
  if (devices.size() != 1) throw InputError("--device: choose one device to explain for");
  CostFigures figures = cost_figures(devices.front());
  if (!options.db.empty()) calibrate_by(options, devices.front(), figures);
  const auto predictions = explained(options, chosen_shapes(options.shapes), figures);
  fmt::print("{}", format_costs(predictions, format));
  return 0;
}

int run_plan(const PlanOptions& options) {
  if (options.explain) return run_explain(options);
  if (options.format != "table" && options.format != "json") {
    throw InputError(fmt::format("--format {}: plan knows table and json", options.format));
  }
  const Space space = load_space(options.space, (resource_dir() / "configs").string());
  std::vector<Shape> shapes;
  if (!options.shapes.empty()) shapes = chosen_shapes(options.shapes);
  const Enumeration points = enumerate(space, shapes);
  const auto plans = plan_shapes(shapes, points);
  (options.format == "json" ? print_json : print_table)(space, points, plans);
  return 0;
}

}  // namespace

void add_plan(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<PlanOptions>();
  CLI::App* command = program.add_subcommand("plan", help::kPlan)->footer(help::kPlanExamples);
  CLI::Option* space = command->add_option("--space", options->space, help::kSpace)
                           ->type_name("NAME|FILE")
                           ->capture_default_str();
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  CLI::Option* explain = command->add_flag("--explain", options->explain, help::kExplain);
  CLI::Option* top = command->add_option("--top", options->top, help::kExplainTop)
                         ->check(CLI::Range(1, 100000))
                         ->needs(explain)
                         ->capture_default_str();
  command->add_option("--config", options->configs, help::kExplainConfig)
      ->type_name("LABEL[,LABEL...]")
      ->delimiter(',')
      ->needs(explain)
      ->excludes(space)
      ->excludes(top);
  command->add_option("--device", options->device, help::kExplainDevice)
      ->type_name("NAME")
      ->needs(explain)
      ->capture_default_str();
  command->add_option("--db", options->db, help::kExplainDb)->type_name("FILE")->needs(explain);
  command->add_option("--format", options->format, help::kPlanFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_plan(*options); }; });
}

}  // namespace hgemm::cli
