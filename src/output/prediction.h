// Results of shapes, measured or predicted, as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "results/best.h"
#include "results/prediction.h"

namespace hgemm {

/// A shape in one regime on one GPU: the measured result, or else the prediction or the reason why
/// there is none.
struct Outlook {
  Regime regime = Regime::kSustained;
  std::string gpu_name;  ///< empty: nothing was measured in that regime
  std::optional<BestRow> measured;
  Prediction prediction;  ///< its label and ratio count only where nothing was measured

  const GemmProblem& problem() const { return prediction.problem; }
};

/// Errors of the predictions of a class, at its known rows.
struct OutlookErrors {
  Regime regime = Regime::kSustained;
  std::string gpu_name;
  Predictions::ClassErrors of_class;
};

/// json: an object with predictions (a list of objects m n k dtype layout lda ldb ldd data regime
/// gpu source label ratio_cublas ratio_cublas_low ratio_cublas_high confidence class from refusal)
/// and leave_one_out (a list of objects regime gpu class rows geomean least factor). csv: the
/// predictions without `from`.
///
/// `source` is "measured", "predicted", or null where the shape was refused; `refusal` then gives
/// the reason. `confidence` is 0.95 for a measured shape (null where there is no interval) and
/// kCoverage for a predicted one. The interval goes from the ratio divided by `factor` to the ratio
/// times `factor`.
std::string format_outlooks(std::span<const Outlook> outlooks,
                            std::span<const OutlookErrors> errors, const Style& style);

}  // namespace hgemm
