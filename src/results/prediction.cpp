#include "results/prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "families/family.h"
#include "search/space.h"

namespace hgemm {
namespace {

/// Powers of two along an extent after which a shape says little of another one.
constexpr double kReach = 1;
/// Weight of "the model is right", where the nearest shape's correction has 1.
constexpr double kTrust = 0.5;
constexpr std::size_t kShown = 3;

double distance_squared(const GemmProblem& a, const GemmProblem& b) {
  const auto apart = [](std::int64_t x, std::int64_t y) {
    const double powers = std::log2(static_cast<double>(x) / static_cast<double>(y));
    return powers * powers;
  };
  return 2 * apart(a.m, b.m) + apart(a.n, b.n) + apart(a.k, b.k);
}

/// A truth and what the model says of each of its entries, which is asked for once: it takes longer
/// than all that is reckoned with it.
struct Modelled {
  const Truth* truth;
  std::vector<double> predicted_us;
};

std::vector<Modelled> model_all(std::span<const Truth> truths, const Predictor& predictor) {
  std::vector<Modelled> all;
  for (const Truth& truth : truths) {
    Modelled& modelled = all.emplace_back(Modelled{&truth, {}});
    for (const Truth::Entry& entry : truth.entries) {
      modelled.predicted_us.push_back(predictor(entry.config, truth.problem));
    }
  }
  return all;
}

struct Neighbour {
  const Modelled* modelled;
  double distance;    ///< squared, in reaches
  double weight = 1;  ///< of the nearest: 1
};

/// Nearest first.
std::vector<Neighbour> neighbours_of(std::span<const Modelled> all, const GemmProblem& problem,
                                     Regime regime, const std::string& gpu_name) {
  std::vector<Neighbour> neighbours;
  for (const Modelled& modelled : all) {
    const Truth& truth = *modelled.truth;
    if (truth.regime != regime || truth.environment.gpu_name != gpu_name ||
        truth.problem.kind() != problem.kind() || truth.problem.same_problem(problem)) {
      continue;
    }
    neighbours.push_back({&modelled, distance_squared(truth.problem, problem) / (kReach * kReach)});
  }
  std::ranges::stable_sort(neighbours, {}, &Neighbour::distance);
  for (Neighbour& neighbour : neighbours) {
    neighbour.weight = std::exp((neighbours.front().distance - neighbour.distance) / 2);
  }
  return neighbours;
}

/// What the neighbours know of a config.
struct Knowledge {
  KernelConfig config;
  double weight = 0;
  double weighted = 0;  ///< log of how much slower, against the best, than predicted

  double correction() const { return weighted / (weight + kTrust); }
};
using Known = std::map<std::string, Knowledge>;

Known known_of(std::span<const Neighbour> neighbours) {
  Known known;
  for (const auto& [modelled, distance, weight] : neighbours) {
    const std::vector<Truth::Entry>& entries = modelled->truth->entries;
    const auto best = std::ranges::max_element(entries, {}, &Truth::Entry::speed);
    const double best_us = modelled->predicted_us[static_cast<std::size_t>(best - entries.begin())];
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Truth::Entry& entry = entries[i];
      if (entry.speed <= 0) continue;
      Knowledge& knowledge = known[label(entry.config)];
      knowledge.config = entry.config;
      knowledge.weight += weight;
      knowledge.weighted += weight * (std::log(best->speed / entry.speed) -
                                      std::log(modelled->predicted_us[i] / best_us));
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

/// `predicted_us`: of each candidate.
PredictedBest predict(std::span<const Modelled> all, std::span<const KernelConfig> candidates,
                      std::span<const double> predicted_us, const GemmProblem& problem,
                      Regime regime, const std::string& gpu_name) {
  PredictedBest result{
      .problem = problem, .regime = regime, .gpu_name = gpu_name, .label = {}, .measured = {}};
  const auto neighbours = neighbours_of(all, problem, regime, gpu_name);
  if (neighbours.empty()) return result;
  const Known known = known_of(neighbours);
  std::optional<double> least;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const double score = std::log(predicted_us[i]) + correction_of(candidates[i], known);
    if (least && score >= *least) continue;
    least = score;
    result.label = label(candidates[i]);
  }
  double weights = 0;
  double logs = 0;
  for (const auto& [modelled, distance, weight] : neighbours) {
    weights += weight;
    logs += weight * std::log(modelled->truth->best());
    if (result.measured.size() < kShown) result.measured.push_back(modelled->truth->problem);
  }
  result.expected_ratio = std::exp(logs / weights);
  return result;
}

}  // namespace

PredictedBest predict_best(std::span<const Truth> truths, std::span<const KernelConfig> candidates,
                           const GemmProblem& problem, Regime regime, const std::string& gpu_name,
                           const Predictor& predictor) {
  std::vector<KernelConfig> able;
  std::vector<double> predicted_us;
  for (const KernelConfig& config : candidates) {
    if (why_not(config, problem)) continue;
    able.push_back(config);
    predicted_us.push_back(predictor(config, problem));
  }
  return predict(model_all(truths, predictor), able, predicted_us, problem, regime, gpu_name);
}

std::vector<LeftOut> leave_one_out(std::span<const Truth> truths, const Predictor& predictor) {
  const std::vector<Modelled> modelled = model_all(truths, predictor);
  std::vector<LeftOut> all;
  for (const auto& [truth, predicted_us] : modelled) {
    std::vector<KernelConfig> candidates;
    for (const Truth::Entry& entry : truth->entries) candidates.push_back(entry.config);
    const PredictedBest predicted = predict(modelled, candidates, predicted_us, truth->problem,
                                            truth->regime, truth->environment.gpu_name);
    if (predicted.label.empty()) continue;  // the only one of its kind
    const auto entry =
        std::ranges::find(truth->entries, parse_label(predicted.label), &Truth::Entry::config);
    all.push_back({truth->problem, truth->regime, entry->speed / truth->best()});
  }
  return all;
}

}  // namespace hgemm
