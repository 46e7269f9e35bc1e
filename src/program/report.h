// Output of best rows on stdout.
#pragma once

#include <span>
#include <vector>

#include "families/family.h"
#include "output/emit.h"
#include "results/best.h"

namespace hgemm::cli {

/// Removes the trials of all other configs; baselines stay.
void keep_configs(std::vector<RecordedRace>& races, std::span<const KernelConfig> configs);

/// Prints the rows. In tables for people, problems that no kernel can compute come last, each with
/// the reason, apart from problems that only have to be measured.
void print_best(std::vector<BestRow> rows, const Style& style);

}  // namespace hgemm::cli
