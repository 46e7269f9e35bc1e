#include "tune/tune.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "search/calibration.h"
#include "tune/candidates_ahead.h"
#include "tune/choice.h"
#include "tune/context.h"
#include "tune/informed.h"
#include "tune/pace_check.h"
#include "tune/rematch.h"
#include "tune/stage.h"
#include "tune/time_shares.h"

namespace hgemm {
namespace {

using Clock = std::chrono::steady_clock;

/// Fraction of a time budget that is kept for repeating close races on a second GPU.
constexpr double kConfirmingShare = 0.2;

/// Fraction of a time budget that the energy of winners may take.
constexpr double kMostWeighingShare = 0.5;
/// Time that is kept beside it in case the search ends late, since its races are only predicted: a
/// fraction of the search's time, and the most seconds. On 32 cores the search of a tune of 25 s
/// had 19 s and ended 1 to 2 s late, after which no race for energy found time (eight of eight
/// tunes, H200, 2026-11-29).
constexpr double kLateShare = 0.15;
constexpr double kMostLateS = 3;
/// Times that winners without energy are looked for.
constexpr int kMostWeighings = 4;

/// Fraction of the time for both stages of a search that the first may take. It compiles as many
/// kernels, and its races are as long.
constexpr double kFirstStageShare = 0.5;

/// Fraction of a short time that is kept for problems where the baselines are ahead or near.
constexpr double kBehindShare = 0.3;

bool weighs_winners(const TunePlan& plan) {
  return plan.weighed == Weighed::kWinners &&
         std::ranges::find(plan.regimes, Regime::kSustained) != plan.regimes.end();
}

/// The time until the deadline without its last part.
Clock::time_point without_last(Clock::time_point deadline, double share) {
  return deadline - std::chrono::duration_cast<Clock::duration>(share * (deadline - Clock::now()));
}

std::optional<Clock::time_point> races_end(const TunePlan& plan,
                                           std::optional<Clock::time_point> deadline) {
  if (!deadline || !plan.confirm) return deadline;
  return without_last(*deadline, kConfirmingShare);
}

/// Those races for which there is time, the first ones first, each with its first configs: as few
/// as a race for energy must have, and more as long as the time for all allows.
std::vector<Missing> those_in_time(const std::vector<Missing>& races, double left_s,
                                   std::size_t gpus) {
  double left_gpu_s = left_s * static_cast<double>(gpus);
  std::vector<std::size_t> counts(races.size(), 0);  // of configs; 0: there is no time
  const auto grow = [&](std::size_t i, std::size_t count) {
    const double race_s = full_race_s(races[i], count);
    const double more_s = race_s - (counts[i] > 0 ? full_race_s(races[i], counts[i]) : 0);
    if (race_s > left_s || more_s > left_gpu_s) return false;
    left_gpu_s -= more_s;
    counts[i] = count;
    return true;
  };
  for (std::size_t i = 0; i < races.size(); ++i) {
    grow(i, std::min(races[i].configs.size(), kLeastWeighed));
  }
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (std::size_t i = 0; i < races.size(); ++i) {
      const bool is_whole = counts[i] == races[i].configs.size();
      if (counts[i] > 0 && !is_whole && grow(i, counts[i] + 1)) has_grown = true;
    }
  }
  std::vector<Missing> kept;
  for (std::size_t i = 0; i < races.size(); ++i) {
    if (counts[i] == 0) continue;
    kept.push_back(races[i]);
    kept.back().configs.resize(counts[i]);
  }
  return kept;
}

/// Measures the energy of winners that have none, in races at full effort. A winner that races
/// again may lose to a config that did not, which is then the winner without energy.
void weigh(Gpus& gpus, const Compiler& compiler, std::optional<Clock::time_point> deadline) {
  const auto has_counter = [](const GpuContext& gpu) { return gpu.has_energy_counter; };
  for (int i = 0; i < kMostWeighings && std::ranges::any_of(gpus.contexts, has_counter); ++i) {
    std::vector<Missing> unweighed = gpus.shared.use([&](SharedTune& tune) {
      return find_unweighed(gpus.plan, tune.store, gpus.contexts.front().machine.environment,
                            tune.kernels);
    });
    if (deadline) {
      const std::chrono::duration<double> left = *deadline - Clock::now();
      unweighed = those_in_time(unweighed, left.count(), gpus.contexts.size());
    }
    if (unweighed.empty()) return;
    run_stage(gpus, std::move(unweighed), {}, compiler, {});
  }
}

/// Repeats close races on a second GPU.
void confirm(Gpus& gpus, const Compiler& compiler, std::optional<Clock::time_point> deadline) {
  std::vector<std::string> uuids;
  for (const GpuContext& gpu : gpus.contexts) uuids.push_back(gpu.machine.run.gpu_uuid);
  std::vector<Missing> close = gpus.shared.use([&](SharedTune& tune) {
    return find_unconfirmed(gpus.plan, tune.store, gpus.contexts.front().machine.environment,
                            tune.kernels, uuids);
  });
  run_stage(gpus, std::move(close), {}, compiler, deadline);
}

/// Races winners of earlier runs against peers that they have not met.
void meet_peers(Gpus& gpus, const Compiler& compiler, std::optional<Clock::time_point> deadline) {
  std::vector<Missing> unmet = gpus.shared.use([&](SharedTune& tune) {
    return find_unmet(gpus.plan, tune.store, gpus.contexts.front().machine.environment,
                      tune.kernels);
  });
  run_stage(gpus, std::move(unmet), {}, compiler, deadline);
}

/// Checks the pace at the race with the most work, where a GPU takes the most power.
void check_pace(Gpus& gpus, std::span<const Missing> races, const Compiler& compiler) {
  if (races.empty() || gpus.contexts.size() < 2) return;
  const auto largest =
      std::ranges::max_element(races, {}, [](const Missing& race) { return race.problem.flops(); });
  const std::optional<PaceFinding> finding = check_pace(gpus, *largest, compiler);
  gpus.shared.use([&](SharedTune& tune) { tune.outcome.pace = finding; });
  if (finding && finding->moved()) gpus.turns.enable();
}

/// The races of a plan before anything is measured or chosen.
std::vector<Missing> all_races(const TunePlan& plan, std::span<const GemmProblem> problems) {
  std::vector<Missing> races;
  for (const Regime regime : plan.regimes) {
    for (const GemmProblem& problem : problems) {
      races.push_back({.problem = problem, .regime = regime, .configs = {}});
    }
  }
  return races;
}

/// Whether there is time for two races of each problem at full effort.
bool is_time_for_two(const Gpus& gpus, Clock::time_point end) {
  const TunePlan& plan = gpus.plan;
  return TimeShares(end, plan.compile.jobs, gpus.contexts.size())
      .can_race_twice(all_races(plan, plan.problems),
                      plan.whole ? std::nullopt : std::optional(plan.configs.size()));
}

/// The time at which all is measured but the energy of winners.
std::optional<Clock::time_point> weighing_begins(Gpus& gpus,
                                                 std::optional<Clock::time_point> deadline) {
  if (!deadline || !weighs_winners(gpus.plan)) return deadline;
  const std::chrono::duration<double> left = *deadline - Clock::now();
  const std::vector<double> races_s = gpus.shared.use([&](SharedTune& tune) {
    return weighing_s(gpus.plan, tune.store, gpus.contexts.front().machine.environment,
                      tune.kernels);
  });
  if (races_s.empty()) return deadline;
  const double weighing_s =
      std::max(std::ranges::max(races_s), std::reduce(races_s.begin(), races_s.end()) /
                                              static_cast<double>(gpus.contexts.size()));
  const double late_s = std::clamp(kLateShare * (left.count() - weighing_s), 0.0, kMostLateS);
  return without_last(*deadline,
                      std::min((weighing_s + late_s) / left.count(), kMostWeighingShare));
}

/// Candidates of these problems, made in this order.
CandidatesAhead candidates_of(Gpus& gpus, std::vector<GemmProblem> problems) {
  const TunePlan& plan = gpus.plan;
  // The same database holds the results of `micro` on this GPU.
  const auto studies =
      gpus.shared.use([](const SharedTune& tune) { return tune.store.studies("micro"); });
  std::map<Regime, CostFigures> figures;
  for (const Regime regime : plan.regimes) {
    figures[regime] = calibrated_figures(
        plan.search->devices, gpus.contexts.front().machine.environment, regime, studies);
  }
  return {plan, std::move(figures), std::move(problems)};
}

/// The problems of the pilots, then of the others, then all that remain.
std::vector<GemmProblem> in_order(const Waves& waves, std::span<const GemmProblem> all) {
  std::vector<GemmProblem> problems = waves.pilots;
  problems.insert(problems.end(), waves.others.begin(), waves.others.end());
  for (const GemmProblem& problem : all) {
    const auto is_same = [&](const GemmProblem& other) { return other.same_problem(problem); };
    if (std::ranges::none_of(problems, is_same)) problems.push_back(problem);
  }
  return problems;
}

/// Removes races of problems that were set aside, or do not fit in memory.
void leave_out_given_up(std::vector<Missing>& races, const TuneOutcome& outcome) {
  std::erase_if(races, [&](const Missing& race) {
    const std::string problem = to_string(race.problem);
    const auto is_in = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, problem) != names.end();
    };
    return is_in(outcome.skipped_problems) || is_in(outcome.set_aside_problems);
  });
}

/// Returns to the problems where a baseline is ahead or near, and to those without a winner.
std::vector<Missing> races_behind(Gpus& gpus, const CandidatesAhead& candidates) {
  return gpus.shared.use([&](SharedTune& tune) {
    std::vector<Missing> races =
        find_behind(gpus.plan, candidates, tune.store, gpus.contexts.front().machine.environment,
                    tune.kernels, gpus.contexts.size());
    tune.outcome.late_problems.clear();  // they are among these races
    leave_out_given_up(races, tune.outcome);
    return races;
  });
}

/// The races of a search whose time is too short for two races of each problem at full effort. A
/// tune that goes on begins with the problems without a winner; if there are none, it only returns
/// to those that are behind.
void run_in_waves(Gpus& gpus, const Compiler& compiler, Clock::time_point end) {
  const TunePlan& plan = gpus.plan;
  if (plan.problems.empty()) return;
  const Environment& environment = gpus.contexts.front().machine.environment;
  const std::vector<GemmProblem> first = gpus.shared.use([&](SharedTune& tune) {
    return without_winner(plan, tune.store, environment, tune.kernels);
  });
  const Waves waves = waves_of(first, gpus.contexts.size());
  const CandidatesAhead candidates = candidates_of(gpus, in_order(waves, plan.problems));
  const auto informed = [&](std::span<const GemmProblem> problems) {
    return gpus.shared.use([&](SharedTune& tune) {
      return find_informed(plan, problems, candidates, tune.store, environment, tune.kernels);
    });
  };
  if (plan.pace_check) {
    const auto largest = std::ranges::max_element(plan.problems, {}, &GemmProblem::flops);
    check_pace(gpus, informed({&*largest, 1}), compiler);
  }
  if (first.empty()) return run_stage(gpus, races_behind(gpus, candidates), {}, compiler, end);

  const double pilots_s = brief_s(all_races(plan, waves.pilots));
  const double others_s = brief_s(all_races(plan, waves.others));
  std::vector<Missing> pilots = informed(waves.pilots);
  // The time that is left is known only now.
  const double pilots_share = (1 - kBehindShare) * pilots_s / (pilots_s + others_s);
  const Clock::time_point behind_begins = without_last(end, kBehindShare);
  const double pilots_full_s = seconds_of(pilots);
  const double full_s = pilots_full_s / pilots_share;  // of all races, as far as can be known
  Numbering numbering{.after = static_cast<int>(waves.others.size() * plan.regimes.size()),
                      .after_s = full_s - pilots_full_s};
  const auto go_on = [&](std::vector<Missing> races, Clock::time_point until, double share) {
    const auto count = static_cast<int>(races.size());
    run_stage(gpus, std::move(races), numbering, compiler, until);
    numbering.before += count;
    numbering.after = 0;
    numbering.before_s += share * full_s;
    numbering.after_s = kBehindShare * full_s;
  };
  go_on(std::move(pilots), without_last(end, 1 - pilots_share), pilots_share);
  if (!waves.others.empty()) {
    go_on(informed(waves.others), behind_begins, 1 - pilots_share - kBehindShare);
  }
  numbering.after_s = 0;
  go_on(races_behind(gpus, candidates), end, kBehindShare);
}

/// Returns to the problems where a baseline is ahead, if there is time left for more than choosing
/// configs and races in brief. Time is left, for example, where the compiler was slow: a first race
/// in brief has no second stage.
void use_rest(Gpus& gpus, const Compiler& compiler, Clock::time_point end, Numbering numbering) {
  constexpr double kLeastS = 4;
  constexpr double kChoosingS = 0.5;  // core seconds of each race (candidates_ahead.h)
  const Environment& environment = gpus.contexts.front().machine.environment;
  TunePlan rest = gpus.plan;
  rest.problems = gpus.shared.use([&](SharedTune& tune) {
    return where_behind(gpus.plan, tune.store, environment, tune.kernels);
  });
  const auto races_to_choose = static_cast<double>(rest.problems.size() * rest.regimes.size());
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  const std::chrono::duration<double> left = end - Clock::now();
  if (races_to_choose == 0 || left.count() < kLeastS + kChoosingS * races_to_choose / cores) return;
  const CandidatesAhead candidates = candidates_of(gpus, rest.problems);
  std::vector<Missing> races = gpus.shared.use([&](SharedTune& tune) {
    std::vector<Missing> found =
        find_informed(rest, rest.problems, candidates, tune.store, environment, tune.kernels);
    leave_out_given_up(found, tune.outcome);
    return found;
  });
  run_stage(gpus, std::move(races), numbering, compiler, end);
}

/// The races of all other searches.
void run_in_stages(Gpus& gpus, const Compiler& compiler, std::optional<Clock::time_point> end,
                   bool has_second) {
  const TunePlan& plan = gpus.plan;
  const auto missing_in = [&](SearchStage stage) {
    return gpus.shared.use([&](SharedTune& tune) {
      return find_missing(plan, tune.store, gpus.contexts.front().machine.environment, tune.kernels,
                          stage);
    });
  };
  std::vector<Missing> first = missing_in(SearchStage::kFirst);
  if (plan.pace_check) check_pace(gpus, first, compiler);
  const auto races = static_cast<int>(first.size());
  const double first_s = seconds_of(first);
  Numbering numbering;
  if (has_second) {
    numbering.after = static_cast<int>(plan.problems.size() * plan.regimes.size());
    for (const Missing& race : first) numbering.after_s += full_race_s(race, race.later);
    // Races whose first stage ended in an earlier run are assumed to take as long as the others.
    numbering.after_s *= numbering.after / std::max<double>(races, 1);
  }
  run_stage(gpus, std::move(first), numbering, compiler,
            has_second && end ? without_last(*end, 1 - kFirstStageShare) : end);
  if (!has_second) return;
  // Nothing was compiled during the first stage's races, because these run at full effort.
  std::vector<Missing> second = missing_in(SearchStage::kSecond);
  Numbering after{.before = races, .before_s = first_s};
  const auto count = static_cast<int>(second.size());
  const double second_s = seconds_of(second);
  run_stage(gpus, std::move(second), after, compiler, end);
  after.before += count;
  after.before_s += second_s;
  if (end && plan.search->strategy == StrategyKind::kAdaptive) {
    use_rest(gpus, compiler, *end, after);
  }
}

void run(Gpus& gpus, const Compiler& compiler) {
  const TunePlan& plan = gpus.plan;
  const std::optional<Clock::time_point> last = plan.search ? plan.search->deadline : std::nullopt;
  const std::optional<Clock::time_point> deadline = weighing_begins(gpus, last);
  const std::optional<Clock::time_point> end = races_end(plan, deadline);
  const bool has_time = !end || is_time_for_two(gpus, *end);
  if (!has_time && plan.search->strategy == StrategyKind::kAdaptive) {
    run_in_waves(gpus, compiler, *end);
  } else {
    run_in_stages(gpus, compiler, end, has_time && plan.search && learns(plan.search->strategy));
  }
  if (!plan.peers.empty()) meet_peers(gpus, compiler, deadline);
  if (plan.confirm) confirm(gpus, compiler, deadline);
  if (weighs_winners(plan)) weigh(gpus, compiler, last);
}

/// Throws InputError if results of the GPUs would be of different environments.
void check_equal(std::span<const GpuContext> gpus) {
  const GpuContext& first = gpus.front();
  for (const GpuContext& gpu : gpus) {
    const auto differing = differences(first.machine.environment, gpu.machine.environment);
    if (differing.empty()) continue;
    throw InputError(fmt::format(
        "the GPUs differ: {} and {} ({}), so their results cannot share a table; choose equal ones "
        "with --devices",
        first.machine.run.gpu_uuid, gpu.machine.run.gpu_uuid, fmt::join(differing, ", ")));
  }
}

}  // namespace

TuneOutcome tune(const TunePlan& plan, std::span<Measurer* const> measurers, Store& store,
                 const Compiler& compiler, TuneListener& listener,
                 const std::function<bool()>& stop) {
  Monitor<SharedTune> shared(store, listener, stop,
                             CurrentKernels(compiler.source_key, store.builds()));
  Turns turns;
  std::vector<GpuContext> contexts;
  for (Measurer* const measurer : measurers) {
    contexts.push_back({.shared = shared,
                        .plan = plan,
                        .turns = turns,
                        .measurer = *measurer,
                        .machine = measurer->machine(),
                        .gpu = static_cast<int>(contexts.size())});
  }
  check_equal(contexts);
  Gpus gpus{.plan = plan, .shared = shared, .turns = turns, .contexts = std::move(contexts)};
  try {
    run(gpus, compiler);
  } catch (const Stopped&) {
  }
  return shared.use([](SharedTune& tune) { return tune.outcome; });
}

TuneOutcome tune(const TunePlan& plan, Measurer& measurer, Store& store, const Compiler& compiler,
                 TuneListener& listener, const std::function<bool()>& stop) {
  Measurer* const gpus[] = {&measurer};
  return tune(plan, gpus, store, compiler, listener, stop);
}

}  // namespace hgemm
