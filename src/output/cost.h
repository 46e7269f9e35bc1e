// Predictions of the cost model as text, term by term.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "search/figures.h"

namespace hgemm {

struct PredictedConfig {
  GemmProblem problem;
  std::string label;
  Cost cost;
};

/// json: a list of objects m n k dtype layout lda ldb ldd data label predicted_us bound terms (an
/// object of us by term). csv: the same without terms. table and md: one table for each shape, with
/// a column for each term.
std::string format_costs(std::span<const PredictedConfig> predictions, const Style& style);

}  // namespace hgemm
