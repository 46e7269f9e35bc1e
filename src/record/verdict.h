// From what was counted in an output to its verdict. Read by device code too.
#pragma once

#include "kernels/common/types.h"

namespace hgemm {

struct GemmProblem;
struct Verdict;

/// In the passing direction: NaN is over any tolerance.
HGEMM_HOST_DEVICE constexpr bool is_within(float error, float tolerance) {
  return error <= tolerance;
}

/// What a comparison with the reference counts on the GPU.
struct Comparison {
  float max_error;         ///< largest |out - ref| / (|ref| + 1) of the elements that are numbers
  unsigned guard_writes;   ///< elements of guard rows and padding without the poison
  unsigned long long bad;  ///< elements that are not is_within() the tolerance
  unsigned long long first_bad;  ///< the lowest index of one; all ones if there is none
};

/// Correct if no element is bad, nothing else was written and the largest error is within the
/// problem's tolerance for outputs that are rounded so often: what the GPU was given to count with
/// is not relied on.
Verdict judge(const Comparison& found, const GemmProblem& problem, int roundings);

}  // namespace hgemm
