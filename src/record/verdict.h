// Makes a verdict from the counts of a comparison. Device code includes it too.
#pragma once

#include "kernels/common/types.h"

namespace hgemm {

struct GemmProblem;
struct Verdict;

/// The comparison is written so that NaN fails.
HGEMM_HOST_DEVICE constexpr bool is_within(float error, float tolerance) {
  return error <= tolerance;
}

/// Counts of a comparison with the reference on the GPU.
struct OutputComparison {
  /// Largest error over the elements that are numbers, as GemmProblem::tolerance() defines it.
  float max_error;
  unsigned guard_writes;   ///< elements outside of D where the poison was overwritten
  unsigned long long bad;  ///< elements for which is_within() is false
  /// The lowest index of a bad element among those of all products, row by row; all ones if there
  /// is none.
  unsigned long long first_bad;
};

/// Correct if no element is bad, nothing else was written, and the largest error is within the
/// problem's tolerance for outputs that are rounded `roundings` times. The error is checked again
/// here, so that the verdict does not depend on the tolerance that the GPU was given.
Verdict judge(const OutputComparison& found, const GemmProblem& problem, int roundings);

}  // namespace hgemm
