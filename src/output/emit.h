// Best rows and comparisons as text: for people (table, markdown) and for programs (json, csv;
// stable formats).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "output/style.h"
#include "results/best.h"
#include "results/compare.h"

namespace hgemm {

/// json: a list of objects with the fields of output/best_fields.cpp, null where not measured; csv:
/// the same columns. table and md: one block per environment, headed by a line that names it and
/// says of how many cards and states of the kernel sources its rows are. A block in one regime has
/// one row per shape; a block in both has the columns of both beside one another (but for
/// "% peak or TB/s" and ties: there is no room), a config that won in both as "same", and below it
/// says at which shapes the winner differs and by how much each is beaten in the other's regime.
///
/// Below the rows: the geomean of the ratios over those that have them (and per tag group, the part
/// of the tag before '/', where there are several). Then, for each M of each tag group that is all
/// there and whose shapes differ in weight, the weighted total: our time for running each shape as
/// often as its weight says, and a baseline's time for the same over it. There is none over several
/// M or groups: in what proportion a model prefills and decodes, no weight says. Each of these
/// lines says what it is over.
///
/// A ratio says "[screened]" where only screening was measured and "[few rounds]" where there are
/// too few for an interval; its colour, where there is one, says that its interval excludes 1.
/// Shapes of low arithmetic intensity, whose bound is memory, have no "% peak or TB/s" here. Energy
/// has columns where any row of the block has it. Rows whose samples met a clock_event::kFault say
/// so below the table. Shapes that were never recorded are listed last.
///
/// `style.columns` and `style.sort` are fields, by name or heading, in every format.
std::string format_best(std::span<const BestRow> rows, const Style& style);

/// Throws InputError if the style names a column that format_best() does not know: for a command
/// that has much to do before.
void check_best_columns(const Style& style);

/// json: an object with rows, repeatability, lost, only_in_a, only_in_b, environment_changes
/// (output/comparison_fields.cpp); csv: the rows. table and md: the rows with the repeatability
/// below them. `style.columns` and `style.sort` are fields of the rows, in every format.
std::string format_comparison(const Comparison& comparison, const Style& style);

/// As check_best_columns().
void check_comparison_columns(const Style& style);

/// A machine as a JSON object, e.g. for results/<device>/environment.json.
std::string format_machine(const Machine& machine);

}  // namespace hgemm
