#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/resources.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/shapes.h"
#include "space/space.h"

namespace hgemm::cli {
namespace {

struct PlanOptions {
  std::string space = kDefaultSpace;
  std::string shapes;
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

int run_plan(const PlanOptions& options) {
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
  command->add_option("--space", options->space, help::kSpace)
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command->add_option("--shapes", options->shapes, help::kShapes)->type_name("FILE|MxNxK");
  command->add_option("--format", options->format, help::kPlanFormat)
      ->type_name("FORMAT")
      ->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_plan(*options); }; });
}

}  // namespace hgemm::cli
