#include "program/report.h"

#include <fmt/format.h>

#include <set>

#include "families/family.h"
#include "gemm/codec.h"

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

bool for_programs(Format format) { return format == Format::kJson || format == Format::kCsv; }

void print_best(std::vector<BestRow> rows, Format format) {
  std::string impossible;
  if (!for_programs(format)) {
    std::erase_if(rows, [&](const BestRow& row) {
      const char* reason = why_no_kernel(row.problem);
      if (!reason) return false;
      const std::string line = fmt::format("Impossible: {}: {}\n", to_string(row.problem), reason);
      if (!impossible.ends_with(line)) impossible += line;  // one regime after the other
      return true;
    });
  }
  if (!rows.empty() || impossible.empty()) fmt::print("{}", format_best(rows, format));
  fmt::print("{}", impossible);
}

}  // namespace hgemm::cli
