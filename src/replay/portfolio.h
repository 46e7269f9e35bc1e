// Few kernels for many shapes: what a project ships that cannot ship a kernel for each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "replay/replay.h"

namespace hgemm {

struct Portfolio {
  struct Choice {
    Shape shape;
    Regime regime = Regime::kSustained;
    std::string label;    ///< the fastest of the kernels at this shape
    double fraction = 0;  ///< of the speed of the best of all
  };
  std::vector<std::string> labels;  ///< the kernels, in the order in which they were taken
  std::vector<Choice> choices;      ///< of each truth that some kernel can compute
  std::vector<Shape> uncovered;     ///< of those that none can
};

/// At most `kernels` configs, chosen for the highest geomean of fractions: one after another the
/// one that helps most, then each is exchanged for a better one while there is any. Not always the
/// best set there is.
Portfolio choose_portfolio(std::span<const Truth> truths, int kernels);

}  // namespace hgemm
