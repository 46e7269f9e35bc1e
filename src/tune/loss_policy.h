// Decides what losses of the measurer mean, and when to give up. Private to the module.
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
  /// A candidate passed verification, so the GPU did not cause the losses before.
  void clear_suspicion() { blamed_.clear(); }
  /// A sample was taken.
  void worked();
  void race_begins() { unexplained_ = 0; }

  // Both return the reason why the tune must end with this loss; none if it goes on.
  /// For a loss without a culprit.
  std::optional<std::string> unexplained(const MeasurerLost& loss, const GemmProblem& problem);
  /// For a loss that this candidate caused.
  std::optional<std::string> explained(const std::string& label, const MeasurerLost& loss,
                                       const GemmProblem& problem);

 private:
  int unexplained_ = 0;              ///< in a row, in this race
  std::vector<std::string> blamed_;  ///< culprits in a row, without a successful step in between
};

}  // namespace hgemm
