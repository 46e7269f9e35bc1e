// Lays out the rows of one environment as a table for people.
#pragma once

#include <span>
#include <vector>

#include "output/style.h"
#include "output/table.h"
#include "results/best.h"

namespace hgemm {

/// The rows of one problem, one for each regime of its block; null where there is no row.
using BestLine = std::vector<const BestRow*>;

/// Results of one environment in regimes that are shown side by side. Results of different
/// environments never share a table, and results of different regimes never share a mean.
struct BestBlock {
  std::vector<Regime> regimes;
  std::vector<BestLine> lines;
  std::vector<const BestRow*> rows;
};

/// A block for sustained and burst, and one for each other regime, of each environment, in the
/// order of the rows.
std::vector<BestBlock> blocks_of(std::span<const BestRow> rows);

/// `all` holds the rows of all blocks and the problems that were never recorded: a total needs the
/// whole group. The columns are those that the style names, or else those that the block has.
Table table_of(const BestBlock& block, std::span<const BestRow> all, const Style& style);

}  // namespace hgemm
