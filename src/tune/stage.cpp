#include "tune/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "families/family.h"
#include "gemm/codec.h"
#include "tune/problem_race.h"
#include "tune/race_queue.h"
#include "tune/time_shares.h"

namespace hgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// To run at full effort, a race waits at most this fraction of its time for the compiler to end.
constexpr double kPatience = 0.3;
/// Time between two checks for finished builds and races.
constexpr std::chrono::milliseconds kLook{50};

/// Makes `compiling` available to the races during the lifetime of this object.
class CompilingNow {
 public:
  CompilingNow(Monitor<SharedTune>& shared, CompileAhead& compiling) : shared_(shared) {
    shared_.use([&](SharedTune& tune) { tune.compiling = &compiling; });
  }
  CompilingNow(const CompilingNow&) = delete;
  CompilingNow& operator=(const CompilingNow&) = delete;
  ~CompilingNow() {
    shared_.use([](SharedTune& tune) { tune.compiling = nullptr; });
  }

 private:
  Monitor<SharedTune>& shared_;
};

/// Waits until all kernels are compiled, or until the time. Polls at each news and about ten times
/// a second. Returns whether all are compiled.
bool wait_for_all(Monitor<SharedTune>& shared, Clock::time_point until) {
  for (;;) {
    CompileAhead* compiling = nullptr;
    const bool is_done = shared.use([&](SharedTune& tune) {
      tune.poll();
      compiling = tune.compiling;
      return compiling->is_done();
    });
    if (is_done || Clock::now() >= until) return is_done;
    compiling->wait_for_news(std::min(until, Clock::now() + std::chrono::milliseconds(100)));
  }
}

/// Number of the race's configs that are in the first share of its kernels. Rounded up, the kernels
/// of many races with few configs would be too many for the time.
double first_part(const Missing& race, double share) {
  return std::max(1.0, std::floor(share * static_cast<double>(race.configs.size())));
}

/// A stage's races, which all GPUs run together. Members are used inside Monitor::use() only,
/// except those that do not change.
struct StageRaces {
  RaceQueue queue;
  const TimeShares* shares;  ///< nullptr: there is no deadline
  const CompileAhead& compiling;
  double compilable;                    ///< share of each race's kernels that is compiled first
  int index, count;                     ///< of the next race, and of all
  std::set<int> alive;                  ///< GPUs that run races
  std::set<std::string> left_out = {};  ///< problems that do not fit in memory

  bool can_be_raced(const KernelConfig& config, const GemmProblem& problem) const {
    return why_not(config, problem) || compiling.find(kernel_for(config, problem));
  }
  /// The fraction of the race's configs that can be raced now; always 1 without a deadline. If the
  /// compiler will not come to all kernels, those count that it compiles first: the others would be
  /// waited for in vain.
  double ready_fraction(const Missing& race) const {
    const auto ready = std::ranges::count_if(
        race.configs, [&](const auto& config) { return can_be_raced(config, race.problem); });
    const bool in_time = !shares || compiling.will_be_done_by(shares->last_kernel());
    return std::min(1.0, static_cast<double>(ready) / first_part(race, in_time ? 1 : compilable));
  }
};

/// Runs races of a stage on one GPU, one after another.
class GpuRaces {
 public:
  GpuRaces(GpuContext& context, StageRaces& stage) : context_(context), stage_(stage) {}

  /// Returns when no race is left for this GPU, or the time is over.
  void run() {
    while (std::optional<Missing> race = take()) {
      try {
        run(*race);
      } catch (const GpuLost& loss) {
        give_up(*race, loss.what(), ++given_up_in_a_row_ < kMostInARow);
        continue;
      } catch (const NoDevice& loss) {
        give_up(*race, loss.what(), false);
        continue;
      }
      given_up_in_a_row_ = 0;
    }
  }

 private:
  /// A GPU that gave up so many races in a row is at fault, rather than the races.
  static constexpr int kMostInARow = 2;

  std::optional<Missing> take();
  Terms terms_within(double seconds, Missing& race);
  void leave_out_measured(Missing& race) const;
  void run(Missing race);
  void begin(ProblemRace& running, const Missing& race);
  void fill(SharedTune& tune, Roster& roster, const Missing& race) const;
  void skip(SharedTune& tune);
  void give_up(const Missing& race, const std::string& reason, bool goes_on);

  GpuContext& context_;
  StageRaces& stage_;
  int given_up_in_a_row_ = 0;
};

/// The next race for this GPU. If its kernels are being compiled, or if other GPUs still run races
/// that they may have to give up, it waits. None: no race is left, or the time is over.
std::optional<Missing> GpuRaces::take() {
  for (;;) {
    bool is_over = false;
    CompileAhead* compiling = nullptr;
    std::optional<Missing> race = context_.shared.use([&](SharedTune& tune) {
      tune.poll();
      compiling = tune.compiling;
      const TimeShares* shares = stage_.shares;
      is_over = stage_.queue.is_over() || !stage_.alive.contains(context_.gpu) ||
                (shares && shares->seconds_left() <= 0);
      if (is_over) return std::optional<Missing>();
      const auto ready = [&](const Missing& one) { return stage_.ready_fraction(one); };
      const double enough =
          shares ? shares->enough_ready(stage_.queue.waiting(), stage_.queue.busy_s(context_.gpu))
                 : 1;
      return stage_.queue.take(context_.gpu, ready, enough);
    });
    if (race || is_over) return race;
    compiling->wait_for_news(Clock::now() + kLook);
  }
}

/// Decides how a race uses its time, with those of its kernels that are compiled. At full effort
/// nothing but the GPUs may work during timing; if the compiler does not end soon, the race is
/// brief.
Terms GpuRaces::terms_within(double seconds, Missing& race) {
  const bool is_compiled = context_.shared.use([&](SharedTune&) {
    std::erase_if(race.configs, [&](const KernelConfig& config) {
      return !stage_.compiling.find(kernel_for(config, race.problem));
    });
    return stage_.compiling.is_done();
  });
  const Clock::time_point begin = Clock::now();
  const Terms terms = terms_for(race.to_come(), seconds);
  if (terms.effort == Effort::kBrief || is_compiled) return terms;
  const auto patience = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(kPatience * seconds));
  const Effort most =
      wait_for_all(context_.shared, begin + patience) ? Effort::kFull : Effort::kBrief;
  const std::chrono::duration<double> waited = Clock::now() - begin;
  return terms_for(race.to_come(), seconds - waited.count(), 0, most);
}

/// Removes configs whose compiled kernel has results already: an edit of the source may have left
/// the code unchanged, and another GPU may have begun the race.
void GpuRaces::leave_out_measured(Missing& race) const {
  if (race.is_rematch) return;
  context_.shared.use([&](SharedTune& tune) {
    const auto finished = tune.store.finished(context_.machine.environment, race.problem,
                                              race.regime, wanted(context_.plan, race.regime));
    const auto is_finished = [&](const KernelConfig& config) {
      return finished.contains({label(config), tune.kernels.identity(config, race.problem)});
    };
    const auto first_new = race.configs.begin() + static_cast<std::ptrdiff_t>(race.again);
    race.configs.erase(std::remove_if(first_new, race.configs.end(), is_finished),
                       race.configs.end());
    const bool has_new = race.configs.size() > race.again;
    if (!has_new && race.weighed == Weighed::kNothing) race.configs.clear();
  });
}

/// The race ends without a measurement.
void GpuRaces::skip(SharedTune& tune) {
  tune.advance.takes_no_time(context_.gpu);
  stage_.queue.ended(context_.gpu);
  ++stage_.index;
}

void GpuRaces::run(Missing race) {
  const std::string problem = to_string(race.problem);
  leave_out_measured(race);
  std::optional<double> seconds;
  const bool is_left_out = context_.shared.use([&](SharedTune& tune) {
    tune.advance.begin(context_.gpu, seconds_of({&race, 1}));
    const bool cannot_weigh =
        race.is_rematch && race.weighed != Weighed::kNothing && !context_.has_energy_counter;
    if (stage_.left_out.contains(problem) || race.configs.empty() || cannot_weigh) {
      skip(tune);
      return true;
    }
    if (stage_.shares) {
      const RaceQueue& queue = stage_.queue;
      seconds = stage_.shares->share_s(race, queue.waiting(), queue.busy_s(context_.gpu));
      stage_.queue.expect_end(context_.gpu,
                              Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                 std::chrono::duration<double>(*seconds)));
    }
    return false;
  });
  if (is_left_out) return;
  Terms terms{.effort = Effort::kFull, .configs = race.configs.size()};
  if (seconds) {
    terms = terms_within(*seconds, race);
    if (race.only_full && terms.effort == Effort::kBrief) {
      return context_.shared.use([&](SharedTune& tune) { skip(tune); });
    }
    terms.until = stage_.shares->end();
    race.configs.resize(terms.configs);
  }
  try {
    ProblemRace running(context_, race.to_come(), terms);
    begin(running, race);
    running.open();
    running.run();
    context_.shared.use([&](SharedTune& tune) {
      tune.advance.end(context_.gpu);
      stage_.queue.ended(context_.gpu);
      if (context_.plan.race_ended) context_.plan.race_ended(race.problem, race.regime);
      tune.listener.race_finished(context_.gpu, race.problem);
    });
  } catch (const DoesNotFit& unfit) {
    context_.shared.use([&](SharedTune& tune) {
      tune.listener.warning(fmt::format("{} is skipped: {}", problem, unfit.reason));
      tune.outcome.skipped_problems.push_back(problem);
      stage_.left_out.insert(problem);
      tune.advance.takes_no_time(context_.gpu);
      stage_.queue.ended(context_.gpu);
    });
  }
}

/// Fills the race and announces it.
void GpuRaces::begin(ProblemRace& running, const Missing& race) {
  context_.shared.use([&](SharedTune& tune) {
    if (context_.run == 0) {
      context_.run = tune.store.begin_run(context_.machine, context_.plan.command_line);
    }
    fill(tune, running.roster(), race);
    if (context_.plan.race_begins) context_.plan.race_begins(race.problem, race.regime);
    tune.listener.race_started(context_.gpu, race.problem, race.regime, stage_.index++,
                               stage_.count, running.roster().configs_alive());
  });
}

void GpuRaces::fill(SharedTune& tune, Roster& roster, const Missing& race) const {
  const auto fatal = tune.store.fatal_attempts(context_.machine.environment, race.problem);
  for (const KernelConfig& config : race.configs) {
    const TrialKernel trial{label(config), tune.kernels.identity(config, race.problem)};
    if (const char* reason = why_not(config, race.problem)) {
      roster.add_failed(trial.label, trial.kernel_id, Status::kInvalidConfig, reason);
    } else if (fatal.contains(trial)) {
      roster.add_failed(trial.label, trial.kernel_id, Status::kCrashed,
                        "the machine went down when this kernel first ran at this problem; it is "
                        "not tried again");
    } else {
      roster.add(*stage_.compiling.find(kernel_for(config, race.problem)));
    }
  }
}

/// Hands the race to another GPU. Throws GpuLost if this was the last one.
void GpuRaces::give_up(const Missing& race, const std::string& reason, bool goes_on) {
  context_.shared.use([&](SharedTune& tune) {
    if (!goes_on || stage_.alive.size() == 1) stage_.alive.erase(context_.gpu);
    if (stage_.alive.empty()) throw GpuLost(reason);
    tune.advance.take_back(context_.gpu);
    const std::string problem = to_string(race.problem);
    std::vector<Missing> set_aside = stage_.queue.take_impossible(stage_.alive);
    const auto own = stage_.queue.gave_up(context_.gpu, stage_.alive);
    if (own) set_aside.push_back(*own);
    if (!own) --stage_.index;  // it will begin once more
    tune.listener.warning(fmt::format(
        "GPU {} ({}) gave up {}{}{}: {}", context_.gpu, context_.machine.run.gpu_uuid, problem,
        own ? "" : ", which another GPU will race",
        stage_.alive.contains(context_.gpu) ? "" : "; it is left out from now on", reason));
    for (const Missing& one : set_aside) {
      if (one.is_rematch) continue;
      tune.outcome.set_aside_problems.push_back(to_string(one.problem));
    }
  });
}

}  // namespace

std::vector<Kernel> needed_kernels(std::span<const Missing> races, double share) {
  struct Need {
    std::size_t rank;  ///< 0: of its race's share
    Kernel kernel;
  };
  std::vector<Need> needs;
  for (const Missing& race : races) {
    const double likeliest = first_part(race, share);
    for (std::size_t i = 0; i < race.configs.size(); ++i) {
      const KernelConfig& config = race.configs[i];
      if (why_not(config, race.problem)) continue;
      const bool is_first = static_cast<double>(i) < likeliest;
      needs.push_back({is_first ? 0 : i, kernel_for(config, race.problem)});
    }
  }
  std::ranges::stable_sort(needs, {}, &Need::rank);
  std::vector<Kernel> kernels;
  std::set<std::string> known;
  for (const Need& need : needs) {
    if (known.insert(build_name(need.kernel)).second) kernels.push_back(need.kernel);
  }
  return kernels;
}

double full_race_s(const Missing& race, std::size_t configs) {
  return duration_s(race.to_come(), {.effort = Effort::kFull, .configs = configs});
}

double seconds_of(std::span<const Missing> races) {
  double sum = 0;
  for (const Missing& race : races) sum += full_race_s(race, race.configs.size());
  return sum;
}

void run_stage(Gpus& gpus, std::vector<Missing> races, const Numbering& numbering,
               const Compiler& compiler, std::optional<Clock::time_point> deadline) {
  if (races.empty()) return;
  const TunePlan& plan = gpus.plan;
  Monitor<SharedTune>& shared = gpus.shared;
  CompileOptions options = plan.compile;
  std::optional<TimeShares> shares;
  if (deadline) {
    shares.emplace(*deadline, options.jobs, gpus.contexts.size());
    options.spare_jobs = spare_cores(gpus.contexts.size());
    shares->fit(races);
  }
  RaceQueue queue(std::move(races), gpus.contexts.size());
  std::vector<Kernel> needed = needed_kernels(queue.waiting());
  const double compilable = shares ? shares->compilable(needed.size()) : 1;
  if (compilable < 1) needed = needed_kernels(queue.waiting(), compilable);
  const auto count = static_cast<int>(queue.waiting().size());
  const double all_s = seconds_of(queue.waiting());

  shared.use([&](SharedTune& tune) { tune.compiled = {.total = static_cast<int>(needed.size())}; });
  CompileAhead compiling(compiler, std::move(needed), options);
  const CompilingNow now(shared, compiling);
  // At full effort nothing but the GPUs may work during timing.
  if (!shares) wait_for_all(shared, Clock::time_point::max());
  StageRaces stage{.queue = std::move(queue),
                   .shares = shares ? &*shares : nullptr,
                   .compiling = compiling,
                   .compilable = compilable,
                   .index = numbering.before,
                   .count = numbering.before + count + numbering.after,
                   .alive = {}};
  for (const GpuContext& gpu : gpus.contexts) {
    if (!gpus.lost.contains(gpu.gpu)) stage.alive.insert(gpu.gpu);
  }
  // A race that only a lost GPU could confirm would be waited for without end.
  stage.queue.take_impossible(stage.alive);
  shared.use([&](SharedTune& tune) {
    tune.advance = Advance(numbering.before_s, numbering.before_s + all_s + numbering.after_s);
  });
  gpus.threads.run([&](std::size_t gpu) { GpuRaces(gpus.contexts[gpu], stage).run(); },
                   [&] { shared.use([](SharedTune& tune) { tune.ending = true; }); });
  for (const GpuContext& gpu : gpus.contexts) {
    if (!stage.alive.contains(gpu.gpu)) gpus.lost.insert(gpu.gpu);
  }
  shared.use([&](SharedTune& tune) {
    for (const Missing& late : stage.queue.waiting()) {
      if (late.has_winner() || late.only_full) continue;
      tune.outcome.late_problems.push_back(to_string(late.problem));
    }
  });
}

}  // namespace hgemm
