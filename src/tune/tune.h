// The tune command's driver: compiles problems x configs, races them on the GPU, and records the
// results.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "compile/compiler.h"
#include "device/measurer.h"
#include "families/allowed.h"
#include "record/peer.h"
#include "search/devices.h"
#include "search/referee.h"
#include "search/strategy.h"
#include "store/store.h"

namespace hgemm {

/// Receives progress and warnings, one call at a time, from the thread of any GPU. With a time
/// budget, kernels are compiled while others are raced. `gpu` is the position of a GPU in the list
/// that tune() got. `index` counts from 0 over the races (problem x regime) that still have
/// something to measure.
class TuneListener {
 public:
  virtual ~TuneListener() = default;
  struct Compiling {
    int done = 0, total = 0, failed = 0, from_cache = 0;
  };
  virtual void compiling(const Compiling& compiling) = 0;
  virtual void race_started(int gpu, const GemmProblem& problem, Regime regime, int index,
                            int count, int candidates) = 0;
  virtual void preparing(int gpu, int done, int total) = 0;
  virtual void measuring(int gpu, int done, int total) = 0;  ///< within a round that takes long
  virtual void racing(int gpu, int round, int alive, const std::string& leader,
                      double ratio_cublas) = 0;
  virtual void weighing(int gpu, int done,
                        int total) = 0;  ///< energy windows of winners or finalists
  virtual void race_finished(int gpu, const GemmProblem& problem) = 0;
  virtual void warning(const std::string& text) = 0;
  /// Called before the four calls that report steps of a race. `share`, from 0 to 1, is the part of
  /// all races' predicted time that is over.
  virtual void advanced(double share) = 0;
};

/// Chooses a part of a problem's configs.
struct SearchPlan {
  StrategyKind strategy = StrategyKind::kModel;
  Budget budget;
  std::vector<Device> devices;  ///< known data of GPUs, for the cost model
  /// Replaces the budget: measures as many configs, and as thoroughly, as there is time for. Each
  /// race gets its share of the time that is left when it begins. A strategy that learns has its
  /// two stages if there is time for two races of each problem at full effort. If not, kAdaptive
  /// races the problems in waves, which learn from the races before them (informed.h), and the
  /// others have their first stage alone.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

/// Whose energy is measured in the regime sustained.
enum class Weighed : std::uint8_t {
  kNothing,
  kWinners,    ///< of the winners, after all races, in a race with the configs near them
  kFinalists,  ///< of the finalists of every race
};

/// The whole space (search/proposer.h), as far as it may be used.
struct WholeSpace {
  Allowed allowed = {};
};

struct TunePlan {
  std::vector<GemmProblem> problems;
  std::vector<KernelConfig> configs;  ///< the space, unless it is the whole one
  /// Each problem has proposals of its own out of the whole space. This needs a search.
  std::optional<WholeSpace> whole = {};
  bool only_suitable = false;        ///< leaves out configs that do not suit a problem (family.h)
  std::optional<SearchPlan> search;  ///< none: all configs
  std::vector<Regime> regimes = {Regime::kSustained};  ///< all problems in one, then in the next
  /// Baselines of every race, which the measurers know. A winner that has not met one of them in a
  /// race is raced against it, with the configs that are close to it.
  std::vector<Peer> peers = {};
  Weighed weighed = Weighed::kNothing;  ///< kFinalists: not with a deadline
  /// Close races are repeated, with their finalists, on a second GPU.
  bool confirm = false;
  /// Measures first whether busy neighbours move a ratio. If they do, finals take turns: while one
  /// GPU is in a final, the others rest. Does nothing with one GPU.
  bool pace_check = false;
  RacePolicy policy;
  CompileOptions compile;
  std::string command_line;
  /// Called when a race begins, and after its last record, one call at a time whatever the number
  /// of GPUs. Keep them short: no GPU goes on meanwhile. A race that is stopped or lost does not
  /// end. May be empty.
  std::function<void(const GemmProblem&, Regime)> race_begins = {}, race_ended = {};
};

/// What busy GPUs of the same host do to the ratio of cublas to a config on one of them.
struct PaceFinding {
  struct Value {
    double value = 0;
    Interval interval;
  };
  GemmProblem problem;
  std::string label;
  int neighbours = 0;  ///< GPUs at full load beside this one
  Value alone, beside;

  /// Whether the two intervals have nothing in common.
  bool moved() const {
    return beside.interval.low > alone.interval.high || beside.interval.high < alone.interval.low;
  }
};

struct TuneOutcome {
  std::int64_t recorded = 0;  ///< trials of configs recorded by this call
  /// Those that this GPU's memory cannot hold, or not now.
  std::vector<std::string> skipped_problems;
  std::vector<std::string> late_problems;  ///< those for which there was no time left
  std::optional<PaceFinding> pace;
  std::vector<std::string> set_aside_problems;  ///< those whose race two GPUs could not finish
};

/// Measures what the store lacks. A stored trial counts as long as the kernel is the same
/// (Trial::kernel_id), whatever was edited in its source. A search that learns has two stages: all
/// problems are raced with the configs that it proposes first; then it is told their results from
/// the store, and all problems are raced with the configs that it proposes next. In the whole space
/// these may be neighbours of the fastest, which it did not propose at first.
///
/// A config is recorded when it has ended (failed, eliminated, or measured to the end), in one
/// transaction with the baselines' samples of its rounds. So the store is complete whenever the
/// program is killed, and the next call measures exactly the rest, in a race of its own. Energy is
/// added to a recorded trial, window by window; a finalist, or a winner, whose energy is wanted and
/// was not measured is raced again.
///
/// A config that took the measurer down is recorded before anything else is tried. A config that
/// took the whole machine down at a problem is recorded as crashed by the next call. Neither runs
/// again. A cuBLASLt algorithm that took the measurer down is recorded and left out of its race.
///
/// With a deadline, configs that are not compiled when their race begins are left out and not
/// recorded; races that have not begun by the deadline are left out too. The same call later
/// continues with them.
///
/// With several GPUs, the unit of work is a race: every ratio is from one GPU. All must be of one
/// environment. Longest races come first. A GPU that cannot go on gives its race to another one,
/// which measures what had not ended; after two such races in a row it is left out. A race that two
/// GPUs gave up is set aside. With one GPU, the first such race ends the tune.
///
/// `stop` is polled between steps; when it returns true, the driver returns early, with all
/// finished work committed. Problems that do not fit in the GPU's memory, also when they are opened
/// again after a loss, are skipped with a warning.
///
/// A GPU cannot go on if its measurer is lost twice in a row without a culprit, if eight candidates
/// in a row take it down without a successful step in between, or if cublas fails. Throws Error if
/// this happens to the last GPU, and InputError if the environments of the GPUs differ.
TuneOutcome tune(const TunePlan& plan, std::span<Measurer* const> gpus, Store& store,
                 const Compiler& compiler, TuneListener& listener,
                 const std::function<bool()>& stop);
/// On one GPU.
TuneOutcome tune(const TunePlan& plan, Measurer& measurer, Store& store, const Compiler& compiler,
                 TuneListener& listener, const std::function<bool()>& stop);

}  // namespace hgemm
