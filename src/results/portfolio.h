// A small set of kernels for many problems, for projects that cannot ship one kernel per problem.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "results/replay.h"

namespace hgemm {

struct Portfolio {
  struct Choice {
    GemmProblem problem;
    Regime regime = Regime::kSustained;
    std::string label;    ///< config of the fastest of the kernels at this problem
    double fraction = 0;  ///< of the speed of the best config of all
  };
  /// Labels of the configs, in the order in which the kernels were chosen, with what else tells the
  /// kernels of a config apart: types other than bf16 ("bm64.... of fp16") and constant extents
  /// ("bm64....fixed for 512x512x512").
  std::vector<std::string> kernels;
  std::vector<Choice> choices;         ///< one for each truth that some kernel can compute
  std::vector<GemmProblem> uncovered;  ///< problems that no kernel can compute
};

/// Chooses at most `kernels` kernels for the highest geomean of fractions. Greedy: adds the kernel
/// that helps most, one after another, then exchanges kernels for better ones until there is no
/// improvement. The result is not always the best possible set.
Portfolio choose_portfolio(std::span<const Truth> truths, int kernels);

}  // namespace hgemm
