// The rows of one environment as a table for people.
#pragma once

#include <span>
#include <vector>

#include "output/style.h"
#include "output/table.h"
#include "results/best.h"

namespace hgemm {

/// A problem, with a row for each regime of its block; null where there is none.
using BestLine = std::vector<const BestRow*>;

/// Results of one environment. Those of different ones never share a table, nor a mean those of
/// different regimes.
struct BestBlock {
  std::vector<Regime> regimes;
  std::vector<BestLine> lines;
  std::vector<const BestRow*> rows;
};

/// One for each environment that any row has, in the order of the rows.
std::vector<BestBlock> blocks_of(std::span<const BestRow> rows);

/// `all` are the rows of all blocks, and those that were never recorded: a total needs the whole
/// group. Columns are those of the style, or the ones that the block has.
Table table_of(const BestBlock& block, std::span<const BestRow> all, const Style& style);

}  // namespace hgemm
