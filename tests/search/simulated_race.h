// Races of candidates whose true times are known: a referee fed with simulated samples.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "search/referee.h"

namespace hgemm {

using Times = std::map<std::string, double>;

/// Draws the logarithm of a factor on a time.
using Noise = std::function<double(std::mt19937_64&)>;

inline double gauss(std::mt19937_64& random) { return std::normal_distribution<double>()(random); }
inline double uniform(std::mt19937_64& random) {
  return std::uniform_real_distribution<double>()(random);
}

/// In each, one per-round ratio of two candidates has (about) the standard deviation `of_ratio`.
inline Noise normal_noise(double of_ratio) {
  return [=](std::mt19937_64& random) { return of_ratio / std::sqrt(2) * gauss(random); };
}
inline Noise laplace_noise(double of_ratio) {
  return [=](std::mt19937_64& random) {
    const double size = std::exponential_distribution<double>()(random);
    return of_ratio / 2 * (uniform(random) < 0.5 ? size : -size);
  };
}
/// Normal, but one sample in fifty takes 3 to 10 % longer.
inline Noise noise_with_outliers(double of_ratio) {
  return [=, normal = normal_noise(of_ratio)](std::mt19937_64& random) {
    return normal(random) + (uniform(random) < 0.02 ? 0.03 + 0.07 * uniform(random) : 0);
  };
}
/// Two states, of which the slower has this share.
inline Noise bimodal_noise(double of_ratio, double share) {
  constexpr double kWithin = 0.3;  // of the standard deviation
  const double apart = std::sqrt((1 - kWithin * kWithin) / (share * (1 - share)));
  return [=](std::mt19937_64& random) {
    const double state = uniform(random) < share ? apart : 0;
    return of_ratio / std::sqrt(2) * (kWithin * gauss(random) + state);
  };
}

/// True times, with noise and a factor common to each round (drift).
class Model {
 public:
  Model(Times true_us, Noise noise, std::uint64_t seed = 1)
      : true_us_(std::move(true_us)), noise_(std::move(noise)), random_(seed) {}

  Times measure(const std::vector<std::string>& labels, double factor = 1) {
    Times out;
    for (const auto& label : labels) {
      out[label] = true_us_.at(label) * factor * std::exp(noise_(random_));
    }
    return out;
  }
  std::vector<std::string> labels() const {
    std::vector<std::string> out;
    for (const auto& [label, time] : true_us_) out.push_back(label);
    return out;
  }
  double true_us(const std::string& label) const { return true_us_.at(label); }

 private:
  Times true_us_;
  Noise noise_;
  std::mt19937_64 random_;
};

/// `count` configs named c000, c001, ...; the first takes `first_us`.
inline Times field(int count, double first_us, const std::function<double(int)>& others_us) {
  Times times{{"cublas", 100}, {"cublaslt.0", 100}, {"cublaslt.1", 104}};
  for (int i = 0; i < count; ++i) {
    times[fmt::format("c{:03}", i)] = i == 0 ? first_us : others_us(i);
  }
  return times;
}

inline std::vector<std::string> end_round(Referee& referee, const Times& times_us,
                                          int launches = 1) {
  std::map<std::string, Sample> samples;
  for (const auto& [label, time_us] : times_us) {
    samples[label].launches = launches;
    samples[label].time_us = time_us;
  }
  return referee.end_round(samples);
}

struct Outcome {
  std::map<std::string, int> eliminated;  ///< in which final round; 0: in screening
  std::vector<std::string> finalists;     ///< baselines among them
  Referee::Standing standing;
  int final_rounds = 0;
  std::map<std::string, std::vector<double>> screen_us, final_us;  ///< samples

  /// Per round, of cublas' time to the winner's: what a reader of the store computes.
  std::vector<double> ratios(const std::map<std::string, std::vector<double>>& times_us) const {
    std::vector<double> out;
    const std::vector<double>& winner = times_us.at(standing.leader);
    for (std::size_t i = 0; i < winner.size(); ++i) {
      out.push_back(times_us.at("cublas")[i] / winner[i]);
    }
    return out;
  }
  bool eliminated_by(const std::string& label, int final_round) const {
    const auto found = eliminated.find(label);
    return found != eliminated.end() && found->second <= final_round;
  }
};

inline Outcome race(
    Model& model, const RacePolicy& policy,
    const std::function<double(int)>& drift = [](int) { return 1.0; }) {
  Outcome outcome;
  Referee referee(model.labels(), policy);
  for (int round = 0; !referee.finished(); ++round) {
    const bool final_round = referee.phase() == Stage::kFinal;
    const auto order = referee.next_round();
    if (final_round && outcome.final_rounds++ == 0) outcome.finalists = order;
    const Times times = model.measure(order, drift(round));
    for (const auto& [label, time_us] : times) {
      (final_round ? outcome.final_us : outcome.screen_us)[label].push_back(time_us);
    }
    for (const auto& label : end_round(referee, times)) {
      outcome.eliminated[label] = outcome.final_rounds;
    }
  }
  outcome.standing = referee.standing();
  return outcome;
}

}  // namespace hgemm
