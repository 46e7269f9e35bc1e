// Cycles by role and phase: what a probe finds out, and how it is recorded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/study.h"

namespace hgemm {

inline constexpr std::string_view kProbeStudy = "probe";

/// Cycles of one phase of one role, summed up.
struct CycleFigure {
  std::string role;   ///< "producer", "consumer", "cta", ...
  std::string phase;  ///< "wait_full", "mma_issue", ...
  std::string unit;   ///< what `count` counts: "k_block", "tile", "cta" or "launch"
  std::int64_t count = 0;
  double cycles = 0;

  double mean() const { return count > 0 ? cycles / static_cast<double>(count) : 0; }
};

/// Recorded as: point "role.phase", metric "cycles", unit "clk/<unit>", the mean as value, the
/// count as samples.
std::vector<Figure> recorded_cycles(const std::vector<CycleFigure>& cycles);
std::vector<CycleFigure> cycles_of(const Study& study);

/// Whether the study is of a config that has stamps: a database of others may name anything.
bool has_stamped_config(const Study& study);

}  // namespace hgemm
