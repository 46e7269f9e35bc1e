#include "program/report.h"

#include <fmt/format.h>

#include <set>

#include "families/family.h"
#include "gemm/codec.h"
#include "output/table.h"

namespace hgemm::cli {

void keep_configs(std::vector<RecordedRace>& races, std::span<const KernelConfig> configs) {
  std::set<std::string> kept;
  for (const KernelConfig& config : configs) kept.insert(label(config));
  for (RecordedRace& race : races) {
    std::erase_if(race.race.trials, [&](const Trial& trial) {
      return !is_baseline(trial.label) && !kept.contains(trial.label);
    });
  }
}

void print_best(std::vector<BestRow> rows, const Style& style) {
  std::string impossible;
  if (!for_programs(style.format)) {
    std::erase_if(rows, [&](const BestRow& row) {
      const char* reason = why_no_kernel(row.problem);
      if (!reason) return false;
      const std::string line = fmt::format("Impossible: {}: {}\n", to_string(row.problem), reason);
      if (!impossible.ends_with(line)) impossible += line;  // a problem's regimes are adjacent
      return true;
    });
  }
  if (!rows.empty() || impossible.empty()) fmt::print("{}", format_best(rows, style));
  fmt::print("{}", joined(std::vector<Piece>{impossible}, style));
}

}  // namespace hgemm::cli
