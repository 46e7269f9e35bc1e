#include "tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "model/cost.h"
#include "space/label.h"
#include "space/space.h"
#include "tune/shape_race.h"

namespace hgemm {
namespace {

/// A race, and the configs that the store has no trial of.
struct Missing {
  Shape shape;
  Regime regime;
  std::vector<KernelConfig> configs;
};

/// The same for the same space and shape, whatever the seed of the data: a command that is run
/// again finds its trials.
std::vector<KernelConfig> searched(const std::vector<KernelConfig>& configs, const Shape& shape,
                                   const SearchPlan& search, const Environment& environment) {
  const CostFigures figures = cost_figures(search.devices, environment);
  std::vector<KernelConfig> able;
  std::vector<double> predicted_us;
  for (const KernelConfig& config : configs) {
    if (why_unsupported(config, shape)) continue;
    able.push_back(config);
    predicted_us.push_back(predict_cost(figures, config, shape).us());
  }
  const std::size_t budget = search.budget.of(able.size());
  Strategy strategy(able, predicted_us, {.kind = search.strategy, .budget = budget});
  std::vector<KernelConfig> chosen;
  for (const std::size_t index : strategy.next(budget)) chosen.push_back(able[index]);
  return chosen;
}

std::vector<KernelConfig> configs_for(const Shape& shape, const TunePlan& plan,
                                      const Environment& environment) {
  std::vector<KernelConfig> configs;
  for (const KernelConfig& config : plan.configs) {
    if (plan.only_suitable ? suits(config, shape) : is_made_for(config, shape)) {
      configs.push_back(config);
    }
  }
  return plan.search ? searched(configs, shape, *plan.search, environment) : configs;
}

std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment) {
  std::vector<Missing> all;
  for (const Regime regime : plan.regimes) {
    const bool with_energy = plan.energy && regime == Regime::kSustained;
    for (const Shape& shape : plan.shapes) {
      std::set<std::string> known = store.finished(environment, shape, regime, with_energy);
      Missing missing{shape, regime, {}};
      for (const KernelConfig& config : configs_for(shape, plan, environment)) {
        if (known.insert(label(config)).second) missing.configs.push_back(config);
      }
      if (!missing.configs.empty()) all.push_back(std::move(missing));
    }
  }
  return all;
}

/// Why the config cannot compute the shape, or nullptr.
const char* why_not(const KernelConfig& config, const Shape& shape) {
  const Rule rule = why_invalid(config);
  return rule == Rule::kValid ? why_unsupported(config, shape) : rule_text(rule).reason;
}

/// All builds that any race needs, by label: compiled ahead, so that nothing but the GPU works
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

  for (int index = -1; const Missing& missing : all) {
    ++index;
    context.poll_stop();
    const std::string shape = to_string(missing.shape);
    if (std::ranges::find(skipped, shape) != skipped.end()) continue;  // in another regime
    ShapeRace race(context, missing.shape, missing.regime);
    const auto fatal = context.store.fatal_attempts(environment, missing.shape);
    for (const KernelConfig& config : missing.configs) {
      const std::string name = label(config);
      if (const char* reason = why_not(config, missing.shape)) {
        race.add_failed(name, Status::kInvalidConfig, reason);
      } else if (fatal.contains(name)) {
        race.add_failed(name, Status::kCrashed,
                        "the machine went down when this config was first run at this shape; it is "
                        "not tried again");
      } else {
        race.add(builds.at(name));
      }
    }
    context.listener.shape_started(missing.shape, missing.regime, index,
                                   static_cast<int>(all.size()), race.configs_alive());
    try {
      race.open();
      race.run();
    } catch (const DoesNotFit& unfit) {
      context.listener.warning(fmt::format("{} is skipped: {}", shape, unfit.reason));
      skipped.push_back(shape);
      continue;
    }
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
