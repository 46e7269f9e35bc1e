// The best config of each problem, as a query over recorded races. Nothing here is stored.
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
  double value = 0;   ///< median over rounds of baseline time / our time; above 1 ours is faster
  Interval interval;  ///< 95 % interval of that median; NaNs where there is none: the row is only
                      ///< screened or has fewer than kMinIntervalRounds rounds
};

/// The range of n values covers the median of their distribution with probability 1 - 2^(1-n). With
/// fewer than six rounds no interval has 95 % coverage.
inline constexpr int kMinIntervalRounds = 6;

/// Relative margin below which two configs count as equal. From one tune to the next the ratio of a
/// finalist to cublas moves by 0.1 to 0.4 % in the median (results/h200/repeatability.md).
inline constexpr double kTieMargin = 0.005;

/// The quantity that configs are ranked by.
enum class Objective : std::uint8_t { kTime, kEnergy };

/// A config that was measured to the end at a row's problem, in the row's regime.
struct Finalist {
  std::string label;
  std::optional<Ratio> cublas;
  /// To the winner; below 1 it is slower; nullopt if the winner ran in another race.
  std::optional<Ratio> winner;
  std::optional<double> joules;
};

/// What another card of the model found about a row's winner, which it measured to the end too.
struct SecondCard {
  std::string gpu_uuid;
  std::string label;            ///< the best config there
  std::optional<Ratio> winner;  ///< of the row's winner to that config there; 1: they are the same
  bool agrees = false;          ///< the row's winner is the best there, or ties with it
};

/// The fastest variant of a peer in the race of a row's winner.
struct PeerResult {
  std::string name;
  /// Of the fastest variant. Empty if no variant has a sample; `message` then says why.
  std::string label = {};
  std::string message = {};            ///< what the variant is, or why there is none
  std::optional<double> time_us = {};  ///< median, in the rounds of the winner
  std::optional<Ratio> winner =
      {};  ///< the peer's time over the winner's; above 1 the winner is faster
  std::optional<Ratio> cublas = {};    ///< cublas' time over the peer's; above 1 the peer is faster
  std::optional<Ratio> cublaslt = {};  ///< the same with the row's cuBLASLt algorithm
};

/// The best config without PDL at a row's problem, in the row's regime: what the row would answer
/// if PDL were not allowed. From the same pooled races, ranked by the same objective.
struct WithoutPdl {
  std::string label;
  Stage stage = Stage::kNone;     ///< kScreen: no such config was measured to the end
  std::optional<double> time_us;  ///< median; as in a row, none if screened in sustained
  /// As those of a row, each in the race of this config. No interval if it is only screened.
  std::optional<Ratio> cublas, cublaslt;
};

/// What a row costs whose config had to be batch-invariant (results/price.h).
struct InvariancePrice {
  std::string label = {};  ///< the best config of any kind; empty: none of another kind is known
  std::optional<double> ratio = {};  ///< the row's time over that config's
};

/// The best verified config of one problem and regime, with its measurements. A problem that was
/// requested but never recorded has no `started_utc`, no environment and no trials.
struct BestRow {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  Environment environment;
  RunInfo run;  ///< card, host and program of the winner's race
  std::string started_utc;
  std::string race_uid;              ///< of the winner's race; empty without a label
  std::optional<std::string> label;  ///< nullopt: no config ended ok at this problem
  std::string kernel_id;             ///< Trial::kernel_id of the winner
  /// kFinal: the winner was measured to the end. kScreen: no config was, so the winner is the
  /// fastest in screening. The few screening rounds also chose it, so its ratios have no interval
  /// and it has no ties. In the sustained regime it has no times and no clock either, because
  /// screening is not at full load. kNone: no label.
  Stage stage = Stage::kNone;
  Pace pace = Pace::kShared;      ///< of the winner's samples
  bool brief = false;             ///< the winner's race was brief (see Timing)
  std::optional<int> neighbours;  ///< of the winner's race (see Timing)
  std::optional<double> time_us;  ///< median
  std::optional<double> tflops;
  std::optional<Ratio> cublas;  ///< against cublasGemmEx's default
  /// Against the fastest cuBLASLt heuristic result among those that stayed to the end with the
  /// winner.
  std::optional<Ratio> cublaslt;
  std::optional<double> cublas_time_us, cublaslt_time_us;
  std::string cublaslt_label;
  std::vector<PeerResult> peers;   ///< of the winner's race, by name
  std::string cublaslt_algorithm;  ///< the text of its LtAlgorithm, or an older text; may be empty
  /// Set by name_libraries(): what the label column shows in place of the config; else empty.
  std::string library;
  std::optional<double> sm_mhz;
  /// Fraction of the dense tensor peak at sm_mhz: sm_count x 4096 x clock.
  std::optional<double> peak_fraction;
  /// Median of the per-round ratios of cycles (time x clock): the ratio to cublas if both ran at
  /// the same clock.
  std::optional<double> cublas_cycles;
  std::optional<double> joules;         ///< per GEMM, over a window of seconds at full load
  std::optional<double> cublas_joules;  ///< measured in the same race
  std::optional<double> cublaslt_joules;
  /// In the regime single: of the winner, and of the baselines in the same race.
  std::optional<CallTime> calls, cublas_calls, cublaslt_calls;
  std::uint64_t clock_events = 0;  ///< all clock events seen with samples of this row (clock_event)
  bool verified = false;
  /// Largest errors of the outputs of the winner and of cublas when they were checked
  /// (Verdict::error).
  std::optional<double> error, cublas_error;
  /// Objective kTime: finalists of the winner's race that cannot be told from it, fastest first.
  /// That is the case where the interval of Finalist::winner reaches above 1 / (1 + kTieMargin), or
  /// where there is no interval. Objective kEnergy: finalists with joules within kTieMargin.
  std::vector<std::string> ties;
  /// The newest race of another card in which the winner met other configs in the final, at the
  /// same effort.
  std::optional<SecondCard> second_card;
  /// The winner itself where it has no PDL; nullopt if no config without PDL ended ok.
  std::optional<WithoutPdl> without_pdl;
  std::optional<InvariancePrice> price;  ///< nullopt: any config may answer
  std::vector<Finalist> finalists;  ///< the winner, then the others, best first; empty if screened
  /// The values behind the winner's medians, one per round, for callers that resample them.
  /// `cublas` lacks the rounds without a sample of cublas; `cycles` lacks the rounds without a
  /// clock.
  struct Rounds {
    std::vector<double> time_us, cycles, cublas;
  };
  Rounds rounds;
  int trials = 0;  ///< recorded configs at this problem, any status
  int failed = 0;  ///< those that are not ok (invalid_config left out)
};

/// Tells whether a trial at a problem used the kernel that its config has in this program
/// (CurrentKernels::is_current). An empty function: not known.
using IsCurrent = std::function<bool(const Trial&, const GemmProblem&)>;

/// Returns one row per problem and regime. With `problems`: in their order, for each in the order
/// of kRegimes. Without: all recorded problems in the order of recording. A finalist has samples of
/// final rounds only. It is compared with candidates that ran in the same rounds at the same pace.
///
/// Several races of one problem in one environment are pooled, whichever card of the model they ran
/// on. The winner is the finalist with the highest ratio to cublas: ratios are comparable between
/// races, times are not. With several environments, the newest one that has a trial of a config at
/// the problem answers. If a config was measured to the end several times, its newest trial counts.
/// A config is left out if its newest trial is not ok (verify found it wrong). Brief races answer
/// only where there is no race of full effort.
///
/// Kernels of different sources are not mixed. If `is_current` is true for all configs of the
/// newest race, the results for which it is true count, from any race. Otherwise the results of
/// races with the kernel sources of the newest race count.
///
/// Objective kEnergy ranks by joules, relative to those of cublas where they are known. Where no
/// joules were measured (always so in burst), time decides and the row has no joules.
std::vector<BestRow> best_rows(std::span<const RecordedRace> races,
                               std::span<const GemmProblem> problems = {},
                               Objective objective = Objective::kTime,
                               const IsCurrent& is_current = {});

enum class Fastest : std::uint8_t { kConfig, kCublas, kCublasLt };
/// The fastest of a row's config, cublas and its cublaslt_label, by the medians of the ratios in
/// the winner's race: a library is faster if its ratio is below 1. A row without a label has
/// kConfig.
Fastest fastest_of(const BestRow& row);
/// "cublas" or the row's cublaslt_label; empty if the config is the fastest.
std::string fastest_library(const BestRow& row);
/// Sets BestRow::library of the rows whose fastest is a library.
void name_libraries(std::span<BestRow> rows);

/// The other configs of a race that have samples of the same rounds of the final as this one. One
/// of the two was measured to the end; the other may have left as clearly slower.
std::vector<const Trial*> met_in_final(const Race& race, const Trial& trial);

/// The gain from swapping A and B, from a race that tried both ways.
struct MeasuredSwap {
  std::string swapped, as_is;  ///< for each way, the config with the highest ratio to cublas
  double speedup = 1;          ///< ratio of `swapped` over that of `as_is`; above 1 swapping pays
};
/// Takes the newest race at the problem that has a verified config of each way, measured to the end
/// or not. nullopt if there is no such race.
std::optional<MeasuredSwap> measured_swap(std::span<const RecordedRace> races,
                                          const GemmProblem& problem);

}  // namespace hgemm
