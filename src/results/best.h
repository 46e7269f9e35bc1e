// Best is a query over recorded races: nothing here is stored.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "store/store.h"

namespace hgemm {

struct Ratio {
  double value = 0;   ///< median over rounds of baseline time / our time; above 1 we are faster
  Interval interval;  ///< 95 % interval of that median; NaNs if there is none: the row is
                      ///< only screened, or has fewer than kMinIntervalRounds
};

/// The range of n values covers their distribution's median with probability 1 - 2^(1-n): below six
/// rounds no interval can hold what "95 %" promises.
inline constexpr int kMinIntervalRounds = 6;

/// Relative. A smaller difference between two configs is no difference: from one tune to the next
/// the ratio of a finalist to cublas moves by 0.1 to 0.4 % in the median
/// (results/h200/repeatability.md).
inline constexpr double kTieMargin = 0.005;

/// What makes a config the best.
enum class Objective : std::uint8_t { kTime, kEnergy };

/// A config that was measured to the end at a row's problem, in the row's regime.
struct Finalist {
  std::string label;
  std::optional<Ratio> cublas;
  std::optional<Ratio> winner;  ///< below 1 it is slower; none if it was in another race
  std::optional<double> joules;
};

/// The best verified config of one problem and regime, and how it stands. A problem that was asked
/// for and never recorded has no `started_utc`, no environment and no trials.
struct BestRow {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  Environment environment;
  RunInfo run;  ///< card, host and program of the winner's race
  std::string started_utc;
  std::optional<std::string> label;  ///< none: no config ended ok at this problem
  std::string kernel_id;             ///< of the winner: Trial::kernel_id
  /// kFinal: measured to the end. kScreen: no config was, so this is the fastest in screening,
  /// whose few rounds also chose it: ratios have no interval, it has no ties, and, sustained, no
  /// times and no clock: screening is not at full load. kNone: no label.
  Stage stage = Stage::kNone;
  Pace pace = Pace::kShared;      ///< of the winner's samples
  bool brief = false;             ///< the winner's race was: see Timing
  std::optional<double> time_us;  ///< median
  std::optional<double> tflops;
  std::optional<Ratio> cublas;  ///< against cublasGemmEx's default
  /// Against the fastest cuBLASLt heuristic result of those that stayed to the end with the winner.
  std::optional<Ratio> cublaslt;
  std::optional<double> cublas_time_us, cublaslt_time_us;
  std::string cublaslt_label;
  std::optional<double> sm_mhz;
  std::optional<double> peak_fraction;  ///< of dense tensor peak at sm_mhz: sm_count x 4096 x clock
  /// Median of the per-round ratios of cycles (time x clock): what the ratio to cublas would be if
  /// both ran at the same clock.
  std::optional<double> cublas_cycles;
  std::optional<double> joules;         ///< per GEMM, over a window of seconds at full load
  std::optional<double> cublas_joules;  ///< measured in the same race
  std::optional<double> cublaslt_joules;
  std::uint64_t clock_events = 0;  ///< all that were seen with samples of this row (clock_event)
  bool verified = false;
  /// Objective kTime: finalists of the winner's race that cannot be told from it (the interval of
  /// Finalist::winner reaches above 1 / (1 + kTieMargin), or there is none), fastest first.
  /// Objective kEnergy: those whose joules are within kTieMargin.
  std::vector<std::string> ties;
  std::vector<Finalist> finalists;  ///< the winner, then the others, best first; empty if screened
  /// What the winner's medians are of, a value a round: for who resamples them. A round without a
  /// sample of cublas is missing from `cublas`, one without a clock from `cycles`.
  struct Rounds {
    std::vector<double> time_us, cycles, cublas;
  };
  Rounds rounds;
  int trials = 0;  ///< recorded configs at this problem, any status
  int failed = 0;  ///< of them, not ok (invalid_config left out)
};

/// Whether a trial at a problem is of the kernel that its config has in this program
/// (CurrentKernels::is_current). Empty: nothing is known of that.
using IsCurrent = std::function<bool(const Trial&, const GemmProblem&)>;

/// One row per problem and regime. Of `problems`: in their order, sustained before burst; of all
/// recorded problems if empty: in the order of recording. A finalist has samples of final rounds
/// only, and is compared with whoever ran in the same rounds at the same pace.
///
/// Several races of one problem in one environment, whichever card of the model they ran on, are
/// pooled: the winner is the finalist with the highest ratio to cublas, which is comparable between
/// races as time is not. With several environments, the newest that has a config's trial at the
/// problem answers. Of a config that was measured to the end several times the newest counts, and
/// one whose newest trial is not ok (verify found it wrong) is none. Brief races answer only where
/// none of full effort does.
///
/// Kernels of different sources are not mixed. If `is_current` says so of all configs of the newest
/// race, the results of which it says so count, of whatever race; else those of races with the
/// kernel sources of the newest one.
///
/// Objective kEnergy ranks by joules, over cublas' where they are known; where none were measured
/// (never in burst) time decides, and the row has no joules.
std::vector<BestRow> best_rows(std::span<const RecordedRace> races,
                               std::span<const GemmProblem> problems = {},
                               Objective objective = Objective::kTime,
                               const IsCurrent& is_current = {});

/// What swapping A and B was worth in a race that tried both ways.
struct MeasuredSwap {
  std::string swapped, as_is;  ///< the config of each way that had the highest ratio to cublas
  double speedup = 1;          ///< the first's ratio over the second's; above 1 swapping pays
};
/// From the newest race at the problem with a verified config of each way, measured to the end or
/// not; none if there is no such race.
std::optional<MeasuredSwap> measured_swap(std::span<const RecordedRace> races,
                                          const GemmProblem& problem);

}  // namespace hgemm
