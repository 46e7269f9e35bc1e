// A search played again on recorded races: how near to the best it would have come, and how much it
// would have measured. No GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/strategy.h"
#include "store/store.h"

namespace hgemm {

/// What is known of every config of one problem in one regime.
struct Truth {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  Environment environment;
  std::string kernel_sources = {};  ///< RunInfo::kernel_sources of its races
  struct Entry {
    KernelConfig config;
    /// cublas' time over its own; 0: it did not end ok, or was never timed.
    double speed = 0;
  };
  std::vector<Entry> entries;

  double best() const;  ///< the highest speed
};

/// One for each GPU model, problem and regime that has a config measured to the end, in the order
/// of recording: from the environment and kernel sources with the most configs, all their races
/// pooled (speeds.h).
std::vector<Truth> truths(std::span<const RecordedRace> races);

/// Leaves those of these problems; all if there are none.
void keep_problems(std::vector<Truth>& truths, std::span<const GemmProblem> problems);

struct ReplayRow {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string gpu_name;
  std::string strategy;      ///< its name, or that of the database whose winner is judged
  std::size_t configs = 0;   ///< in the space
  std::size_t measured = 0;  ///< of them, by the search
  double best_fraction = 0;  ///< best of the measured over best of all; of several seeds the median
  double worst_fraction = 0;  ///< of the seeds
  std::string found;          ///< label of the fastest that the first seed measured
  std::string best;           ///< of all

  double measured_fraction() const;
};

/// One search for each seed. `predicted_us`: of each entry. A search that learns measures in two
/// stages, as a tune does (tune/choice.h).
ReplayRow replay(const Truth& truth, std::span<const double> predicted_us, StrategyKind strategy,
                 const Budget& budget, int seeds);

/// What a tune really found, by what is known of all: it measured so many configs and `label` won.
/// None if the truth does not have that config.
std::optional<ReplayRow> judge(const Truth& truth, const std::string& tune,
                               const std::string& label, std::size_t measured);

}  // namespace hgemm
