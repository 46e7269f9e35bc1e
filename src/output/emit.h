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

/// json: a list of objects with the fields of output/best_fields.cpp, null where not measured. csv:
/// the same columns. table and md: one block per environment. Its heading names the environment and
/// says how many cards and states of the kernel sources the rows come from. A block in one regime
/// has one row per shape. A block in both regimes has the columns of both beside each other, except
/// "% peak or TB/s" and ties, for which there is no room. A config that won in both regimes is
/// shown as "same". Below such a block, lines list the shapes at which the winners differ, and by
/// how much each winner is beaten in the other regime.
///
/// Below the rows comes the geomean of the ratios over the rows that have one, and also per tag
/// group (the part of the tag before '/') if there are several. Then comes the weighted total for
/// each M of each tag group that is complete and whose shapes differ in weight: our time for
/// running each shape as often as its weight says, and a baseline's time for the same over it.
/// There is no total over several M or groups, because weights do not give the proportion of
/// prefill and decode in a model. Each of these lines says what it covers.
///
/// A ratio is marked "[screened]" where only screening was measured, and "[few rounds]" where there
/// are too few rounds for an interval. A coloured ratio has an interval that excludes 1. Shapes of
/// low arithmetic intensity, which memory bounds, have no "% peak or TB/s" here. Energy has columns
/// if any row of the block has it. The ratios of the best config without PDL have columns in a
/// regime where a winner has PDL; a note says at how many shapes the lead is by PDL. Where configs
/// had to be batch-invariant, their price has a column, and a note says where it is not known. A
/// note below the table lists rows whose samples met a clock_event::kFault. Shapes that were never
/// recorded are listed last.
///
/// A row with BestRow::library shows it in place of the config (tables: before it). If any row has
/// one, the objects of json also have `config` and `cublaslt_algorithm`, unless columns are named.
///
/// `style.columns` and `style.sort` are fields, by name or heading, in every format.
std::string format_best(std::span<const BestRow> rows, const Style& style);

/// Throws InputError if the style names a column that format_best() does not know. Lets a command
/// check its options before long work.
void check_best_columns(const Style& style);

/// json: an object with rows, repeatability, lost, only_in_a, only_in_b, environment_changes
/// (output/comparison_fields.cpp). csv: the rows. table and md: the rows with the repeatability
/// below them. `style.columns` and `style.sort` are fields of the rows, in every format.
std::string format_comparison(const Comparison& comparison, const Style& style);

/// The same as check_best_columns(), for format_comparison().
void check_comparison_columns(const Style& style);

/// A machine as a JSON object, e.g. for results/<device>/environment.json.
std::string format_machine(const Machine& machine);

}  // namespace hgemm
