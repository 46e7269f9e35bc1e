// Comparison of two recordings: what became slower, and how well results repeat. Pure functions of
// recorded races.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/best.h"

namespace hgemm {

/// A value of B over one of A. Each is a median with an interval of its own; the interval of the
/// quotient comes from a bootstrap of both. Above 1, B is faster.
struct Change {
  double value = 0;
  Interval interval;  ///< 95 %; NaNs where either has fewer than kMinIntervalRounds
};

/// One shape and regime for which both recordings have a winner.
struct ComparedRow {
  BestRow a, b;
  /// Ratio to cublas of B's winner over that of A's winner. Effects that the candidate and cublas
  /// share (clock, temperature) cancel. The verdict uses this value where both ratios are known.
  std::optional<Change> ratio;
  std::optional<Change> time;  ///< A's winner's time over B's
  /// The same in cycles of the SM clock, without the effect of the clock.
  std::optional<Change> cycles;
  bool same_winner = false;  ///< both winners have the same label
  bool tied = false;         ///< each winner is among the other's ties, or the labels are equal
  /// Judged by `ratio`, or by `time` where there is no ratio. kSlower and kFaster: the interval
  /// excludes 1 and the value differs from 1 by more than kTieMargin.
  enum class Verdict { kSlower, kSame, kFaster, kUnknown } verdict = Verdict::kUnknown;
};

/// A candidate that was measured to the end in both recordings at one shape and regime.
struct RepeatedCandidate {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string label;
  double ratio_a = 0, ratio_b = 0;  ///< to cublas
  double moved() const;             ///< |b / a - 1|
};

/// How well results repeat in one regime.
struct Repeatability {
  Regime regime = Regime::kSustained;
  int problems = 0;  ///< in both
  int same_winner = 0;
  int agreeing = 0;    ///< same winner, or each winner in the other's tie set
  int candidates = 0;  ///< finalists of both recordings
  /// Median movement of the candidates' ratio to cublas; NaN if there are none.
  double median_moved = 0;
  double largest_moved = 0;
  double median_winner_moved = 0;  ///< the same for the ratio of the winners, whichever config won
  double largest_winner_moved = 0;
};

struct Comparison {
  std::vector<ComparedRow> rows;  ///< order: slower, unknown, same, faster; worst first within each
  std::vector<RepeatedCandidate> candidates;
  std::vector<Repeatability> repeatability;  ///< by regime
  /// Rows of B in which every config failed while A has a winner: the worst kind of regression.
  std::vector<BestRow> lost;
  /// The other has no winner there, and the problem is not in `lost`.
  std::vector<GemmProblem> only_in_a, only_in_b;
  /// Differences between the environments of the rows, such as "driver 580.1 -> 590.2", and between
  /// the paces of their samples. Empty if there are none.
  std::vector<std::string> environment_changes;
};

Comparison compare(std::span<const RecordedRace> a, std::span<const RecordedRace> b,
                   std::span<const GemmProblem> problems = {});

}  // namespace hgemm
