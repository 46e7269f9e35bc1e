// Best rows as text: for people (table, markdown) and for programs (json, csv; stable formats).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "best/best.h"

namespace hgemm {

enum class Format { kTable, kMarkdown, kJson, kCsv };
Format parse_format(std::string_view text);  ///< table | md | json | csv; throws InputError

/// json: a list of objects with m n k dtype layout tag regime label time_us tflops ratio_cublas
/// ratio_cublas_low ratio_cublas_high ratio_cublaslt ratio_cublaslt_low ratio_cublaslt_high sm_mhz
/// peak_fraction joules verified ties cublas_time_us cublaslt_time_us cublaslt_label; null where
/// not measured. csv: the same columns. table and md: one block per environment and regime, headed
/// by a line that names them, with one line per shape and the geomean of the ratios over the rows
/// that have them (and per tag group, the part of the tag before '/', where there are several).
/// Then, for each tag group that is all there and whose shapes differ in weight, the weighted
/// total: our time for running each shape as often as its weight says, and a baseline's time for
/// the same over it. There is none over groups: in what proportion a model prefills and decodes, no
/// weight says. A ratio says "[screened]" where only screening was measured and "[few rounds]"
/// where there are too few for an interval. Shapes of low arithmetic intensity, whose bound is
/// memory, have no "% peak" here. Shapes that were never recorded are listed last.
std::string format_best(std::span<const BestRow> rows, Format format);

/// Environment as a JSON object, e.g. for results/<device>/environment.json.
std::string format_environment(const Environment& environment);

}  // namespace hgemm
