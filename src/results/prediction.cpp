#include "results/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "families/family.h"
#include "gemm/codec.h"
#include "search/space.h"

namespace hgemm {
namespace {

/// Number of rows, and of columns, up to which a GEMM is bound by reading its large operand. Tiles
/// of one CTA hold that many (the space `decode`).
constexpr std::int64_t kFew = 128;
/// Number of results from which the tiles of most kernels occupy every SM: 128 tiles of 128 x 128.
/// Smaller GEMMs are bound by latencies.
constexpr double kFilling = 128.0 * 128 * 128;
/// Share of the best speed at a row from which a config is a candidate at other rows of the class.
constexpr double kNearBest = 0.95;
/// Number of configs of a shape for which the cost model, which takes most of the time, is
/// evaluated: those that were the fastest nearby. When recorded rows are left out, 128 configs come
/// as near to the best as 32, within 0.4 % (geomean of a class, results/h200/truth.db), and 8 lose
/// up to 2.6 %.
constexpr std::size_t kShortlist = 32;
/// Weight of "no correction", relative to the weight 1 of the correction of the nearest row.
constexpr double kTrust = 0.5;
constexpr std::size_t kShown = 3;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNeverTried = -1;  ///< as a speed
constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

double distance_squared(const GemmProblem& a, const GemmProblem& b) {
  const auto apart = [](std::int64_t x, std::int64_t y) {
    const double powers = std::log2(static_cast<double>(x) / static_cast<double>(y));
    return powers * powers;
  };
  return 2 * apart(a.m, b.m) + apart(a.n, b.n) + apart(a.k, b.k) + apart(a.batch, b.batch);
}

bool is_aligned(const GemmProblem& problem) {
  return inputs_are_aligned(problem.extents(), problem.a_type) &&
         output_is_aligned(problem.extents(), problem.d_type);
}

std::size_t least_rows() {
  std::size_t rows = 1;
  while (std::ceil(kCoverage * static_cast<double>(rows + 1)) > static_cast<double>(rows)) ++rows;
  return rows;
}

}  // namespace

std::string_view class_name(const GemmProblem& problem) {
  if (problem.n <= kFew) return "at most 128 columns";
  if (problem.m == 1) return "1 row";
  if (problem.m <= kFew) return "2 to 128 rows";
  const bool fills = static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                         static_cast<double>(problem.batch) >=
                     kFilling;
  return fills ? "more than 128 rows" : "more than 128 rows, few tiles";
}

bool same_class(const GemmProblem& a, const GemmProblem& b) {
  return class_name(a) == class_name(b) && a.kind() == b.kind() && is_aligned(a) == is_aligned(b);
}

double LeftOut::log_error() const {
  return measured > 0 ? std::abs(std::log(measured / ratio)) : kInfinity;
}

double half_width(std::span<const LeftOut> rows) {
  std::vector<double> errors;
  for (const LeftOut& row : rows) errors.push_back(row.log_error());
  std::ranges::sort(errors);
  const auto rank =
      static_cast<std::size_t>(std::ceil(kCoverage * static_cast<double>(rows.size() + 1)));
  return rank > errors.size() ? kInfinity : errors[rank - 1];
}

Predictions::Predictions(std::vector<Truth> truths, Predictor predictor)
    : predictor_(std::move(predictor)) {
  for (Truth& truth : truths) {
    auto known = std::ranges::find_if(classes_, [&truth](const Class& other) {
      return same_class(other.rows.front().problem, truth.problem);
    });
    if (known == classes_.end()) known = classes_.insert(known, Class{});
    known->rows.push_back(std::move(truth));
  }
  for (Class& of_class : classes_) {
    model(of_class);
    of_class.left_out = leave_one_out(of_class);
  }
}

void Predictions::model(Class& of_class) const {
  std::map<std::string, std::size_t> places;  // of each config, by its label
  for (const Truth& row : of_class.rows) {
    for (const Truth::Entry& entry : row.entries) {
      if (entry.speed < kNearBest * row.best()) continue;
      if (places.try_emplace(label(entry.config), of_class.configs.size()).second) {
        of_class.configs.push_back(entry.config);
      }
    }
  }
  for (const Truth& row : of_class.rows) {
    std::vector<double>& speed = of_class.speed.emplace_back(of_class.configs.size(), kNeverTried);
    for (const Truth::Entry& entry : row.entries) {
      const auto place = places.find(label(entry.config));
      if (place != places.end()) speed[place->second] = entry.speed;
    }
    of_class.best.push_back(
        static_cast<std::size_t>(std::ranges::max_element(speed) - speed.begin()));
    std::vector<double>& predicted_us = of_class.predicted_us.emplace_back();
    for (const KernelConfig& config : of_class.configs) {
      const bool was_tried = speed[predicted_us.size()] != kNeverTried;
      predicted_us.push_back(was_tried ? predictor_(config, row.problem) : 0);
    }
  }
}

Predictions::Choice Predictions::choose(const Class& of_class, const GemmProblem& problem,
                                        const CostOf& cost_of, std::size_t without) {
  std::vector<double> distances;
  Choice choice{kNone, 0, {}};
  for (std::size_t row = 0; row < of_class.rows.size(); ++row) {
    distances.push_back(distance_squared(of_class.rows[row].problem, problem));
    if (row != without) choice.nearest.push_back(row);
  }
  if (choice.nearest.empty()) return choice;
  std::ranges::stable_sort(choice.nearest, {}, [&](std::size_t row) { return distances[row]; });
  std::vector<double> weights(of_class.rows.size());
  double weight_sum = 0, logs = 0;
  for (const std::size_t row : choice.nearest) {
    weights[row] = std::exp((distances[choice.nearest.front()] - distances[row]) / 2);
    weight_sum += weights[row];
    logs += weights[row] * std::log(of_class.speed[row][of_class.best[row]]);
  }
  choice.ratio = std::exp(logs / weight_sum);

  /// Statistics of a config over the rows.
  struct Candidate {
    std::size_t config;
    double slower = 0;      ///< log slowdown against the best of a row, on average
    double correction = 0;  ///< correction of the model
  };
  std::vector<Candidate> candidates;
  for (std::size_t config = 0; config < of_class.configs.size(); ++config) {
    Candidate candidate{.config = config};
    double known = 0;
    bool was_near_best = false;
    for (const std::size_t row : choice.nearest) {
      const double speed = of_class.speed[row][config];
      if (speed <= 0) continue;
      const std::vector<double>& modelled_us = of_class.predicted_us[row];
      const std::size_t best = of_class.best[row];
      const double slower = std::log(of_class.speed[row][best] / speed);
      was_near_best = was_near_best || slower <= -std::log(kNearBest);
      known += weights[row];
      candidate.slower += weights[row] * slower;
      candidate.correction +=
          weights[row] * (slower - std::log(modelled_us[config] / modelled_us[best]));
    }
    if (!was_near_best) continue;
    candidate.slower /= known;
    candidate.correction /= known + kTrust;
    candidates.push_back(candidate);
  }
  std::ranges::stable_sort(candidates, {}, &Candidate::slower);
  double least = kInfinity;
  std::size_t asked = 0;
  for (const Candidate& candidate : candidates) {
    if (asked == kShortlist) break;
    const std::optional<double> cost_us = cost_of(candidate.config);
    if (!cost_us) continue;
    ++asked;
    const double score = std::log(*cost_us) + candidate.correction;
    if (score >= least) continue;
    least = score;
    choice.config = candidate.config;
  }
  return choice;
}

std::vector<LeftOut> Predictions::leave_one_out(const Class& of_class) {
  std::vector<LeftOut> all;
  for (std::size_t row = 0; row < of_class.rows.size(); ++row) {
    const GemmProblem& problem = of_class.rows[row].problem;
    const auto cost_of = [&](std::size_t config) {
      const bool was_tried = of_class.speed[row][config] != kNeverTried;
      return was_tried ? std::optional(of_class.predicted_us[row][config]) : std::nullopt;
    };
    const Choice choice = choose(of_class, problem, cost_of, row);
    if (choice.config == kNone) continue;
    const double speed = of_class.speed[row][choice.config];
    all.push_back(
        {.problem = problem,
         .ratio = choice.ratio,
         .measured = speed,
         .fraction = speed / of_class.speed[row][of_class.best[row]],
         .distance = distance_squared(of_class.rows[choice.nearest.front()].problem, problem)});
  }
  return all;
}

const Predictions::Class* Predictions::class_of(const GemmProblem& problem) const {
  const auto found = std::ranges::find_if(classes_, [&problem](const Class& other) {
    return same_class(other.rows.front().problem, problem);
  });
  return found == classes_.end() ? nullptr : &*found;
}

Prediction Predictions::of(const GemmProblem& problem) const {
  Prediction prediction{
      .problem = problem, .label = {}, .refusal = {}, .ratio = 0, .interval = {}, .from = {}};
  const Class* of_class = class_of(problem);
  std::vector<LeftOut> errors;
  std::size_t own = kNone;
  if (of_class != nullptr) {
    for (std::size_t row = 0; row < of_class->rows.size(); ++row) {
      if (of_class->rows[row].problem.same_problem(problem)) own = row;
    }
    std::ranges::copy_if(of_class->left_out, std::back_inserter(errors),
                         [&](const LeftOut& row) { return !row.problem.same_problem(problem); });
  }
  const double width = half_width(errors);
  if (!std::isfinite(width)) {
    prediction.refusal = fmt::format(
        "measured shapes of its class ({}, {}{}): {}, and an interval needs {}{}; tune it",
        class_name(problem), types_text(problem), is_aligned(problem) ? "" : ", not aligned",
        errors.size(), least_rows(),
        errors.size() < least_rows() ? "" : " where the fastest kernels of the others ended ok");
    return prediction;
  }
  const auto cost_of = [&](std::size_t index) -> std::optional<double> {
    const KernelConfig& config = of_class->configs[index];
    if (why_not(config, problem) || !suits(config, problem)) return std::nullopt;
    return predictor_(config, problem);
  };
  const Choice choice = choose(*of_class, problem, cost_of, own);
  if (choice.config == kNone) {
    prediction.refusal = "none of the fastest kernels of its class can compute it; tune it";
    return prediction;
  }
  const GemmProblem& nearest = of_class->rows[choice.nearest.front()].problem;
  const double reach = std::ranges::max(errors, {}, &LeftOut::distance).distance;
  if (distance_squared(nearest, problem) > reach) {
    prediction.refusal = fmt::format(
        "the nearest shape measured with {} is {}, farther than those are from one another; tune "
        "it",
        class_name(problem), to_string(nearest));
    return prediction;
  }
  prediction.label = label(of_class->configs[choice.config]);
  prediction.ratio = choice.ratio;
  prediction.interval = {choice.ratio * std::exp(-width), choice.ratio * std::exp(width)};
  for (const std::size_t row : choice.nearest) {
    if (prediction.from.size() < kShown) prediction.from.push_back(of_class->rows[row].problem);
  }
  return prediction;
}

std::vector<Predictions::ClassErrors> Predictions::errors() const {
  std::vector<ClassErrors> all;
  for (const Class& of_class : classes_) {
    all.push_back({class_name(of_class.rows.front().problem), of_class.left_out});
  }
  return all;
}

}  // namespace hgemm
