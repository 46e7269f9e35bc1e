// Replays a search on recorded races: how near to the best it comes and how much it measures. Needs
// no GPU.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "search/search.h"
#include "store/store.h"

namespace hgemm {

/// All that is known about the configs of one problem in one regime.
struct Truth {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  Environment environment;
  std::string kernel_sources = {};  ///< RunInfo::kernel_sources of its races
  struct Entry {
    KernelConfig config;
    /// cublas' time over the config's; 0: it did not end ok or was never timed.
    double speed = 0;
  };
  std::vector<Entry> entries;

  double best() const;  ///< the highest speed
};

/// One truth for each GPU model, problem and regime that has a config measured to the end, in the
/// order of recording. It uses the environment and kernel sources with the most configs, with all
/// their races pooled (speeds.h).
std::vector<Truth> truths(std::span<const RecordedRace> races);

/// Keeps only the truths of these problems; if `problems` is empty, those with normal data.
void keep_problems(std::vector<Truth>& truths, std::span<const GemmProblem> problems);

struct ReplayRow {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string gpu_name;
  std::string strategy;      ///< name of the strategy, or of the database whose winner is judged
  std::size_t configs = 0;   ///< in the space; proposals, if it is the whole one
  std::size_t measured = 0;  ///< configs that the search measured
  /// In the whole space: how many of the measured ones stand for recorded configs.
  std::optional<std::size_t> known = {};
  /// How many the first seed measured until one was within 1 % of the best; nullopt: none was.
  std::optional<std::size_t> reached = {};
  /// Best measured speed over the best of all; the median over several seeds.
  double best_fraction = 0;
  double worst_fraction = 0;  ///< the worst over the seeds
  std::string found;          ///< label of the fastest that the first seed measured
  std::string best;           ///< of all

  double measured_fraction() const;
};

/// Runs one search for each seed. `predicted_us` has a value for each entry. A strategy that learns
/// measures in two stages, as a tune does (tune/choice.h).
ReplayRow replay(const Truth& truth, std::span<const double> predicted_us, StrategyKind strategy,
                 const Budget& budget, int seeds);

/// How near a recorded config must be to stand for one of the whole space (config_distance()): one
/// or two details, or half as many stages.
inline constexpr double kNear = 0.5;

/// The same in the whole space: `candidates` are proposals from it for the truth's problem. A
/// config has the speed of the nearest recorded one, if that is within kNear. Of others nothing is
/// known: the search is told nothing of them, and they count as measured. So it can find nothing
/// better than what was recorded, and learns less than a tune would: the row says whether, and how
/// soon, it would have come to what was recorded.
ReplayRow replay_whole(const Truth& truth, const Candidates& candidates, StrategyKind strategy,
                       std::size_t budget, int seeds);

/// Judges the result of a real tune: it measured `measured` configs and `label` won. nullopt if the
/// truth does not have that config.
std::optional<ReplayRow> judge(const Truth& truth, const std::string& tune,
                               const std::string& label, std::size_t measured);

}  // namespace hgemm
