// The problems that no kernel of a bundle computed.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "gemm/problem.h"
#include "hgemm_bundle.h"

namespace hgemm_runtime {

/// The problem of the C interface as the rest of the project describes it.
hgemm::GemmProblem gemm_problem(const hgemm::ProblemExtents& p, const hgemm::GemmKind& kind);

/// Whether what returns this status is one, which a tune would help.
inline bool is_miss(int status) {
  return status == HGEMM_TUNED_NO_KERNEL || status == HGEMM_BUNDLE_NOT_TUNED;
}

class Misses {
 public:
  using Counter = std::atomic<long long>;
  /// The counter of a problem, which stays where it is.
  Counter& counter_of(const hgemm::GemmProblem& problem);
  /// A file for --shapes, whose weights are the counts. `bundle` names it in the comment.
  std::string yaml(const std::string& bundle) const;

 private:
  struct Miss {
    hgemm::GemmProblem problem;
    Counter count{0};
  };
  mutable std::mutex mutex_;
  std::map<std::string, Miss> misses_;  ///< by the problem's key
};

}  // namespace hgemm_runtime
