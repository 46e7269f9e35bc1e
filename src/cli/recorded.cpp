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

/// "NVIDIA H200 (driver 580.1, CUDA 13.0) on 2026-01-31".
std::string where_measured(const BestRow& row) {
  const Environment& environment = row.environment;
  std::string where =
      fmt::format("{} (driver {}, CUDA {}) on {}", environment.gpu_name, environment.driver,
                  environment.cuda, row.started_utc.substr(0, row.started_utc.find('T')));
  if (environment.kernel_hash != kernel_source_hash()) where += " with other kernel sources";
  return where;
}

}  // namespace

std::vector<RecordedRace> shipped_races() {
  std::vector<RecordedRace> all;
  for (const auto& path : recorded_databases()) {
    auto races = Store::open(path.string(), Store::Mode::kReadOnly).races();
    std::ranges::move(races, std::back_inserter(all));
  }
  std::ranges::stable_sort(all, {}, &RecordedRace::started_utc);
  return all;
}

void answer_from_records(const Question& question, const std::string& why_no_gpu) {
  auto races = shipped_races();
  if (question.configs) keep_configs(races, *question.configs);
  auto rows = best_rows(races, question.shapes);
  std::vector<std::string> places;
  int missing = 0;
  for (const BestRow& row : rows) {
    if (why_unsupported(row.shape.m, row.shape.n, row.shape.k)) continue;
    if (row.trials == 0) {
      ++missing;
    } else if (const std::string place = where_measured(row);
               std::ranges::find(places, place) == places.end()) {
      places.push_back(place);
    }
  }
  const char* restricted = question.configs ? " with these configs" : "";
  std::string line = fmt::format(
      "No Hopper GPU here ({}): nothing is measured now. {}", why_no_gpu,
      places.empty() ? fmt::format("None of these shapes was recorded elsewhere{}.", restricted)
                     : fmt::format("Recorded on {}.", fmt::join(places, "; ")));
  if (missing > 0 && !places.empty()) {
    line += fmt::format(" {} of {} shapes {} missing{}.", missing, question.shapes.size(),
                        missing == 1 ? "is" : "are", restricted);
  }
  if (missing > 0) line += fmt::format(" To measure on a Hopper GPU: {}", question.command);
  const bool alone = for_programs(question.format);
  fmt::print(alone ? stderr : stdout, "{}\n{}", line, alone ? "" : "\n");
  print_best(std::move(rows), question.format);
}

}  // namespace hgemm::cli
