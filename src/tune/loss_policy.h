// What is concluded from losses of the measurer, and when to give up. Private to the module.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/measurer.h"
#include "gemm/problem.h"

namespace hgemm {

/// Counts losses in a row, over all races of a tune.
class LossPolicy {
 public:
  /// A candidate came through verification: none of the losses before was the GPU's own.
  void clear_suspicion() { blamed_.clear(); }
  /// Something was timed.
  void worked();
  void race_begins() { unexplained_ = 0; }

  // Why the tune must end with this loss; none: it goes on.
  /// Nobody is to blame.
  std::optional<std::string> unexplained(const MeasurerLost& loss, const GemmProblem& problem);
  /// This candidate is.
  std::optional<std::string> explained(const std::string& label, const MeasurerLost& loss,
                                       const GemmProblem& problem);

 private:
  int unexplained_ = 0;              ///< in a row, in this race
  std::vector<std::string> blamed_;  ///< in a row; nothing worked in between
};

}  // namespace hgemm
