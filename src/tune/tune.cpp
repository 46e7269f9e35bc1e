#include "tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "model/cost.h"
#include "space/label.h"
#include "space/space.h"
#include "tune/compile_ahead.h"
#include "tune/shape_race.h"
#include "tune/time_plan.h"

namespace hgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// Core seconds that NVRTC takes for a kernel (568 in 10.7 s on 16 cores: results/h200/search.db).
constexpr double kCompileS = 0.3;
/// Of the cores, while kernels are timed: one for the driver, one for the worker.
constexpr int kSpareCores = 2;
/// Of its time a race waits at most so much for its kernels.
constexpr double kWaitingShare = 0.35;
/// Of the time left, kept back for what takes longer than was thought, and for the end.
constexpr double kReserve = 0.04;

double seconds_until(Clock::time_point then) {
  return std::chrono::duration<double>(then - Clock::now()).count();
}

/// A race, and the configs that the store has no trial of, those to be raced first in front.
struct Missing {
  Shape shape;
  Regime regime;
  std::vector<KernelConfig> configs;
  std::size_t space = 0;  ///< configs that could be raced, measured or not
  double launch_us = 0;   ///< the least that was predicted, if anything was

  RaceToCome to_come() const { return {shape, regime, launch_us, configs.size(), space}; }
};

/// The configs that a search takes, in its order, which is the same for the same space and shape,
/// whatever the seed of the data: a command that is run again finds its trials.
struct Searched {
  std::vector<KernelConfig> configs;
  std::size_t space = 0;
  double launch_us = 0;
};
Searched searched(const std::vector<KernelConfig>& configs, const Shape& shape,
                  const SearchPlan& search, const Environment& environment) {
  const CostFigures figures = cost_figures(search.devices, environment);
  std::vector<KernelConfig> able;
  std::vector<double> predicted_us;
  for (const KernelConfig& config : configs) {
    if (why_unsupported(config, shape)) continue;
    able.push_back(config);
    predicted_us.push_back(predict_cost(figures, config, shape).us());
  }
  if (able.empty()) return {};
  const std::size_t budget = search.deadline ? able.size() : search.budget.of(able.size());
  Strategy strategy(able, predicted_us, {.kind = search.strategy, .budget = budget});
  Searched found{{}, able.size(), std::ranges::min(predicted_us)};
  for (const std::size_t index : strategy.next(budget)) found.configs.push_back(able[index]);
  return found;
}

Searched configs_for(const Shape& shape, const TunePlan& plan, const Environment& environment) {
  std::vector<KernelConfig> configs;
  for (const KernelConfig& config : plan.configs) {
    if (plan.only_suitable ? suits(config, shape) : is_made_for(config, shape)) {
      configs.push_back(config);
    }
  }
  if (plan.search) return searched(configs, shape, *plan.search, environment);
  return {configs, configs.size(), 0};
}

std::vector<Missing> find_missing(const TunePlan& plan, const Store& store,
                                  const Environment& environment) {
  std::vector<Missing> all;
  for (const Regime regime : plan.regimes) {
    const bool with_energy = plan.energy && regime == Regime::kSustained;
    for (const Shape& shape : plan.shapes) {
      std::set<std::string> known = store.finished(environment, shape, regime, with_energy);
      const Searched searched = configs_for(shape, plan, environment);
      Missing missing{shape, regime, {}, searched.space, searched.launch_us};
      for (const KernelConfig& config : searched.configs) {
        if (known.insert(label(config)).second) missing.configs.push_back(config);
      }
      if (!missing.configs.empty()) all.push_back(std::move(missing));
    }
  }
  return all;
}

/// Shares out the time until the deadline: what a race may take is in proportion to what a brief
/// one of the same number of configs would.
class TimeShares {
 public:
  TimeShares(Clock::time_point deadline, int jobs) : deadline_(deadline) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    jobs_ = jobs > 0 ? jobs : std::max(1, cores - kSpareCores);
  }
  int jobs() const { return jobs_; }  ///< for the compiler

  /// Of one of `races`, in seconds, if they share what is left now.
  double share_s(const Missing& race, std::span<const Missing> races) const {
    double sum = 0;
    for (const Missing& other : races) sum += weight(other);
    return (1 - kReserve) * seconds_until(deadline_) * weight(race) / sum;
  }
  Terms terms(const Missing& race, double seconds) const {
    return terms_for(race.to_come(), seconds, kCompileS / jobs_);
  }

 private:
  static double weight(const Missing& race) {
    constexpr std::size_t kTypicalConfigs = 40;
    return duration_s(race.to_come(), {Effort::kBrief, kTypicalConfigs});
  }

  Clock::time_point deadline_;
  int jobs_;
};

/// Why the config cannot compute the shape, or nullptr.
const char* why_not(const KernelConfig& config, const Shape& shape) {
  const Rule rule = why_invalid(config);
  return rule == Rule::kValid ? why_unsupported(config, shape) : rule_text(rule).reason;
}

/// What any race needs, in the order of the races.
std::vector<KernelConfig> needed_builds(std::span<const Missing> races) {
  std::vector<KernelConfig> configs;
  std::set<std::string> known;
  for (const Missing& race : races) {
    for (const KernelConfig& config : race.configs) {
      if (why_not(config, race.shape)) continue;
      if (known.insert(label(config)).second) configs.push_back(config);
    }
  }
  return configs;
}

/// Waits for the race's kernels, but not for long, and leaves out what is still not compiled, and
/// what there is no time for.
Effort gather(Missing& race, double share_s, const TimeShares& shares, TuneContext& context) {
  const auto in = [begin = Clock::now()](double seconds) {
    return begin +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  };
  context.compiling->wait_for(race.configs, in(kWaitingShare * share_s), [&] { context.poll(); });
  std::erase_if(race.configs, [&](const KernelConfig& config) {
    return context.compiling->find(label(config)) == nullptr;
  });
  const Terms terms = shares.terms(race, seconds_until(in(share_s)));
  race.configs.resize(terms.configs);
  return terms.effort;
}

void run_race(TuneContext& context, const Missing& missing, Effort effort,
              const Environment& environment, int index, int count) {
  ShapeRace race(context, missing.shape, missing.regime, effort);
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
      race.add(*context.compiling->find(name));
    }
  }
  context.listener.shape_started(missing.shape, missing.regime, index, count, race.configs_alive());
  race.open();
  race.run();
  context.listener.shape_finished(missing.shape);
}

/// Adds to `outcome`, which outlives a stop.
void run(TuneContext& context, const CompileAll& compile_all, TuneOutcome& outcome) {
  const TunePlan& plan = context.plan;
  const Environment environment = context.measurer.environment();
  auto all = find_missing(plan, context.store, environment);
  if (all.empty()) return;

  CompileOptions options = plan.compile;
  std::optional<TimeShares> shares;
  if (plan.search && plan.search->deadline) {
    shares.emplace(*plan.search->deadline, options.jobs);
    options.jobs = shares->jobs();
    for (Missing& race : all) {
      race.configs.resize(shares->terms(race, shares->share_s(race, all)).configs);
    }
  }
  TuneListener::Compiling counts;
  CompileAhead compiling(compile_all, needed_builds(all), options, [&](const Build& build) {
    context.store.record_build(build.facts);
    ++counts.done;
    if (build.status != Status::kOk) ++counts.failed;
    if (build.from_cache) ++counts.from_cache;
    context.listener.compiling(counts);
  });
  counts.total = static_cast<int>(compiling.total());
  context.compiling = &compiling;
  // Else nothing but the GPU works while there is timing.
  if (!shares) compiling.wait_for_all([&] { context.poll(); });
  context.run = context.store.begin_run(environment, plan.command_line);

  std::set<std::string> left_out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Missing& missing = all[i];
    context.poll();
    const std::string shape = to_string(missing.shape);
    if (left_out.contains(shape)) continue;  // in another regime
    Effort effort = Effort::kFull;
    if (shares) {
      const double share_s = shares->share_s(missing, std::span(all).subspan(i));
      if (share_s > 0) effort = gather(missing, share_s, *shares, context);
      if (share_s <= 0 || missing.configs.empty()) {
        outcome.late_shapes.push_back(shape);
        continue;
      }
    }
    try {
      run_race(context, missing, effort, environment, static_cast<int>(i),
               static_cast<int>(all.size()));
    } catch (const DoesNotFit& unfit) {
      context.listener.warning(fmt::format("{} is skipped: {}", shape, unfit.reason));
      outcome.skipped_shapes.push_back(shape);
      left_out.insert(shape);
    }
  }
}

}  // namespace

void TuneContext::poll() const {
  poll_stop(stop);
  if (compiling) compiling->take();
}

TuneOutcome tune(const TunePlan& plan, Measurer& measurer, Store& store,
                 const CompileAll& compile_all, TuneListener& listener,
                 const std::function<bool()>& stop) {
  TuneContext context{
      .plan = plan, .measurer = measurer, .store = store, .listener = listener, .stop = stop};
  TuneOutcome outcome;
  try {
    run(context, compile_all, outcome);
  } catch (const Stopped&) {
  }
  outcome.recorded = context.recorded;
  return outcome;
}

}  // namespace hgemm
