#include "results/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string_view>
#include <utility>

namespace hgemm {
namespace {

using Verdict = ComparedRow::Verdict;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr int kResamples = 2000;

/// Medians of resamples. The two recordings need generators of different seeds: with one seed the
/// draws would be alike, and the noise of one would cancel that of the other.
std::vector<double> resampled_medians(std::span<const double> values, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> resample(values.size());
  std::vector<double> medians(kResamples);
  for (double& result : medians) {
    std::ranges::generate(resample,
                          [&] { return values[(generator() >> 32) * values.size() >> 32]; });
    result = median(resample);
  }
  return medians;
}

/// Resamples both sides independently: they have no rounds in common.
Interval quotient_interval(std::span<const double> over, std::span<const double> under) {
  std::vector<double> quotients = resampled_medians(over, 1);
  const std::vector<double> divisors = resampled_medians(under, 2);
  std::ranges::transform(quotients, divisors, quotients.begin(), std::divides<>());
  std::ranges::sort(quotients);
  const std::size_t cut = kResamples / 40;  // 2.5 % on either side
  return {quotients[cut], quotients[kResamples - 1 - cut]};
}

/// nullopt where either has no value.
std::optional<Change> change_of(std::span<const double> over, std::span<const double> under,
                                bool to_the_end) {
  if (over.empty() || under.empty()) return std::nullopt;
  const auto enough = static_cast<std::size_t>(kMinIntervalRounds);
  const bool sure = to_the_end && over.size() >= enough && under.size() >= enough;
  return Change{median(over) / median(under),
                sure ? quotient_interval(over, under) : Interval{kNaN, kNaN}};
}

Verdict verdict_of(const std::optional<Change>& change) {
  if (!change || std::isnan(change->interval.low)) return Verdict::kUnknown;
  if (change->interval.high < 1 && change->value < 1 - kTieMargin) return Verdict::kSlower;
  if (change->interval.low > 1 && change->value > 1 + kTieMargin) return Verdict::kFaster;
  return Verdict::kSame;
}

bool has_tie(const BestRow& row, const std::string& label) {
  return std::ranges::find(row.ties, label) != row.ties.end();
}

ComparedRow compared(const BestRow& a, const BestRow& b) {
  ComparedRow row;
  row.a = a;
  row.b = b;
  const bool to_the_end = a.stage == Stage::kFinal && b.stage == Stage::kFinal;
  row.ratio = change_of(b.rounds.cublas, a.rounds.cublas, to_the_end);
  row.time = change_of(a.rounds.time_us, b.rounds.time_us, to_the_end);
  row.cycles = change_of(a.rounds.cycles, b.rounds.cycles, to_the_end);
  row.same_winner = a.label == b.label;
  row.tied = row.same_winner || (has_tie(a, *b.label) && has_tie(b, *a.label));
  row.verdict = verdict_of(row.ratio ? row.ratio : row.time);
  return row;
}

std::vector<BestRow> winners(std::span<const RecordedRace> races,
                             std::span<const GemmProblem> problems) {
  std::vector<BestRow> rows = best_rows(races, problems);
  std::erase_if(rows, [](const BestRow& row) { return !row.label; });
  return rows;
}

/// Worst first; rows without a change come last.
void sort_by_severity(std::vector<ComparedRow>& rows) {
  constexpr Verdict kOrder[] = {Verdict::kSlower, Verdict::kUnknown, Verdict::kSame,
                                Verdict::kFaster};
  std::ranges::stable_sort(rows, {}, [&](const ComparedRow& row) {
    const std::optional<Change>& change = row.ratio ? row.ratio : row.time;
    return std::pair(std::ranges::find(kOrder, row.verdict) - std::begin(kOrder),
                     change ? change->value : std::numeric_limits<double>::infinity());
  });
}

std::vector<RepeatedCandidate> repeated_candidates(std::span<const ComparedRow> rows) {
  std::vector<RepeatedCandidate> candidates;
  for (const ComparedRow& row : rows) {
    for (const Finalist& a : row.a.finalists) {
      const auto b = std::ranges::find(row.b.finalists, a.label, &Finalist::label);
      if (b == row.b.finalists.end() || !a.cublas || !b->cublas) continue;
      candidates.push_back(
          {row.a.problem, row.a.regime, a.label, a.cublas->value, b->cublas->value});
    }
  }
  return candidates;
}

double largest(std::span<const double> values) {
  return values.empty() ? kNaN : *std::ranges::max_element(values);
}

std::vector<Repeatability> repeatability_of(std::span<const ComparedRow> rows,
                                            std::span<const RepeatedCandidate> candidates) {
  std::vector<Repeatability> all;
  for (const Regime regime : kRegimes) {
    Repeatability repeats{.regime = regime};
    std::vector<double> moved, winner_moved;
    for (const ComparedRow& row : rows) {
      if (row.a.regime != regime) continue;
      ++repeats.problems;
      repeats.same_winner += row.same_winner ? 1 : 0;
      repeats.agreeing += row.tied ? 1 : 0;
      if (row.ratio) winner_moved.push_back(std::abs(row.ratio->value - 1));
    }
    if (repeats.problems == 0) continue;
    for (const RepeatedCandidate& candidate : candidates) {
      if (candidate.regime == regime) moved.push_back(candidate.moved());
    }
    repeats.candidates = static_cast<int>(moved.size());
    repeats.median_moved = median(moved);
    repeats.largest_moved = largest(moved);
    repeats.median_winner_moved = median(winner_moved);
    repeats.largest_winner_moved = largest(winner_moved);
    all.push_back(repeats);
  }
  return all;
}

std::vector<GemmProblem> only_in(std::span<const BestRow> rows, std::span<const BestRow> others) {
  std::vector<GemmProblem> problems;
  for (const BestRow& row : rows) {
    const auto same = [&row](const GemmProblem& problem) {
      return problem.same_problem(row.problem);
    };
    if (std::ranges::none_of(others, same, &BestRow::problem) &&
        std::ranges::none_of(problems, same)) {
      problems.push_back(row.problem);
    }
  }
  return problems;
}

std::vector<BestRow> lost_winners(std::span<const BestRow> winners_of_a,
                                  std::span<const BestRow> rows_of_b) {
  std::vector<BestRow> lost;
  for (const BestRow& row : rows_of_b) {
    const bool won_before = std::ranges::any_of(winners_of_a, [&row](const BestRow& winner) {
      return winner.regime == row.regime && winner.problem.same_problem(row.problem);
    });
    if (!row.label && row.failed > 0 && won_before) lost.push_back(row);
  }
  return lost;
}

/// Differences that may explain a change, beyond the conditions.
std::vector<std::string> changes_of_environment(std::span<const ComparedRow> rows) {
  std::vector<std::string> changes;
  const auto add = [&changes](std::string change) {
    if (std::ranges::find(changes, change) == changes.end()) changes.push_back(std::move(change));
  };
  const auto add_if_changed = [&add](const std::string& what, std::string_view a,
                                     std::string_view b) {
    const auto shown = [](std::string_view text) { return text.empty() ? "(none)" : text; };
    if (a != b) add(fmt::format("{} {} -> {}", what, shown(a), shown(b)));
  };
  for (const ComparedRow& row : rows) {
    const Environment &a = row.a.environment, &b = row.b.environment;
    for (std::string& change : differences(a, b)) add(std::move(change));
    add_if_changed("GPU uuid", row.a.run.gpu_uuid, row.b.run.gpu_uuid);
    add_if_changed("kernel sources", row.a.run.short_kernel_sources(),
                   row.b.run.short_kernel_sources());
    add_if_changed("revision", row.a.run.git_revision, row.b.run.git_revision);
    add_if_changed(fmt::format("pace of {} samples", to_string(row.a.regime)),
                   to_string(row.a.pace), to_string(row.b.pace));
  }
  return changes;
}

}  // namespace

double RepeatedCandidate::moved() const { return std::abs(ratio_b / ratio_a - 1); }

Comparison compare(std::span<const RecordedRace> a, std::span<const RecordedRace> b,
                   std::span<const GemmProblem> problems) {
  const std::vector<BestRow> rows_a = winners(a, problems), rows_b = winners(b, problems);
  Comparison comparison;
  for (const BestRow& row_a : rows_a) {
    const auto row_b = std::ranges::find_if(rows_b, [&row_a](const BestRow& row) {
      return row.regime == row_a.regime && row.problem.same_problem(row_a.problem);
    });
    if (row_b != rows_b.end()) comparison.rows.push_back(compared(row_a, *row_b));
  }
  sort_by_severity(comparison.rows);
  comparison.candidates = repeated_candidates(comparison.rows);
  comparison.repeatability = repeatability_of(comparison.rows, comparison.candidates);
  comparison.lost = lost_winners(rows_a, best_rows(b, problems));
  std::vector<BestRow> known_in_b = rows_b;
  std::ranges::copy(comparison.lost, std::back_inserter(known_in_b));
  comparison.only_in_a = only_in(rows_a, known_in_b);
  comparison.only_in_b = only_in(rows_b, rows_a);
  comparison.environment_changes = changes_of_environment(comparison.rows);
  return comparison;
}

}  // namespace hgemm
