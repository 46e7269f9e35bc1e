// The default command: problems x configs -> compiled, raced on the GPU, recorded.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/measurer.h"
#include "search/devices.h"
#include "search/referee.h"
#include "search/strategy.h"
#include "store/store.h"

namespace hgemm {

/// Told what happens, for progress and logs; called in the driver's thread. With a time budget
/// kernels are compiled while others are raced. `index` counts from 0,
/// over the races (problem x regime) that still have something to measure.
class TuneListener {
 public:
  virtual ~TuneListener() = default;
  struct Compiling {
    int done = 0, total = 0, failed = 0, from_cache = 0;
  };
  virtual void compiling(const Compiling& compiling) = 0;
  virtual void race_started(const GemmProblem& problem, Regime regime, int index, int count,
                            int candidates) = 0;
  virtual void preparing(int done, int total) = 0;
  virtual void measuring(int done, int total) = 0;  ///< of a round that takes a while
  virtual void racing(int round, int alive, const std::string& leader, double ratio_cublas) = 0;
  virtual void weighing(int done, int total) = 0;  ///< energy windows of finalists
  virtual void race_finished(const GemmProblem& problem) = 0;
  virtual void warning(const std::string& text) = 0;
  /// Before the four that tell of a race's steps: how much of the races' time is over, of 1, by
  /// what they should take.
  virtual void advanced(double share) = 0;
};

/// Which of a problem's configs are measured, where not all are.
struct SearchPlan {
  StrategyKind strategy = StrategyKind::kModel;
  Budget budget;
  std::vector<Device> devices;  ///< what the cost model may know about the GPU
  /// In place of the budget: as many configs, measured as thoroughly, as there is time for. Each
  /// race has its share of the time that is left when it begins. A strategy that learns is told
  /// nothing then: how a race is measured depends on its time, and what was measured in brief at
  /// one stage and at full effort at the next cannot be compared.
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
};

struct TunePlan {
  std::vector<GemmProblem> problems;
  std::vector<KernelConfig> configs;
  bool only_suitable = false;        ///< leaves out configs that do not suit a problem (family.h)
  std::optional<SearchPlan> search;  ///< none: all
  std::vector<Regime> regimes = {Regime::kSustained};  ///< all problems in one, then in the next
  bool energy = false;  ///< a window of seconds for each finalist of a sustained race
  RacePolicy policy;
  CompileOptions compile;
  std::string command_line;
};

struct TuneOutcome {
  std::int64_t recorded = 0;                  ///< configs' trials, by this call
  std::vector<std::string> skipped_problems;  ///< those that this GPU cannot hold, or not now
  std::vector<std::string> late_problems;     ///< those for which there was no time left
};

/// Measures what the store does not have yet. What it has counts as long as the kernel is the same
/// (Trial::kernel_id), whatever was edited around it. A search that learns has two stages: all
/// problems are raced with what it proposes first, then with what it proposes when it was told what
/// the store now has of these.
///
/// A config is recorded when it has ended (failed, eliminated, or measured to the end), in one
/// transaction with the baselines' samples of its rounds: whenever the program is killed, what is
/// in the store is complete, and the next call measures exactly the rest, in a race of its own.
/// Energy is added to what is recorded, window by window; a finalist that still lacks it is
/// measured again where energy is wanted.
///
/// A config that took the measurer down is recorded before anything else is tried, and one that
/// took the whole machine down at a problem is recorded as crashed by the next call: neither runs
/// again. An algorithm of cuBLASLt that did so is recorded and left out of its race.
///
/// With a deadline, what has not been compiled when its race begins is left out, unrecorded, and so
/// are races that have not begun by then: the same call goes on with them.
///
/// `stop` is polled between steps: when it returns true the driver returns early with all finished
/// work committed. Problems that do not fit the GPU's memory, or no longer do when they must be
/// opened again after a loss, are skipped, with a warning.
///
/// Throws Error if the measurer is lost twice in a row with no candidate to blame for it, if eight
/// candidates in a row take it down and nothing works in between, or if cublas fails.
TuneOutcome tune(const TunePlan& plan, Measurer& measurer, Store& store, const Compiler& compiler,
                 TuneListener& listener, const std::function<bool()>& stop);

}  // namespace hgemm
