// Two recordings side by side: what became slower, and how well results repeat. Pure functions of
// recorded races.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/best.h"

namespace hgemm {

/// A value of B over one of A, each a median with an interval of its own: the interval of the
/// quotient is by bootstrap of both. Above 1, B is faster.
struct Change {
  double value = 0;
  Interval interval;  ///< 95 %; NaNs where either has fewer than kMinIntervalRounds
};

/// One shape and regime that both recordings have a winner of.
struct ComparedRow {
  BestRow a, b;
  /// Ratio to cublas of B's winner over that of A's: what changed, with everything taken out that
  /// both candidate and cublas see (clock, temperature). What is compared if both are known.
  std::optional<Change> ratio;
  std::optional<Change> time;    ///< A's winner's time over B's
  std::optional<Change> cycles;  ///< the same in cycles of the SM clock: with the clock taken out
  bool same_winner = false;      ///< one label
  bool tied = false;             ///< each winner is the other's tie (or the same label)
  /// Told apart by the ratio (by time where there is none): the interval excludes 1 and the value
  /// is further from it than kTieMargin.
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
  int agreeing = 0;         ///< same winner, or each in the other's tie set
  int candidates = 0;       ///< finalists of both recordings
  double median_moved = 0;  ///< of them: how far the ratio to cublas moved; NaN if there are none
  double largest_moved = 0;
  double median_winner_moved = 0;  ///< ratio to cublas of whatever won
  double largest_winner_moved = 0;
};

struct Comparison {
  std::vector<ComparedRow> rows;  ///< slower first, then unknown, same, faster; worst first in each
  std::vector<RepeatedCandidate> candidates;
  std::vector<Repeatability> repeatability;  ///< by regime
  /// Rows of B where every config failed and A has a winner: the worst of regressions.
  std::vector<BestRow> lost;
  std::vector<GemmProblem> only_in_a, only_in_b;  ///< the other has neither a winner nor lost it
  /// "driver 580.1 -> 590.2": how the environments of the rows differ, and the paces of their
  /// samples; empty if they do not.
  std::vector<std::string> environment_changes;
};

Comparison compare(std::span<const RecordedRace> a, std::span<const RecordedRace> b,
                   std::span<const GemmProblem> problems = {});

}  // namespace hgemm
