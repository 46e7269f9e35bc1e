#include "replay/prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "space/label.h"
#include "space/space.h"

namespace hgemm {
namespace {

/// Powers of two along an extent after which a shape says little of another one.
constexpr double kReach = 1;
/// Weight of "the model is right", where the nearest shape's correction has 1.
constexpr double kTrust = 0.5;
constexpr std::size_t kShown = 3;

double distance_squared(const Shape& a, const Shape& b) {
  const auto apart = [](std::int64_t x, std::int64_t y) {
    const double powers = std::log2(static_cast<double>(x) / static_cast<double>(y));
    return powers * powers;
  };
  return 2 * apart(a.m, b.m) + apart(a.n, b.n) + apart(a.k, b.k);
}

struct Neighbour {
  const Truth* truth;
  double distance;    ///< squared, in reaches
  double weight = 1;  ///< of the nearest: 1
};

/// Nearest first.
std::vector<Neighbour> neighbours_of(std::span<const Truth> truths, const Shape& shape,
                                     Regime regime, const std::string& gpu_name) {
  std::vector<Neighbour> neighbours;
  for (const Truth& truth : truths) {
    if (truth.regime != regime || truth.environment.gpu_name != gpu_name ||
        truth.shape.dtype != shape.dtype || truth.shape.same_problem(shape)) {
      continue;
    }
    neighbours.push_back({&truth, distance_squared(truth.shape, shape) / (kReach * kReach)});
  }
  std::ranges::stable_sort(neighbours, {}, &Neighbour::distance);
  for (Neighbour& neighbour : neighbours) {
    neighbour.weight = std::exp((neighbours.front().distance - neighbour.distance) / 2);
  }
  return neighbours;
}

/// What the neighbours know of a config, made for the shape in question.
struct Knowledge {
  KernelConfig config;
  double weight = 0;
  double weighted = 0;  ///< log of how much slower, against the best, than predicted

  double correction() const { return weighted / (weight + kTrust); }
};
using Known = std::map<std::string, Knowledge>;

Known known_of(std::span<const Neighbour> neighbours, const Shape& shape,
               const Predictor& predictor) {
  Known known;
  for (const auto& [truth, distance, weight] : neighbours) {
    const auto best = std::ranges::max_element(truth->entries, {}, &Truth::Entry::speed);
    const double best_us = predictor(best->config, truth->shape);
    for (const Truth::Entry& entry : truth->entries) {
      if (entry.speed <= 0) continue;
      const KernelConfig config =
          is_fixed(entry.config) ? made_for(entry.config, shape) : entry.config;
      Knowledge& knowledge = known[label(config)];
      knowledge.config = config;
      knowledge.weight += weight;
      knowledge.weighted += weight * (std::log(best->speed / entry.speed) -
                                      std::log(predictor(entry.config, truth->shape) / best_us));
    }
  }
  return known;
}

double correction_of(const KernelConfig& config, const Known& known) {
  if (const auto found = known.find(label(config)); found != known.end()) {
    return found->second.correction();
  }
  double nearest = std::numeric_limits<double>::infinity();
  double correction = 0;
  for (const auto& [name, knowledge] : known) {
    const double distance = config_distance(config, knowledge.config);
    if (distance >= nearest) continue;
    nearest = distance;
    correction = knowledge.correction();
  }
  return correction * std::exp2(-nearest * nearest);
}

}  // namespace

PredictedBest predict_best(std::span<const Truth> truths, std::span<const KernelConfig> candidates,
                           const Shape& shape, Regime regime, const std::string& gpu_name,
                           const Predictor& predictor) {
  PredictedBest result{
      .shape = shape, .regime = regime, .gpu_name = gpu_name, .label = {}, .measured = {}};
  const auto neighbours = neighbours_of(truths, shape, regime, gpu_name);
  if (neighbours.empty()) return result;
  const Known known = known_of(neighbours, shape, predictor);
  std::optional<double> least;
  for (const KernelConfig& config : candidates) {
    if (!is_made_for(config, shape) || why_unsupported(config, shape)) continue;
    const double score = std::log(predictor(config, shape)) + correction_of(config, known);
    if (least && score >= *least) continue;
    least = score;
    result.label = label(config);
  }
  double weights = 0;
  double logs = 0;
  for (const auto& [truth, distance, weight] : neighbours) {
    weights += weight;
    logs += weight * std::log(truth->best());
    if (result.measured.size() < kShown) result.measured.push_back(truth->shape);
  }
  result.expected_ratio = std::exp(logs / weights);
  return result;
}

std::vector<LeftOut> leave_one_out(std::span<const Truth> truths, const Predictor& predictor) {
  std::vector<LeftOut> all;
  for (const Truth& truth : truths) {
    std::vector<KernelConfig> candidates;
    for (const Truth::Entry& entry : truth.entries) candidates.push_back(entry.config);
    const PredictedBest predicted = predict_best(truths, candidates, truth.shape, truth.regime,
                                                 truth.environment.gpu_name, predictor);
    if (predicted.label.empty()) continue;  // the only one of its kind
    const auto entry =
        std::ranges::find(truth.entries, parse_label(predicted.label), &Truth::Entry::config);
    all.push_back({truth.shape, truth.regime, entry->speed / truth.best()});
  }
  return all;
}

}  // namespace hgemm
