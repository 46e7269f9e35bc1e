// A config for a shape that was never measured, from what was measured at others.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "results/replay.h"

namespace hgemm {

/// What a config should take at a shape, in any unit: the cost model.
using Predictor = std::function<double(const KernelConfig&, const GemmProblem&)>;

/// Not measured: what it promises must be checked by tuning the shape.
struct PredictedBest {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  std::string gpu_name;
  std::string label;          ///< empty: no candidate can compute the shape, or nothing is known
  double expected_ratio = 0;  ///< cublas' time over its own: what the best have near this shape
  std::vector<GemmProblem> measured;  ///< the nearest shapes that it goes by, at most three
};

/// Of `candidates` the one with the least prediction times correction: by how much the model was
/// wrong about it elsewhere, more so the nearer the shape (in powers of two along M, N and K, M
/// twice), taken half-way, since the next shape is another one. One that was measured nowhere has
/// the correction of its like, as far as it is like it (config_distance()). Only `truths` of the
/// type, GPU and regime that are of other problems are looked at.
PredictedBest predict_best(std::span<const Truth> truths, std::span<const KernelConfig> candidates,
                           const GemmProblem& problem, Regime regime, const std::string& gpu_name,
                           const Predictor& predictor);

/// What such a prediction loses: each truth predicted from the others, of the configs that it has.
struct LeftOut {
  GemmProblem problem;
  Regime regime = Regime::kSustained;
  double fraction = 0;  ///< of the best speed at the shape
};
std::vector<LeftOut> leave_one_out(std::span<const Truth> truths, const Predictor& predictor);

}  // namespace hgemm
