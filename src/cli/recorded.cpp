#include "cli/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/resources.h"
#include "best/best.h"
#include "cli/report.h"
#include "compile/compiler.h"

namespace hgemm::cli {
namespace {

/// Shapes that the kernel could compute and that have no row in this regime.
int missing_in(Regime regime, std::span<const BestRow> rows, std::span<const Shape> shapes) {
  return static_cast<int>(std::ranges::count_if(shapes, [&](const Shape& shape) {
    return !why_unsupported(shape) && std::ranges::none_of(rows, [&](const BestRow& row) {
      return row.trials > 0 && row.regime == regime && row.shape.same_problem(shape);
    });
  }));
}

/// A sentence for each regime that shapes are missing in, and one for energy.
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
    if (const int missing = missing_in(regime, rows, question.shapes); missing > 0) {
      sentences.push_back(fmt::format("{} of {} shapes {} missing{}.", missing,
                                      question.shapes.size(), missing == 1 ? "is" : "are",
                                      in({&regime, 1})));
    }
  }
  if (const int missing = without_energy(rows); question.energy && missing > 0) {
    sentences.push_back(fmt::format("The energy of {} of {} shapes was not measured.", missing,
                                    question.shapes.size()));
  }
  return sentences;
}

}  // namespace

std::vector<RecordedRace> shipped_races() { return recorded_races("tune.db"); }

std::vector<RecordedRace> recorded_races(const std::string& name) {
  std::vector<RecordedRace> all;
  for (const auto& path : recorded_databases(name)) {
    auto races = Store::open(path.string(), Store::Mode::kReadOnly).races();
    std::ranges::move(races, std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, &RecordedRace::started_utc);
  return all;
}

std::string where_measured(const Environment& environment, const std::string& started_utc) {
  std::string where =
      fmt::format("{} (driver {}, CUDA {}) on {}", environment.gpu_name, environment.driver,
                  environment.cuda, started_utc.substr(0, started_utc.find('T')));
  if (environment.kernel_hash != kernel_source_hash()) where += " with other kernel sources";
  return where;
}

void answer_from_records(const Question& question, const std::string& why_no_gpu) {
  auto races = shipped_races();
  if (question.configs) keep_configs(races, *question.configs);
  auto rows = best_for(question.aim, races, question.shapes);
  std::vector<std::string> places;
  for (const BestRow& row : rows) {
    if (row.trials == 0 || why_unsupported(row.shape)) continue;
    const std::string place = where_measured(row.environment, row.started_utc);
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  const bool possible = std::ranges::any_of(
      question.shapes, [](const Shape& shape) { return !why_unsupported(shape); });
  std::string line = fmt::format("No Hopper GPU here ({}): nothing is measured now.", why_no_gpu);
  if (!places.empty()) line += fmt::format(" Recorded on {}.", fmt::join(places, "; "));
  const auto missing = what_is_missing(question, rows, places.empty());
  if (!missing.empty()) line += fmt::format(" {}", fmt::join(missing, " "));
  if (!missing.empty() && possible) {
    line += fmt::format(" To measure on a Hopper GPU: {}", question.command);
  }
  const bool alone = for_programs(question.format);
  fmt::print(alone ? stderr : stdout, "{}\n{}", line, alone ? "" : "\n");
  print_best(std::move(rows), question.format);
}

}  // namespace hgemm::cli
