#include "results/speeds.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/statistics.h"

namespace hgemm {
namespace {

/// Median over rounds of cublas' time over the trial's; nullopt without a common round.
std::optional<double> speed_of(const Trial& trial, const std::map<int, double>& cublas_us) {
  std::vector<double> ratios;
  for (const Sample& sample : trial.samples) {
    if (const auto found = cublas_us.find(sample.round); found != cublas_us.end()) {
      ratios.push_back(found->second / sample.time_us);
    }
  }
  if (ratios.empty()) return std::nullopt;
  return median(ratios);
}

}  // namespace

void KnownSpeeds::add(const Race& race) {
  std::map<int, double> cublas_us;
  for (const Trial& trial : race.trials) {
    if (trial.label != kCublasLabel) continue;
    for (const Sample& sample : trial.samples) cublas_us[sample.round] = sample.time_us;
  }
  int final_round = std::numeric_limits<int>::max();  // the first
  for (const Trial& trial : race.trials) {
    if (trial.stage == Stage::kFinal && !is_baseline(trial.label) && !trial.samples.empty()) {
      final_round = std::min(final_round, trial.samples.front().round);
    }
  }
  for (const Trial& trial : race.trials) {
    if (is_baseline(trial.label)) continue;
    Known& known = configs_[trial.label];
    if (trial.status != Status::kOk) continue;
    const auto speed = speed_of(trial, cublas_us);
    if (!speed) continue;
    Reached reached = Reached::kScreening;
    if (trial.samples.front().round >= final_round) reached = Reached::kFinal;
    if (trial.stage == Stage::kFinal) reached = Reached::kEnd;
    if (reached >= known.reached) known = {*speed, reached};
  }
}

bool KnownSpeeds::has_final() const {
  return std::ranges::any_of(configs_,
                             [](const auto& item) { return item.second.reached == Reached::kEnd; });
}

/// The factor that scales screened speeds.
double KnownSpeeds::screening_scale() const {
  std::vector<double> finals;
  double fastest = 0;
  for (const auto& [label, known] : configs_) {
    if (known.reached == Reached::kEnd) finals.push_back(known.speed);
    if (known.reached == Reached::kScreening) fastest = std::max(fastest, known.speed);
  }
  return fastest > 0 && !finals.empty() ? std::min(1.0, median(finals) / fastest) : 1;
}

std::map<std::string, double> KnownSpeeds::all() const {
  const double scale = screening_scale();
  std::map<std::string, double> speeds;
  for (const auto& [label, known] : configs_) {
    speeds[label] = known.reached == Reached::kScreening ? known.speed * scale : known.speed;
  }
  return speeds;
}

}  // namespace hgemm
