#include "results/price.h"

#include <algorithm>

#include "base/error.h"

namespace hgemm {
namespace {

/// A config that only batch invariance rules out, and that ended ok.
bool is_ruled_out(const Trial& trial, const Allowed& allowed, const GemmKind& kind) {
  if (is_baseline(trial.label) || trial.status != Status::kOk) return false;
  try {
    const KernelConfig config = parse_label(trial.label);
    return !allows(allowed, config, kind) && allows({.pdl = allowed.pdl}, config);
  } catch (const InputError&) {
    return false;  // of a version that is not known
  }
}

/// Whether configs of other kinds were measured at the problem of `any`, the best of all. Without
/// them the best of any kind is not known.
bool has_others(const BestRow& any, std::span<const RecordedRace> races, const Allowed& allowed,
                const IsCurrent& is_current) {
  return std::ranges::any_of(races, [&](const RecordedRace& race) {
    if (race.race.regime != any.regime || race.environment != any.environment ||
        !race.race.problem.same_problem(any.problem)) {
      return false;
    }
    const bool same_sources = race.run.kernel_sources == any.run.kernel_sources;
    return std::ranges::any_of(race.race.trials, [&](const Trial& trial) {
      return is_ruled_out(trial, allowed, any.problem.kind()) &&
             (same_sources || (is_current && is_current(trial, any.problem)));
    });
  });
}

/// Times of different races are compared by way of cublas, which is in both.
std::optional<double> times_the_time(const BestRow& row, const BestRow& any) {
  if (row.cublas && any.cublas) return any.cublas->value / row.cublas->value;
  if (row.race_uid != any.race_uid || !row.time_us || !any.time_us) return std::nullopt;
  return *row.time_us / *any.time_us;
}

}  // namespace

void set_prices(std::span<BestRow> rows, std::span<const RecordedRace> races,
                const Allowed& allowed, const IsCurrent& is_current) {
  std::vector<GemmProblem> problems;
  for (const BestRow& row : rows) {
    const auto is_same = [&row](const GemmProblem& one) { return one.same_problem(row.problem); };
    if (std::ranges::none_of(problems, is_same)) problems.push_back(row.problem);
  }
  if (problems.empty()) return;  // best_rows() would answer for all
  const std::vector<BestRow> best = best_rows(races, problems, Objective::kTime, is_current);
  for (BestRow& row : rows) {
    row.price = InvariancePrice{};
    const auto any = std::ranges::find_if(best, [&row](const BestRow& one) {
      return one.regime == row.regime && one.environment == row.environment &&
             one.problem.same_problem(row.problem);
    });
    if (!row.label || any == best.end() || !any->label ||
        !has_others(*any, races, allowed, is_current)) {
      continue;
    }
    row.price = {.label = *any->label, .ratio = times_the_time(row, *any)};
  }
}

}  // namespace hgemm
