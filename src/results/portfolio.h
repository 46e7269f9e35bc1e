// Few kernels for many problems: what a project ships that cannot ship a kernel for each.
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
    std::string label;    ///< of the config of the fastest of the kernels at this problem
    double fraction = 0;  ///< of the speed of the best of all
  };
  /// In the order in which they were taken: the labels of their configs, and what else tells the
  /// kernels of a config apart: types other than bf16 ("bm64.... of fp16"), constant extents
  /// ("bm64....fixed for 512x512x512").
  std::vector<std::string> kernels;
  std::vector<Choice> choices;         ///< of each truth that some kernel can compute
  std::vector<GemmProblem> uncovered;  ///< of those that none can
};

/// At most `kernels` kernels, chosen for the highest geomean of fractions: one after another the
/// one that helps most, then each is exchanged for a better one while there is any. Not always the
/// best set there is.
Portfolio choose_portfolio(std::span<const Truth> truths, int kernels);

}  // namespace hgemm
