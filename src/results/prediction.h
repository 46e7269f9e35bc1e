// A config for a shape that was never measured, from what was measured at shapes of its class, with
// an interval from how wrong such predictions were there.
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

/// What a config should take at a shape, in any unit: the cost model.
using Predictor = std::function<double(const KernelConfig&, const GemmProblem&)>;

/// Share of predictions whose interval holds what is measured later.
inline constexpr double kCoverage = 0.8;

/// Shapes of a class are bound by the same things and want the same kinds of kernel; what one class
/// has gained says nothing of another: "1 row", "2 to 128 rows", "more than 128 rows", "more than
/// 128 rows, few tiles", "at most 128 columns". Types, and whether rows are aligned for TMA, are
/// not in the name, but shapes that differ in them are of different classes too.
std::string_view class_name(const GemmProblem& problem);
bool same_class(const GemmProblem& a, const GemmProblem& b);

/// Not measured: what it promises must be checked by tuning the shape.
struct Prediction {
  GemmProblem problem;
  std::string label;    ///< empty: refused
  std::string refusal;  ///< why there is none, and what to do; empty: there is a label
  double ratio = 0;     ///< cublas' time over its own: what the best have near this shape
  /// Of that ratio: it holds what is measured with probability kCoverage.
  Interval interval;
  std::vector<GemmProblem> from;  ///< the nearest shapes that it goes by, at most three
};

/// A row that was predicted from the others of its class, and what was measured there.
struct LeftOut {
  GemmProblem problem;
  double ratio = 0;     ///< that was predicted for the config
  double measured = 0;  ///< of the same config; 0: it did not end ok
  double fraction = 0;  ///< of the best speed at the shape
  double distance = 0;  ///< squared, of the nearest other row, in powers of two

  double log_error() const;  ///< of the ratio, absolute; infinite if the config did not end ok
};

/// Half the width of the interval, as a factor's log: the smallest that held kCoverage of n + 1, as
/// split conformal prediction and the jackknife count them (Barber, Candes, Ramdas and Tibshirani,
/// Predictive inference with the jackknife+, Annals of Statistics 49, 2021). Infinite below four
/// rows: of so few none is known to hold that share.
double half_width(std::span<const LeftOut> rows);

/// Predictions for one GPU and regime.
class Predictions {
 public:
  /// `truths` are of that GPU and regime. Asks `predictor` once for each row and config that was
  /// near the best of some row, which takes longer than all that is reckoned with it.
  Predictions(std::vector<Truth> truths, Predictor predictor);

  /// Of the configs that were near the best at some row of the class, and on average the fastest at
  /// the rows near the shape, the one with the least prediction times correction: by how much the
  /// model was wrong about it at those rows, more so the nearer the row (in powers of two along M,
  /// N and K, M twice), taken half-way, since the next shape is another one. Rows of the same
  /// problem are not looked at.
  ///
  /// Refuses a shape whose class has too few rows for an interval, or that is farther from all of
  /// them than they are from one another.
  Prediction of(const GemmProblem& problem) const;

  /// By class, in the order of recording: each row predicted from the others of its class.
  struct ClassErrors {
    std::string_view name;
    std::vector<LeftOut> rows;
  };
  std::vector<ClassErrors> errors() const;

 private:
  /// The rows of a class, and what the model says of the configs that are near the best at one.
  struct Class {
    std::vector<Truth> rows;
    std::vector<KernelConfig> configs;
    std::vector<std::vector<double>> speed;         ///< of each row and config; 0: it did not end
                                                    ///< ok; negative: it was not tried there
    std::vector<std::vector<double>> predicted_us;  ///< the same; 0: it was not tried there
    std::vector<std::size_t> best;                  ///< of each row the fastest config
    std::vector<LeftOut> left_out;
  };
  struct Choice {
    std::size_t config;
    double ratio;                      ///< of the best at the rows, the nearer the more
    std::vector<std::size_t> nearest;  ///< rows, nearest first
  };

  void model(Class& of_class) const;
  static std::vector<LeftOut> leave_one_out(const Class& of_class);
  /// What a config of the class should take at the problem; none if it cannot compute it.
  using CostOf = std::function<std::optional<double>(std::size_t config)>;
  /// From the rows but `without`.
  static Choice choose(const Class& of_class, const GemmProblem& problem, const CostOf& cost_of,
                       std::size_t without);
  const Class* class_of(const GemmProblem& problem) const;

  Predictor predictor_;
  std::vector<Class> classes_;
};

}  // namespace hgemm
