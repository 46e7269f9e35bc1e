#include "tune/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "space/label.h"
#include "space/space.h"
#include "tune/choice.h"
#include "tune/compile_ahead.h"
#include "tune/shape_race.h"
#include "tune/time_plan.h"

namespace hgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// Core seconds that NVRTC takes for a kernel, beside races: 844 took 14 processes 17.3, 21.7 and
/// 27.4 s (on three machines of 16 cores, 2026-11-22).
constexpr double kCompileS = 0.45;
/// Of the cores, while kernels are timed: one for the driver, one for the worker.
constexpr int kSpareCores = 2;
/// Of the time, for compiling in the order of the races.
constexpr double kCompilingShare = 0.6;
/// Of its time, that a race at full effort waits for the compiler to end.
constexpr double kPatience = 0.3;
/// Between two looks at what has been compiled.
constexpr std::chrono::milliseconds kLook{50};
/// Of the time left, kept back for what takes longer than was thought; and for the end.
constexpr double kReserve = 0.04;
constexpr std::chrono::milliseconds kEnd{300};

/// Shares out the time until the deadline: what a race may take is in proportion to what a brief
/// one of the same number of configs would.
class TimeShares {
 public:
  TimeShares(Clock::time_point deadline, int jobs) : end_(deadline - kEnd) {
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    jobs_ = jobs > 0 ? jobs : std::max(1, cores - kSpareCores);
  }
  Clock::time_point end() const { return end_; }
  int jobs() const { return jobs_; }  ///< that the compiler is thought to have

  double seconds_left() const {
    const std::chrono::duration<double> left = end_ - Clock::now();
    return (1 - kReserve) * left.count();
  }
  /// Of the race, if it shares what is left now with these others.
  double share_s(const Missing& race, std::span<const Missing> others) const {
    double sum = weight(race);
    for (const Missing& other : others) sum += weight(other);
    return seconds_left() * weight(race) / sum;
  }
  /// To compile so many kernels, if none is in the cache, leaves time to race what is compiled.
  bool can_compile(std::size_t kernels) const {
    return static_cast<double>(kernels) * kCompileS / jobs_ < kCompilingShare * seconds_left();
  }
  /// Races as planned would take what is left.
  bool is_tight(std::span<const Missing> races) const {
    double sum = 0;
    for (const Missing& race : races) {
      sum += duration_s(race.to_come(), {.effort = Effort::kBrief, .configs = race.configs.size()});
    }
    return sum >= seconds_left();
  }

  static double weight(const Missing& race) {
    constexpr std::size_t kTypicalConfigs = 40;
    return duration_s(race.to_come(), {.effort = Effort::kBrief, .configs = kTypicalConfigs});
  }

 private:
  Clock::time_point end_;
  int jobs_;
};

/// Why the config cannot compute the shape, or nullptr.
const char* why_not(const KernelConfig& config, const Shape& shape) {
  const Rule rule = why_invalid(config);
  return rule == Rule::kValid ? why_unsupported(config, shape) : rule_text(rule).reason;
}

/// What any race needs: race by race, or first what each likes best.
std::vector<KernelConfig> needed_builds(std::span<const Missing> races, bool race_by_race) {
  struct Need {
    std::size_t rank;
    const KernelConfig* config;
  };
  std::vector<Need> needs;
  for (const Missing& race : races) {
    for (std::size_t rank = 0; rank < race.configs.size(); ++rank) {
      if (!why_not(race.configs[rank], race.shape)) needs.push_back({rank, &race.configs[rank]});
    }
  }
  if (!race_by_race) std::ranges::stable_sort(needs, {}, &Need::rank);
  std::vector<KernelConfig> configs;
  std::set<std::string> known;
  for (const Need& need : needs) {
    if (known.insert(label(*need.config)).second) configs.push_back(*need.config);
  }
  return configs;
}

/// How many of the race's configs can be raced now; without a deadline all can, as they are.
std::size_t ready_configs(const Missing& race, const TuneContext& context) {
  return static_cast<std::size_t>(std::ranges::count_if(race.configs, [&](const auto& config) {
    return why_not(config, race.shape) || context.compiling->find(label(config));
  }));
}

/// Takes out the race that is next: the first whose kernels are all there. Waits for them, but not
/// so long that there is no time for the others: then the one that has the most. None: the time is
/// over.
std::optional<Missing> take_next(std::vector<Missing>& left, const TimeShares* shares,
                                 TuneContext& context) {
  for (;;) {
    context.poll();
    if (shares && shares->seconds_left() <= 0) return std::nullopt;
    auto next = std::ranges::find_if(left, [&](const Missing& race) {
      return ready_configs(race, context) == race.configs.size();
    });
    if (next == left.end() && shares && shares->is_tight(left)) {
      next = std::ranges::max_element(left, {}, [&](const Missing& race) {
        return static_cast<double>(ready_configs(race, context)) /
               static_cast<double>(race.configs.size());
      });
      if (ready_configs(*next, context) == 0) next = left.end();
    }
    if (next != left.end()) {
      Missing race = std::move(*next);
      left.erase(next);
      return race;
    }
    context.compiling->wait_for(left.front().configs, Clock::now() + kLook, [] {});
  }
}

/// What the race does with its time, with those of its kernels that are compiled. At full effort
/// nothing but the GPU works while there is timing: if the compiler does not end soon, it is brief.
Terms terms_within(double seconds, Missing& race, TuneContext& context) {
  const auto is_missing = [&](const KernelConfig& config) {
    return context.compiling->find(label(config)) == nullptr;
  };
  std::erase_if(race.configs, is_missing);
  const Clock::time_point begin = Clock::now();
  const auto seconds_left = [&] {
    return seconds - std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const Terms terms = terms_for(race.to_come(), seconds);
  if (terms.effort == Effort::kBrief || context.compiling->is_done()) return terms;
  const auto patience = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(kPatience * seconds));
  context.compiling->wait_for_all(begin + patience, [&] { context.poll(); });
  const Effort most = context.compiling->is_done() ? Effort::kFull : Effort::kBrief;
  return terms_for(race.to_come(), seconds_left(), 0, most);
}

void run_race(TuneContext& context, const Missing& missing, const Terms& terms,
              const Outlook& outlook, const Environment& environment, int index, int count) {
  ShapeRace race(context, missing.shape, missing.regime, terms, outlook);
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

/// Lets the context have this compiler for as long as it lives.
class CompilingNow {
 public:
  CompilingNow(TuneContext& context, CompileAhead& compiling) : context_(context) {
    context.compiling = &compiling;
  }
  CompilingNow(const CompilingNow&) = delete;
  CompilingNow& operator=(const CompilingNow&) = delete;
  ~CompilingNow() { context_.compiling = nullptr; }

 private:
  TuneContext& context_;
};

/// Where a stage's races stand among those of the whole tune.
struct Numbering {
  int before = 0;  ///< races of the stage before
  int after = 0;   ///< of the stage to come, as far as is known
  double before_s = 0;
  double after_s = 0;
};

double full_race_s(const Missing& race, std::size_t configs) {
  return duration_s(race.to_come(), {.effort = Effort::kFull, .configs = configs});
}
/// What the races should take, at full effort and compared with each other.
double seconds_of(std::span<const Missing> races) {
  double sum = 0;
  for (const Missing& race : races) sum += full_race_s(race, race.configs.size());
  return sum;
}

/// Compiles what these races need, together, and runs them. Adds to `outcome`, which outlives a
/// stop.
void run_stage(TuneContext& context, std::vector<Missing> all, const Numbering& numbering,
               const Environment& environment, const CompileAll& compile_all,
               TuneOutcome& outcome) {
  if (all.empty()) return;
  const TunePlan& plan = context.plan;

  CompileOptions options = plan.compile;
  std::optional<TimeShares> shares;
  if (plan.search && plan.search->deadline) {
    shares.emplace(*plan.search->deadline, options.jobs);
    options.spare_jobs = kSpareCores;
    // The first race waits for its kernels, the others' are compiled meanwhile; how many are in the
    // cache is not known yet.
    const double compile_s = kCompileS / shares->jobs() / static_cast<double>(all.size());
    const double unit_s =
        shares->share_s(all.front(), std::span(all).subspan(1)) / shares->weight(all.front());
    for (Missing& race : all) {
      const double seconds = unit_s * shares->weight(race);
      race.configs.resize(terms_for(race.to_come(), seconds, compile_s).configs);
    }
  }
  auto needed = needed_builds(all, true);
  if (shares && !shares->can_compile(needed.size())) needed = needed_builds(all, false);
  TuneListener::Compiling counts;
  CompileAhead compiling(compile_all, std::move(needed), options, [&](const Build& build) {
    context.store.record_build(build.facts);
    ++counts.done;
    if (build.status != Status::kOk) ++counts.failed;
    if (build.from_cache) ++counts.from_cache;
    context.listener.compiling(counts);
  });
  counts.total = static_cast<int>(compiling.total());
  const CompilingNow now(context, compiling);
  // Else nothing but the GPU works while there is timing.
  if (!shares) compiling.wait_for_all(Clock::time_point::max(), [&] { context.poll(); });
  if (context.run == 0) context.run = context.store.begin_run(environment, plan.command_line);

  const int count = numbering.before + static_cast<int>(all.size()) + numbering.after;
  Outlook outlook;
  outlook.before_s = numbering.before_s;
  outlook.all_s = numbering.before_s + seconds_of(all) + numbering.after_s;
  std::set<std::string> left_out;
  for (int index = numbering.before; !all.empty(); ++index) {
    std::optional<Missing> race = take_next(all, shares ? &*shares : nullptr, context);
    if (!race) {
      for (const Missing& late : all) outcome.late_shapes.push_back(to_string(late.shape));
      return;
    }
    outlook.before_s += std::exchange(outlook.own_s, seconds_of({&*race, 1}));
    const std::string shape = to_string(race->shape);
    const auto takes_no_time = [&] { outlook.all_s -= std::exchange(outlook.own_s, 0); };
    if (left_out.contains(shape)) {  // in another regime
      takes_no_time();
      continue;
    }
    Terms terms{.effort = Effort::kFull, .configs = race->configs.size()};
    if (shares) {
      terms = terms_within(shares->share_s(*race, all), *race, context);
      terms.until = shares->end();
      race->configs.resize(terms.configs);
    }
    try {
      outlook.parts = parts_of(race->to_come(), terms);
      run_race(context, *race, terms, outlook, environment, index, count);
    } catch (const DoesNotFit& unfit) {
      context.listener.warning(fmt::format("{} is skipped: {}", shape, unfit.reason));
      outcome.skipped_shapes.push_back(shape);
      left_out.insert(shape);
      takes_no_time();
    }
  }
}

void run(TuneContext& context, const CompileAll& compile_all, TuneOutcome& outcome) {
  const TunePlan& plan = context.plan;
  const Environment environment = context.measurer.environment();
  const bool has_second = plan.search && !plan.search->deadline && learns(plan.search->strategy);
  auto first = find_missing(plan, context.store, environment, SearchStage::kFirst);
  const auto races = static_cast<int>(first.size());
  const double first_s = seconds_of(first);
  Numbering numbering;
  if (has_second) {
    numbering.after = static_cast<int>(plan.shapes.size() * plan.regimes.size());
    for (const Missing& race : first) numbering.after_s += full_race_s(race, race.later);
    // Races whose first stage has ended before are thought to be like the others.
    numbering.after_s *= numbering.after / std::max<double>(races, 1);
  }
  run_stage(context, std::move(first), numbering, environment, compile_all, outcome);
  if (!has_second) return;
  // Nothing was compiled beside the first stage's races, since these are at full effort.
  run_stage(context, find_missing(plan, context.store, environment, SearchStage::kSecond),
            {.before = races, .before_s = first_s}, environment, compile_all, outcome);
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
