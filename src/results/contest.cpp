#include "results/contest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

#include "gemm/codec.h"
#include "record/peer.h"

namespace hgemm {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kResamples = 2000;

struct SizeClass {
  double below_us;
  std::string_view name;
};
constexpr std::array kSizeClasses = {
    SizeClass{10, "< 10 us"}, SizeClass{50, "10 to 50 us"}, SizeClass{500, "50 to 500 us"},
    SizeClass{std::numeric_limits<double>::infinity(), "> 500 us"}};

/// Percentile bootstrap over the values, with a fixed seed: the same values have the same interval.
Interval geomean_interval(std::span<const double> values) {
  if (values.size() < static_cast<std::size_t>(kMinIntervalRounds)) return {kNaN, kNaN};
  std::mt19937_64 generator(1);
  std::vector<double> resample(values.size());
  std::vector<double> means(kResamples);
  for (double& mean : means) {
    std::ranges::generate(resample,
                          [&] { return values[(generator() >> 32) * values.size() >> 32]; });
    mean = geomean(resample);
  }
  std::ranges::sort(means);
  const std::size_t cut = kResamples / 40;  // 2.5 % on either side
  return {means[cut], means[kResamples - 1 - cut]};
}

/// The library that is harder to beat: the one with the lower ratio.
const std::optional<Ratio>& harder(const std::optional<Ratio>& a, const std::optional<Ratio>& b) {
  if (!a) return b;
  return b && b->value < a->value ? b : a;
}

class Bouts {
 public:
  /// `us`: the name under which the row's config takes part.
  void add(const BestRow& row, std::string_view us) {
    if (!row.label || row.stage != Stage::kFinal || !row.cublas_time_us) return;
    add_against_libraries(row, std::string(us), *row.label, row.cublas, row.cublaslt);
    for (const PeerResult& peer : row.peers) {
      if (peer.winner) add(row, std::string(us), *row.label, peer.name, *peer.winner);
    }
  }
  void add_peers(const BestRow& row) {
    if (!row.label || row.stage != Stage::kFinal || !row.cublas_time_us) return;
    for (const PeerResult& peer : row.peers) {
      if (!peer.winner) continue;
      add_against_libraries(row, peer.name, peer.label, peer.cublas, peer.cublaslt);
    }
  }
  std::vector<Bout> take() { return std::move(bouts_); }

 private:
  void add_against_libraries(const BestRow& row, const std::string& name, const std::string& label,
                             const std::optional<Ratio>& cublas,
                             const std::optional<Ratio>& cublaslt) {
    if (cublas) add(row, name, label, kCublas, *cublas);
    if (cublaslt) add(row, name, label, kCublasLt, *cublaslt);
    if (const auto& best = harder(cublas, cublaslt)) add(row, name, label, kBestLibrary, *best);
  }
  void add(const BestRow& row, const std::string& name, const std::string& label,
           std::string_view opponent, const Ratio& ratio) {
    bouts_.push_back({.problem = row.problem,
                      .regime = row.regime,
                      .contestant = name,
                      .opponent = std::string(opponent),
                      .label = label,
                      .cublas_us = *row.cublas_time_us,
                      .ratio = ratio,
                      .result = result_of(ratio)});
  }

  std::vector<Bout> bouts_;
};

Score score_of(const Bout& like, std::string_view size, std::span<const Bout> bouts) {
  Score score{.contestant = like.contestant,
              .opponent = like.opponent,
              .regime = like.regime,
              .size = std::string(size)};
  std::vector<double> ratios;
  for (const Bout& bout : bouts) {
    if (bout.contestant != like.contestant || bout.opponent != like.opponent ||
        bout.regime != like.regime) {
      continue;
    }
    if (size != "all" && size_class(bout.cublas_us) != size) continue;
    ratios.push_back(bout.ratio.value);
    ++(bout.result == Bout::Result::kWin    ? score.wins
       : bout.result == Bout::Result::kLoss ? score.losses
                                            : score.ties);
  }
  score.geomean = geomean(ratios);
  score.interval = geomean_interval(ratios);
  return score;
}

/// Each pair of contestants in each regime, in the order in which they first met.
std::vector<Score> scores_of(std::span<const Bout> bouts) {
  std::vector<Score> scores;
  std::vector<std::tuple<Regime, std::string, std::string>> known;
  for (const Bout& bout : bouts) {
    const std::tuple pair{bout.regime, bout.contestant, bout.opponent};
    if (std::ranges::find(known, pair) != known.end()) continue;
    known.push_back(pair);
    scores.push_back(score_of(bout, "all", bouts));
    const int all = scores.back().problems();
    for (const std::string_view size : size_classes()) {
      Score score = score_of(bout, size, bouts);
      if (score.problems() > 0 && score.problems() < all) scores.push_back(std::move(score));
    }
  }
  return scores;
}

}  // namespace

Bout::Result result_of(const Ratio& ratio) {
  if (ratio.interval.low > 1 && ratio.value > 1 + kTieMargin) return Bout::Result::kWin;
  if (ratio.interval.high < 1 && ratio.value < 1 - kTieMargin) return Bout::Result::kLoss;
  return Bout::Result::kTie;
}

std::string_view to_string(Bout::Result result) {
  return result == Bout::Result::kWin ? "win" : result == Bout::Result::kLoss ? "loss" : "tie";
}

std::string_view size_class(double cublas_us) {
  return std::ranges::find_if(
             kSizeClasses,
             [cublas_us](const SizeClass& one) { return !(cublas_us >= one.below_us); })
      ->name;
}

std::span<const std::string_view> size_classes() {
  static constexpr std::array kNames = {kSizeClasses[0].name, kSizeClasses[1].name,
                                        kSizeClasses[2].name, kSizeClasses[3].name};
  return kNames;
}

void keep_races_with_peers(std::vector<RecordedRace>& races) {
  const auto peers_in = [](const RecordedRace& recorded) {
    std::set<std::string_view> names;
    bool has_config = false;
    for (const Trial& trial : recorded.race.trials) {
      if (is_peer(trial.label)) names.insert(peer_name(trial.label));
      has_config = has_config || !is_baseline(trial.label);
    }
    return has_config ? names.size() : 0;
  };
  std::map<std::pair<std::string, Regime>, std::size_t> most;
  const auto most_at = [&](const RecordedRace& recorded) -> std::size_t& {
    return most[{to_string(recorded.race.problem), recorded.race.regime}];
  };
  for (const RecordedRace& recorded : races) {
    most_at(recorded) = std::max(most_at(recorded), peers_in(recorded));
  }
  std::erase_if(
      races, [&](const RecordedRace& recorded) { return peers_in(recorded) < most_at(recorded); });
}

Contest contest_of(std::span<const BestRow> rows, std::span<const BestRow> without_pdl) {
  Contest contest;
  Bouts bouts;
  for (const BestRow& row : rows) bouts.add(row, kOurs);
  for (const BestRow& row : without_pdl) bouts.add(row, kOursWithoutPdl);
  const std::span<const BestRow> with_peers = rows.empty() ? without_pdl : rows;
  for (const BestRow& row : with_peers) bouts.add_peers(row);
  contest.bouts = bouts.take();
  contest.scores = scores_of(contest.bouts);
  for (const BestRow& row : with_peers) {
    for (const PeerResult& peer : row.peers) {
      if (peer.winner) continue;
      contest.exclusions.push_back({row.problem, row.regime, peer.name, peer.message});
    }
  }
  return contest;
}

}  // namespace hgemm
