#include "tune/tune.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/error.h"
#include "space/label.h"
#include "tune/shape_race.h"

namespace hgemm {
namespace {

/// A shape and the configs that the store has no trial of.
struct Missing {
  Shape shape;
  std::vector<KernelConfig> configs;
};

std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment) {
  std::vector<Missing> all;
  for (const Shape& shape : plan.shapes) {
    std::set<std::string> known = store.finished(environment, shape, plan.regime);
    Missing missing{shape, {}};
    for (const KernelConfig& config : plan.configs) {
      if (config.dtype != shape.dtype) continue;
      if (known.insert(label(config)).second) missing.configs.push_back(config);
    }
    if (!missing.configs.empty()) all.push_back(std::move(missing));
  }
  return all;
}

/// Why the config cannot compute the shape, or nullptr.
const char* why_not(const KernelConfig& config, const Shape& shape) {
  const Rule rule = why_invalid(config);
  return rule == Rule::kValid ? why_unsupported(shape.m, shape.n, shape.k) : rule_text(rule).reason;
}

/// All builds that any shape needs, by label: compiled ahead, so that nothing but the GPU works
/// while there is timing.
std::map<std::string, Build> compile_missing(const std::vector<Missing>& all, TuneContext& context,
                                             const CompileAll& compile_all) {
  std::map<std::string, KernelConfig> needed;
  for (const Missing& missing : all) {
    for (const KernelConfig& config : missing.configs) {
      if (!why_not(config, missing.shape)) needed.emplace(label(config), config);
    }
  }
  std::vector<KernelConfig> configs;
  for (const auto& [name, config] : needed) configs.push_back(config);

  std::map<std::string, Build> builds;
  int failed = 0;
  const auto done = [&](Build build) {
    context.store.record_build(build.facts);
    if (build.status != Status::kOk) ++failed;
    builds.insert_or_assign(label(build.config), std::move(build));
    context.listener.compiling(static_cast<int>(builds.size()), static_cast<int>(configs.size()),
                               failed);
    context.poll_stop();
  };
  if (!configs.empty()) compile_all(configs, context.plan.compile, done);
  return builds;
}

/// Adds the shapes that do not fit to `skipped`, which outlives a stop.
void run(TuneContext& context, const CompileAll& compile_all, std::vector<std::string>& skipped) {
  const TunePlan& plan = context.plan;
  const Environment environment = context.measurer.environment();
  const auto all = find_missing(plan, context.store, environment);
  if (all.empty()) return;
  const auto builds = compile_missing(all, context, compile_all);
  context.run = context.store.begin_run(environment, plan.command_line);

  for (int index = 0; const Missing& missing : all) {
    context.poll_stop();
    ShapeRace race(context, missing.shape);
    for (const KernelConfig& config : missing.configs) {
      if (const char* reason = why_not(config, missing.shape)) {
        race.add_failed(label(config), Status::kInvalidConfig, reason);
      } else {
        race.add(builds.at(label(config)));
      }
    }
    context.listener.shape_started(missing.shape, index++, static_cast<int>(all.size()),
                                   race.configs_alive());
    try {
      race.open();
    } catch (const InputError& error) {
      context.listener.warning(
          fmt::format("{} is skipped: {}", to_string(missing.shape), error.what()));
      skipped.push_back(to_string(missing.shape));
      continue;
    }
    race.run();
    context.listener.shape_finished(missing.shape);
  }
}

}  // namespace

TuneOutcome tune(const TunePlan& plan, Measurer& measurer, Store& store,
                 const CompileAll& compile_all, TuneListener& listener,
                 const std::function<bool()>& stop) {
  TuneContext context{plan, measurer, store, listener, stop};
  TuneOutcome outcome;
  try {
    run(context, compile_all, outcome.skipped_shapes);
  } catch (const Stopped&) {
  }
  outcome.recorded = context.recorded;
  return outcome;
}

}  // namespace hgemm
