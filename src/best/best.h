// Best is a query over recorded races: nothing here is stored.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "statistics/statistics.h"
#include "store/store.h"

namespace hgemm {

struct Ratio {
  double value = 0;   ///< median over rounds of baseline time / our time; above 1 we are faster
  Interval interval;  ///< 95 % bootstrap interval of that median; NaNs if there is none: the row is
                      ///< only screened, or has fewer than kMinIntervalRounds
};

/// The range of n values covers their distribution's median with probability 1 - 2^(1-n): below six
/// rounds no interval can hold what "95 %" promises.
inline constexpr int kMinIntervalRounds = 6;

/// The fastest verified config of one shape, and how it stands. A shape that was asked for and
/// never recorded has no `started_utc`, no environment and no trials.
struct BestRow {
  Shape shape;
  Regime regime = Regime::kSustained;
  Environment environment;
  std::string started_utc;
  std::optional<std::string> label;  ///< none: no config ended ok at this shape
  /// kFinal: measured to the end. kScreen: no config was, so this is the fastest in screening,
  /// whose few rounds also chose it: its ratios have no interval and it has no ties. kNone: no
  /// label.
  Stage stage = Stage::kNone;
  std::optional<double> time_us;  ///< median
  std::optional<double> tflops;
  std::optional<Ratio> cublas;    ///< against cublasGemmEx's default
  std::optional<Ratio> cublaslt;  ///< against the fastest cuBLASLt heuristic result
  std::optional<double> cublas_time_us, cublaslt_time_us;
  std::string cublaslt_label;
  std::optional<double> sm_mhz;
  std::optional<double> peak_fraction;  ///< of dense tensor peak at sm_mhz: sm_count x 4096 x clock
  std::optional<double> joules;         ///< per GEMM; not measured yet
  bool verified = false;
  std::vector<std::string> ties;  ///< finalists that cannot be told from the winner (interval of
                                  ///< the per-round ratio to it contains 1), fastest first
  int trials = 0;                 ///< recorded configs at this shape, any status
  int failed = 0;                 ///< of them, not ok (invalid_config left out)
};

/// One row per shape and regime (in the order of `shapes`; of all recorded shapes if empty, in the
/// order of recording). Several races of one shape in one environment are pooled: the winner is the
/// finalist with the highest ratio to cublas, which is comparable between races as time is not.
/// With several environments, the newest that has a config's trial at the shape answers. A finalist
/// has samples of final rounds only, so what is compared with it are the baselines' final rounds.
std::vector<BestRow> best_rows(std::span<const RecordedRace> races,
                               std::span<const Shape> shapes = {});

}  // namespace hgemm
