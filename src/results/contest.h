// Who beats whom: our kernels, the libraries and the peers against one another, over many problems.
// Pure functions of best rows.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/best.h"

namespace hgemm {

/// Names of contestants. A peer's is its own.
inline constexpr std::string_view kOurs = "hgemm-tune";
inline constexpr std::string_view kOursWithoutPdl = "hgemm-tune without PDL";
inline constexpr std::string_view kCublas = "cuBLAS";
inline constexpr std::string_view kCublasLt = "best cuBLASLt";
inline constexpr std::string_view kBestLibrary = "best library";  ///< the faster one of the two

/// One contestant against another at one problem, in one race.
struct Bout {
  enum class Result { kWin, kTie, kLoss };

  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string contestant, opponent;
  std::string label;     ///< of what the contestant ran
  double cublas_us = 0;  ///< median time of cublas in that race: the size of the problem
  Ratio ratio;           ///< opponent's time over the contestant's; above 1 the contestant wins
  Result result = Result::kTie;
};

/// kWin and kLoss: the interval excludes 1 and the ratio differs from 1 by more than kTieMargin.
/// Everything else is a tie, also a ratio without an interval.
Bout::Result result_of(const Ratio& ratio);
std::string_view to_string(Bout::Result result);  ///< "win", "tie", "loss"

/// Problems of similar size, by the time of cublas.
std::string_view size_class(double cublas_us);  ///< "< 10 us", "10 to 50 us", ...
std::span<const std::string_view> size_classes();

/// The bouts between the same two over the problems of one size class, or of all.
struct Score {
  std::string contestant, opponent;
  Regime regime = Regime::kSustained;
  std::string size;  ///< a size class, or "all"
  int wins = 0, ties = 0, losses = 0;
  double geomean = 0;  ///< of the ratios
  /// 95 % interval of the geomean over problems like these: a bootstrap over the problems. NaNs for
  /// fewer than kMinIntervalRounds problems.
  Interval interval = {};

  int problems() const { return wins + ties + losses; }
};

/// A problem at which a peer has no time.
struct Exclusion {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string peer, reason;
};

struct Contest {
  std::vector<Bout> bouts;
  std::vector<Score> scores;
  std::vector<Exclusion> exclusions;
};

/// Removes each race of a problem and regime that fewer peers took part in than in another one that
/// has configs: bouts are within one race, so the best config among those that met the peers
/// stands for all.
void keep_races_with_peers(std::vector<RecordedRace>& races);

/// `rows`: best rows of all PDL kinds; `without_pdl`: those of configs without PDL, of the same
/// races. A row counts if its winner was measured to the end. Where both winners are the same
/// config, its bouts stand under both names.
Contest contest_of(std::span<const BestRow> rows, std::span<const BestRow> without_pdl);

}  // namespace hgemm
