// What is known of shapes, measured or predicted, as text.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/emit.h"
#include "results/best.h"
#include "results/prediction.h"

namespace hgemm {

/// A shape in one regime on one GPU: what was measured, or else what is predicted or why nothing
/// is.
struct Outlook {
  Regime regime = Regime::kSustained;
  std::string gpu_name;  ///< empty: nothing was measured in that regime
  std::optional<BestRow> measured;
  Prediction prediction;  ///< of the shape; its label and ratio count where nothing was measured

  const GemmProblem& problem() const { return prediction.problem; }
};

/// How wrong predictions of a class were at the rows that are known.
struct OutlookErrors {
  Regime regime = Regime::kSustained;
  std::string gpu_name;
  Predictions::ClassErrors of_class;
};

/// json: an object with predictions (a list of objects m n k dtype layout lda ldb ldd regime gpu
/// source label ratio_cublas ratio_cublas_low ratio_cublas_high confidence class from refusal) and
/// leave_one_out (a list of objects regime gpu class rows geomean least factor). source is
/// "measured" (then confidence is 0.95, or null where there is no interval) or "predicted"
/// (kCoverage); null where the shape was refused, which `refusal` says why. `factor` is what the
/// interval is the ratio divided and multiplied by. csv: the predictions, but for from.
std::string format_outlooks(std::span<const Outlook> outlooks,
                            std::span<const OutlookErrors> errors, const Style& style);

}  // namespace hgemm
