// Cycles by role and phase: the findings of a probe, and their recorded form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/study.h"

namespace hgemm {

inline constexpr std::string_view kProbeStudy = "probe";

/// Sum of the cycles of one phase of one role.
struct CycleFigure {
  std::string role;   ///< "producer", "consumer", "cta", ...
  std::string phase;  ///< "wait_full", "mma_issue", ...
  std::string unit;   ///< what `count` counts: "k_block", "tile", "cta" or "launch"
  std::int64_t count = 0;
  double cycles = 0;

  double mean() const { return count > 0 ? cycles / static_cast<double>(count) : 0; }
};

/// The recorded form: point "role.phase", metric "cycles", unit "clk/<unit>", the mean as value,
/// the count as samples.
std::vector<Figure> recorded_cycles(const std::vector<CycleFigure>& cycles);
std::vector<CycleFigure> cycles_of(const Study& study);

/// Whether the study's label is a config with cycle stamps: a database from another source may
/// contain any label.
bool has_stamped_config(const Study& study);

}  // namespace hgemm
