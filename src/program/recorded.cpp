#include "program/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/console.h"
#include "base/resources.h"
#include "compile/compiler.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "output/table.h"
#include "program/current.h"
#include "program/report.h"
#include "results/best.h"

namespace hgemm::cli {
namespace {

/// The number of problems that a kernel can compute and that have no row in this regime.
int missing_in(Regime regime, std::span<const BestRow> rows,
               std::span<const GemmProblem> problems) {
  return static_cast<int>(std::ranges::count_if(problems, [&](const GemmProblem& problem) {
    return !why_no_kernel(problem) && std::ranges::none_of(rows, [&](const BestRow& row) {
      return row.trials > 0 && row.regime == regime && row.problem.same_problem(problem);
    });
  }));
}

/// A sentence for each regime with missing shapes, and one for energy.
std::vector<std::string> what_is_missing(const Question& question, std::span<const BestRow> rows,
                                         bool nothing_known) {
  const std::vector<Regime>& regimes = question.aim.regimes;
  const bool obvious = regimes == std::vector{Regime::kSustained};  // the default
  const auto in = [&](std::span<const Regime> which) {
    return (question.configs ? " with these configs" : "") +
           (obvious ? "" : " in " + in_words(which));
  };
  if (nothing_known) {
    return {fmt::format("None of these shapes was recorded elsewhere{}.", in(regimes))};
  }
  std::vector<std::string> sentences;
  for (const Regime& regime : regimes) {
    if (const int missing = missing_in(regime, rows, question.problems); missing > 0) {
      sentences.push_back(fmt::format("{} of {} shapes {} missing{}.", missing,
                                      question.problems.size(), missing == 1 ? "is" : "are",
                                      in({&regime, 1})));
    }
  }
  if (const int missing = without_energy(rows); question.energy && missing > 0) {
    sentences.push_back(fmt::format("The energy of {} of {} shapes was not measured.", missing,
                                    question.problems.size()));
  }
  return sentences;
}

/// Oldest first.
std::vector<RecordedRace> races_in(std::span<const std::filesystem::path> databases) {
  std::vector<RecordedRace> all;
  for (const auto& path : databases) {
    auto races = Store::open(path.string(), Store::Mode::kReadOnly).races();
    std::ranges::move(races, std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, &RecordedRace::started_utc);
  return all;
}

}  // namespace

std::vector<RecordedRace> shipped_races() { return races_in(answering_databases()); }

RacesAndBuilds shipped_results() {
  RacesAndBuilds all;
  for (const auto& path : answering_databases()) {
    const Store store = Store::open(path.string(), Store::Mode::kReadOnly);
    std::ranges::move(store.races(), std::back_inserter(all.races));
    std::ranges::move(store.builds(), std::back_inserter(all.builds));
  }
  std::ranges::stable_sort(all.races, {}, &RecordedRace::started_utc);
  return all;
}

std::vector<RecordedRace> recorded_races(const std::string& name) {
  return races_in(recorded_databases(name));
}

std::string where_measured(const Environment& environment, const RunInfo& run,
                           const std::string& started_utc) {
  std::string where =
      fmt::format("{} (driver {}, CUDA {}) on {}", environment.gpu_name, environment.driver,
                  environment.cuda, started_utc.substr(0, started_utc.find('T')));
  if (run.kernel_sources != kernel_source_hash()) where += " with other kernel sources";
  return where;
}

void answer_from_records(const Question& question, const std::string& why) {
  auto [races, builds] = shipped_results();
  if (question.configs) keep_configs(races, *question.configs);
  auto rows = best_for(question.aim, races, question.problems, current_among(builds));
  std::vector<std::string> places;
  for (const BestRow& row : rows) {
    if (row.trials == 0 || why_no_kernel(row.problem)) continue;
    const std::string place = where_measured(row.environment, row.run, row.started_utc);
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  const bool possible = std::ranges::any_of(
      question.problems, [](const GemmProblem& problem) { return !why_no_kernel(problem); });
  std::string line = why;
  if (!places.empty()) line += fmt::format(" Recorded on {}.", fmt::join(places, "; "));
  const auto missing = what_is_missing(question, rows, places.empty());
  if (!missing.empty()) line += fmt::format(" {}", fmt::join(missing, " "));
  if (!missing.empty() && possible) {
    line += fmt::format(" To measure on a Hopper GPU: {}", question.command);
    if (question.aim.objective == Objective::kTime && !question.configs) {
      line += fmt::format(" To predict: hgemm-tune best --recorded --predict {}", question.shapes);
    }
  }
  const bool alone = for_programs(question.style.format);
  if (alone) {
    say("{}\n", line);
  } else {
    fmt::print("{}\n", joined(std::vector<Piece>{line + "\n"}, question.style));
  }
  print_best(std::move(rows), question.style);
}

}  // namespace hgemm::cli
