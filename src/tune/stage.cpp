#include "tune/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "families/family.h"
#include "gemm/codec.h"
#include "tune/problem_race.h"
#include "tune/time_shares.h"

namespace hgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// To run at full effort, a race waits at most this fraction of its time for the compiler to end.
constexpr double kPatience = 0.3;
/// Time between two checks for finished builds.
constexpr std::chrono::milliseconds kLook{50};

/// Kernels of the configs that can compute the problem, in their order.
std::vector<Kernel> kernels_of(const Missing& race) {
  std::vector<Kernel> kernels;
  for (const KernelConfig& config : race.configs) {
    if (!why_not(config, race.problem)) kernels.push_back(kernel_for(config, race.problem));
  }
  return kernels;
}

/// The kernels of all races, each once: race by race, or ordered by their rank within their race.
std::vector<Kernel> needed_kernels(std::span<const Missing> races, bool race_by_race) {
  struct Need {
    std::size_t rank;
    Kernel kernel;
  };
  std::vector<Need> needs;
  for (const Missing& race : races) {
    for (std::size_t rank = 0; const Kernel& kernel : kernels_of(race)) {
      needs.push_back({rank++, kernel});
    }
  }
  if (!race_by_race) std::ranges::stable_sort(needs, {}, &Need::rank);
  std::vector<Kernel> kernels;
  std::set<std::string> known;
  for (const Need& need : needs) {
    if (known.insert(build_name(need.kernel)).second) kernels.push_back(need.kernel);
  }
  return kernels;
}

/// Makes `compiling` available in the context during the lifetime of this object.
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

/// Runs the races of a stage, one after another.
class Races {
 public:
  Races(TuneContext& context, std::vector<Missing> races, const TimeShares* shares,
        const Numbering& numbering, TuneOutcome& outcome)
      : context_(context), left_(std::move(races)), shares_(shares), outcome_(outcome) {
    count_ = numbering.before + static_cast<int>(left_.size()) + numbering.after;
    index_ = numbering.before;
    outlook_.before_s = numbering.before_s;
    outlook_.all_s = numbering.before_s + seconds_of(left_) + numbering.after_s;
  }

  void run() {
    for (; !left_.empty(); ++index_) {
      std::optional<Missing> race = take_next();
      if (!race) {
        for (const Missing& late : left_) outcome_.late_problems.push_back(to_string(late.problem));
        return;
      }
      outlook_.before_s += std::exchange(outlook_.own_s, seconds_of({&*race, 1}));
      run(*race);
    }
  }

 private:
  bool can_be_raced(const KernelConfig& config, const GemmProblem& problem) const {
    return why_not(config, problem) || context_.compiling->find(kernel_for(config, problem));
  }
  /// Fraction of the race's configs that can be raced now; always 1 without a deadline.
  double ready_share(const Missing& race) const {
    const auto ready = std::ranges::count_if(
        race.configs, [&](const auto& config) { return can_be_raced(config, race.problem); });
    return static_cast<double>(ready) / static_cast<double>(race.configs.size());
  }

  std::optional<Missing> take_next();
  Terms terms_within(double seconds, Missing& race);
  void leave_out_measured(Missing& race) const;
  void run(Missing& race);
  void fill(Roster& roster, const Missing& race) const;
  void takes_no_time() { outlook_.all_s -= std::exchange(outlook_.own_s, 0); }

  TuneContext& context_;
  std::vector<Missing> left_;
  const TimeShares* shares_;  ///< nullptr: there is no deadline
  TuneOutcome& outcome_;
  int index_, count_;
  Outlook outlook_;
  std::set<std::string> left_out_;  ///< problems that do not fit in memory
};

/// Removes and returns the next race: the first one whose kernels are all compiled. It waits for
/// them; but if the time gets short for the other races, it returns the race with the largest share
/// of compiled kernels. None: the time is over.
std::optional<Missing> Races::take_next() {
  const auto share = [this](const Missing& race) { return ready_share(race); };
  for (;;) {
    context_.poll();
    if (shares_ && shares_->seconds_left() <= 0) return std::nullopt;
    auto next = std::ranges::find(left_, 1.0, share);
    if (next == left_.end() && shares_ && shares_->is_tight(left_)) {
      next = std::ranges::max_element(left_, {}, share);
      if (share(*next) == 0) next = left_.end();
    }
    if (next != left_.end()) {
      Missing race = std::move(*next);
      left_.erase(next);
      return race;
    }
    context_.compiling->wait_for(kernels_of(left_.front()), Clock::now() + kLook, [] {});
  }
}

/// Decides how a race uses its time, with those of its kernels that are compiled. At full effort
/// nothing but the GPU may work during timing; if the compiler does not end soon, the race is
/// brief.
Terms Races::terms_within(double seconds, Missing& race) {
  std::erase_if(race.configs, [&](const KernelConfig& config) {
    return !context_.compiling->find(kernel_for(config, race.problem));
  });
  const Clock::time_point begin = Clock::now();
  const auto seconds_left = [&] {
    return seconds - std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const Terms terms = terms_for(race.to_come(), seconds);
  if (terms.effort == Effort::kBrief || context_.compiling->is_done()) return terms;
  const auto patience = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(kPatience * seconds));
  context_.compiling->wait_for_all(begin + patience, [&] { context_.poll(); });
  const Effort most = context_.compiling->is_done() ? Effort::kFull : Effort::kBrief;
  return terms_for(race.to_come(), seconds_left(), 0, most);
}

/// Removes configs whose compiled kernel has results already: an edit of the source may have left
/// the code unchanged.
void Races::leave_out_measured(Missing& race) const {
  const auto finished = context_.store.finished(context_.machine.environment, race.problem,
                                                race.regime, wanted(context_.plan, race.regime));
  std::erase_if(race.configs, [&](const KernelConfig& config) {
    return finished.contains({label(config), context_.kernels.identity(config, race.problem)});
  });
}

void Races::run(Missing& race) {
  const std::string problem = to_string(race.problem);
  leave_out_measured(race);
  if (left_out_.contains(problem) || race.configs.empty()) {
    takes_no_time();
    return;
  }
  Terms terms{.effort = Effort::kFull, .configs = race.configs.size()};
  if (shares_) {
    terms = terms_within(shares_->share_s(race, left_), race);
    terms.until = shares_->end();
    race.configs.resize(terms.configs);
  }
  try {
    outlook_.parts = parts_of(race.to_come(), terms);
    ProblemRace running(context_, race.problem, race.regime, terms, outlook_);
    fill(running.roster(), race);
    context_.listener.race_started(race.problem, race.regime, index_, count_,
                                   running.roster().configs_alive());
    running.open();
    running.run();
    context_.listener.race_finished(race.problem);
  } catch (const DoesNotFit& unfit) {
    context_.listener.warning(fmt::format("{} is skipped: {}", problem, unfit.reason));
    outcome_.skipped_problems.push_back(problem);
    left_out_.insert(problem);
    takes_no_time();
  }
}

void Races::fill(Roster& roster, const Missing& race) const {
  const auto fatal = context_.store.fatal_attempts(context_.machine.environment, race.problem);
  for (const KernelConfig& config : race.configs) {
    const TrialKernel trial{label(config), context_.kernels.identity(config, race.problem)};
    if (const char* reason = why_not(config, race.problem)) {
      roster.add_failed(trial.label, trial.kernel_id, Status::kInvalidConfig, reason);
    } else if (fatal.contains(trial)) {
      roster.add_failed(trial.label, trial.kernel_id, Status::kCrashed,
                        "the machine went down when this kernel first ran at this problem; it is "
                        "not tried again");
    } else {
      roster.add(*context_.compiling->find(kernel_for(config, race.problem)));
    }
  }
}

}  // namespace

double full_race_s(const Missing& race, std::size_t configs) {
  return duration_s(race.to_come(), {.effort = Effort::kFull, .configs = configs});
}

double seconds_of(std::span<const Missing> races) {
  double sum = 0;
  for (const Missing& race : races) sum += full_race_s(race, race.configs.size());
  return sum;
}

void run_stage(TuneContext& context, std::vector<Missing> races, const Numbering& numbering,
               const Compiler& compiler, TuneOutcome& outcome) {
  if (races.empty()) return;
  const TunePlan& plan = context.plan;
  CompileOptions options = plan.compile;
  std::optional<TimeShares> shares;
  if (plan.search && plan.search->deadline) {
    shares.emplace(*plan.search->deadline, options.jobs);
    options.spare_jobs = kSpareCores;
    shares->fit(races);
  }
  std::vector<Kernel> needed = needed_kernels(races, true);
  if (shares && !shares->can_compile(needed.size())) needed = needed_kernels(races, false);

  TuneListener::Compiling counts{.total = static_cast<int>(needed.size())};
  CompileAhead compiling(compiler, std::move(needed), options, [&](const Build& build) {
    context.store.record_build(build.facts);
    context.kernels.add(build.facts);
    ++counts.done;
    if (build.status != Status::kOk) ++counts.failed;
    if (build.from_cache) ++counts.from_cache;
    context.listener.compiling(counts);
  });
  const CompilingNow now(context, compiling);
  // At full effort nothing but the GPU may work during timing.
  if (!shares) compiling.wait_for_all(Clock::time_point::max(), [&] { context.poll(); });
  if (context.run == 0) context.run = context.store.begin_run(context.machine, plan.command_line);
  Races(context, std::move(races), shares ? &*shares : nullptr, numbering, outcome).run();
}

}  // namespace hgemm
