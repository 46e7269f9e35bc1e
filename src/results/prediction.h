// Predicts a config for a shape that was never measured, from measurements at shapes of its class.
// The interval comes from the errors of such predictions at the measured shapes.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.h"
#include "results/replay.h"

namespace hgemm {

/// Predicted time of a config at a shape, in any unit: the cost model.
using Predictor = std::function<double(const KernelConfig&, const GemmProblem&)>;

/// Share of predictions whose interval contains the value that is measured later.
inline constexpr double kCoverage = 0.8;

/// Shapes of a class share their bottlenecks and suit the same kinds of kernel. The gain in one
/// class says nothing about another. Names: "1 row", "2 to 128 rows", "more than 128 rows", "more
/// than 128 rows, few tiles", "at most 128 columns". Types and TMA alignment of rows are not in the
/// name, but shapes that differ in them are in different classes too.
std::string_view class_name(const GemmProblem& problem);
bool same_class(const GemmProblem& a, const GemmProblem& b);

/// A prediction for a shape. It is not measured: tune the shape to check it.
struct Prediction {
  GemmProblem problem;
  std::string label;    ///< empty: refused
  std::string refusal;  ///< why there is no prediction and what to do; empty if there is a label
  /// Time of cublas over the config's: the ratio of the best configs near this shape.
  double ratio = 0;
  /// Interval of the ratio: contains the measured value with probability kCoverage.
  Interval interval;
  /// The nearest shapes that the prediction is based on, at most three.
  std::vector<GemmProblem> from;
};

/// A row that was predicted from the other rows of its class, with its measured result.
struct LeftOut {
  GemmProblem problem;
  double ratio = 0;     ///< predicted for the config
  double measured = 0;  ///< ratio of the same config; 0: it did not end ok
  double fraction = 0;  ///< the config's share of the best speed at the shape
  double distance = 0;  ///< squared distance to the nearest other row, in powers of two

  /// Absolute log error of the ratio; infinite if the config did not end ok.
  double log_error() const;
};

/// Half the width of the interval, as the log of a factor: the smallest one that contained
/// kCoverage of n + 1, as split conformal prediction and the jackknife count them (Barber, Candes,
/// Ramdas and Tibshirani, Predictive inference with the jackknife+, Annals of Statistics 49, 2021).
/// Infinite for fewer than four rows, because no finite width is known to reach that share.
double half_width(std::span<const LeftOut> rows);

/// Predictions for one GPU and regime.
class Predictions {
 public:
  /// `truths` must be of that GPU and regime. Calls `predictor` once for each row and each config
  /// that was near the best of some row. These calls take longer than all other work here.
  Predictions(std::vector<Truth> truths, Predictor predictor);

  /// Candidates are the configs that were near the best at some row of the class and, on average,
  /// the fastest at the rows near the shape. The result is the candidate with the smallest product
  /// of predicted time and correction. The correction is the error of the model for that config at
  /// those rows. Nearer rows weigh more (distance in powers of two along M, N and K, with M counted
  /// twice). Only half of the correction is applied, since the new shape differs from the rows.
  /// Rows of the same problem are ignored.
  ///
  /// Refuses a shape whose class has too few rows for an interval, or which is farther from all
  /// rows than the rows are from one another.
  Prediction of(const GemmProblem& problem) const;

  /// Errors by class, in the order of recording: each row predicted from the others of its class.
  struct ClassErrors {
    std::string_view name;
    std::vector<LeftOut> rows;
  };
  std::vector<ClassErrors> errors() const;

 private:
  /// The rows of a class, with the predictions of the model for the configs that are near the best
  /// at one of them.
  struct Class {
    std::vector<Truth> rows;
    std::vector<KernelConfig> configs;
    std::vector<std::vector<double>> speed;         ///< of each row and config; 0: it did not end
                                                    ///< ok; negative: it was not tried there
    std::vector<std::vector<double>> predicted_us;  ///< the same; 0: it was not tried there
    std::vector<std::size_t> best;                  ///< the fastest config of each row
    std::vector<LeftOut> left_out;
  };
  struct Choice {
    std::size_t config;
    double ratio;                      ///< of the best at the rows; nearer rows weigh more
    std::vector<std::size_t> nearest;  ///< rows, nearest first
  };

  void model(Class& of_class) const;
  static std::vector<LeftOut> leave_one_out(const Class& of_class);
  /// Predicted time of a config of the class at the problem; nullopt if it cannot compute the
  /// problem.
  using CostOf = std::function<std::optional<double>(std::size_t config)>;
  /// Chooses from all rows except `without`.
  static Choice choose(const Class& of_class, const GemmProblem& problem, const CostOf& cost_of,
                       std::size_t without);
  const Class* class_of(const GemmProblem& problem) const;

  Predictor predictor_;
  std::vector<Class> classes_;
};

}  // namespace hgemm
