#include "cli/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/resources.h"
#include "best/best.h"
#include "compile/compiler.h"

namespace hgemm::cli {
namespace {

/// "NVIDIA H200 (driver 580.1, CUDA 13.0) on 2026-01-31".
std::string where_measured(const BestRow& row) {
  const Environment& environment = row.environment;
  std::string where =
      fmt::format("{} (driver {}, CUDA {}) on {}", environment.gpu_name, environment.driver,
                  environment.cuda, row.started_utc.substr(0, row.started_utc.find('T')));
  if (environment.kernel_hash != kernel_source_hash()) where += " with older kernel sources";
  return where;
}

}  // namespace

std::vector<RecordedRace> shipped_races() {
  std::vector<RecordedRace> all;
  for (const auto& path : recorded_databases()) {
    auto races = Store::open(path.string(), Store::Mode::kReadOnly).races();
    std::ranges::move(races, std::back_inserter(all));
  }
  return all;
}

void answer_from_records(std::span<const Shape> shapes, Format format,
                         const std::string& why_no_gpu) {
  const auto rows = best_rows(shipped_races(), shapes);
  std::vector<std::string> places;
  std::vector<std::string> missing;
  for (const BestRow& row : rows) {
    if (row.trials == 0) {
      missing.push_back(to_string(row.shape));
    } else if (const std::string place = where_measured(row);
               std::ranges::find(places, place) == places.end()) {
      places.push_back(place);
    }
  }
  std::string line =
      fmt::format("No Hopper GPU here ({}): nothing is measured now. {}", why_no_gpu,
                  places.empty() ? "None of these shapes was recorded elsewhere."
                                 : fmt::format("Recorded on {}.", fmt::join(places, "; ")));
  if (!missing.empty() && !places.empty()) {
    line += fmt::format(" Missing, never recorded: {}.", fmt::join(missing, ", "));
  }
  const bool for_programs = format == Format::kJson || format == Format::kCsv;
  fmt::print(for_programs ? stderr : stdout, "{}\n{}", line, for_programs ? "" : "\n");
  fmt::print("{}", format_best(rows, format));
}

}  // namespace hgemm::cli
