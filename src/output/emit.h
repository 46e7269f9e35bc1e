// Best rows and comparisons as text: for people (table, markdown) and for programs (json, csv;
// stable formats).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "results/best.h"
#include "results/compare.h"

namespace hgemm {

enum class Format { kTable, kMarkdown, kJson, kCsv };
Format parse_format(std::string_view text);  ///< table | md | json | csv; throws InputError

/// json: a list of objects with m n k dtype layout tag regime label time_us tflops ratio_cublas
/// ratio_cublas_low ratio_cublas_high ratio_cublaslt ratio_cublaslt_low ratio_cublaslt_high sm_mhz
/// peak_fraction memory_tbps joules gflops_per_joule verified ties cublas_time_us cublaslt_time_us
/// cublaslt_label ratio_cublas_cycles cublas_joules cublaslt_joules clock_events effort problem
/// (the text key) a_dtype b_dtype d_dtype batch scaling epilogue pdl (off, safe, weights) kernel_id
/// gpu driver cuda cublas date; null where not measured. csv: the same columns.
///
/// table and md: one block per environment, headed by a line that names it and says of how many
/// cards and states of the kernel sources its rows are. A block in one regime has one line per
/// shape; a block in both has one line per shape with the columns of both (but for
/// "% peak or TB/s" and ties: there is no room), a config that won in both as "same", and below it
/// says at which shapes the winner differs and by how much each is beaten in the other's regime.
/// Then the geomean of the ratios over the rows that have them (and per tag group, the part of the
/// tag before '/', where there are several). Then, for each tag group that is all there and whose
/// shapes differ in weight, the weighted total: our time for running each shape as often as its
/// weight says, and a baseline's time for the same over it. There is none over groups: in what
/// proportion a model prefills and decodes, no weight says. A ratio says "[screened]" where only
/// screening was measured and "[few rounds]" where there are too few for an interval. Shapes of low
/// arithmetic intensity, whose bound is memory, have no "% peak or TB/s" here. Energy has columns
/// where any row of the block has it. Rows whose samples met a clock_event::kFault say so below the
/// table. Shapes that were never recorded are listed last.
std::string format_best(std::span<const BestRow> rows, Format format);

/// json: an object with rows, repeatability, lost, only_in_a, only_in_b, environment_changes; csv:
/// the rows. table and md: the rows with the repeatability below them.
std::string format_comparison(const Comparison& comparison, Format format);

/// A machine as a JSON object, e.g. for results/<device>/environment.json.
std::string format_machine(const Machine& machine);

}  // namespace hgemm
