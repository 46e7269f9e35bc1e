#include "studies/tuned.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/error.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "program/command.h"
#include "program/current.h"
#include "program/database.h"
#include "program/recorded.h"
#include "store/store.h"

namespace hgemm::cli {

Tuned::Tuned(const StudyOptions& options) {
  if (options.recorded && options.db) require_database(*options.db);
  const std::string db = options.db.value_or(kDefaultDatabase);
  if ((!options.recorded || options.db) && std::filesystem::exists(db)) {
    const Store store = Store::open(db, Store::Mode::kReadOnly);
    sources_.push_back({store.races(), current_among(store.builds())});
  }
  auto [races, builds] = shipped_results();
  sources_.push_back({std::move(races), current_among(builds)});
}

BestRow Tuned::best(const GemmProblem& problem) const {
  for (const Source& source : sources_) {
    // Sustained comes before burst.
    for (BestRow& row :
         best_rows(source.races, {&problem, 1}, Objective::kTime, source.is_current)) {
      if (row.label) return std::move(row);
    }
  }
  BestRow unknown;
  unknown.problem = problem;
  return unknown;
}

std::string Tuned::winner(const GemmProblem& problem) const {
  if (const char* reason = why_no_kernel(problem)) {
    throw InputError(fmt::format("no kernel can compute {}: {}", to_string(problem), reason));
  }
  const BestRow row = best(problem);
  if (row.label) return *row.label;
  throw InputError(fmt::format(
      "no configuration is known to be the best at {}: name one with --config, or tune the shape "
      "first",
      to_string(problem)));
}

namespace {

std::optional<std::string> fastest(const std::vector<RecordedRace>& races,
                                   const IsCurrent& is_current, const GemmProblem& problem,
                                   bool pdl) {
  std::vector<RecordedRace> here;
  for (const RecordedRace& race : races) {
    if (!race.race.problem.same_problem(problem)) continue;
    here.push_back(race);
    std::erase_if(here.back().race.trials, [&](const Trial& trial) {
      if (is_baseline(trial.label)) return false;
      const KernelConfig config = parse_label(trial.label);
      return (pdl_kind(config) != PdlKind::kOff) != pdl || why_not(config, problem);
    });
  }
  if (here.empty()) return std::nullopt;
  for (BestRow& row : best_rows(here, {&problem, 1}, Objective::kTime, is_current)) {
    if (row.label) return std::move(row.label);
  }
  return std::nullopt;
}

}  // namespace

PdlPair pdl_pair_of(const KernelConfig& config) {
  return {label(with_pdl(config, false)), label(with_pdl(config, true))};
}

PdlPair Tuned::pdl_pair(const GemmProblem& problem) const {
  for (const Source& source : sources_) {
    auto off = fastest(source.races, source.is_current, problem, false);
    auto on = fastest(source.races, source.is_current, problem, true);
    if (!off && !on) continue;
    // If this variant was never measured, toggle PDL; if no kernel supports that, use the same
    // config.
    const auto or_same = [&](const std::optional<std::string>& known, const std::string& toggled,
                             const std::string& same) {
      if (known) return *known;
      return why_not(parse_label(toggled), problem) ? same : toggled;
    };
    const std::string& known = off ? *off : *on;
    const PdlPair toggled = pdl_pair_of(parse_label(known));
    return {or_same(off, toggled.off, known), or_same(on, toggled.on, known)};
  }
  const std::string known = winner(problem);  // throws, unless the known config is no longer valid
  throw InputError(fmt::format("the best known config at {}, {}: the kernel no longer takes it: {}",
                               to_string(problem), known, why_not(parse_label(known), problem)));
}

}  // namespace hgemm::cli
