#include "results/lessons.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/statistics.h"
#include "results/speeds.h"

namespace hgemm {
namespace {

/// Number of problems from which a search learns.
constexpr std::size_t kNearest = 6;
/// Number of the fastest configs of each problem that a search tries.
constexpr std::size_t kFastest = 2;

double powers_apart(std::int64_t a, std::int64_t b) {
  return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
}

/// In the unit of config_distance(). Twice and four times as much predicted worse, half as much as
/// well (the comparison at search/strategy.cpp, kSameConfig).
constexpr double kPowerDistance = 0.5;

double problem_distance(const GemmProblem& a, const GemmProblem& b) {
  return kPowerDistance * (powers_apart(a.m, b.m) + powers_apart(a.n, b.n) +
                           powers_apart(a.k, b.k) + powers_apart(a.batch, b.batch));
}

}  // namespace

Lessons::Lessons(std::span<const RecordedRace> races, Regime regime, const IsCurrent& is_current,
                 const Predictor& predictor) {
  std::vector<KnownSpeeds> known;
  for (const RecordedRace& recorded : races) {
    if (recorded.race.regime != regime) continue;
    Race race = recorded.race;
    std::erase_if(race.trials, [&](const Trial& trial) {
      return !is_baseline(trial.label) && !is_current(trial, race.problem);
    });
    const auto taught = std::ranges::find_if(
        problems_, [&](const Taught& other) { return other.problem.same_problem(race.problem); });
    const auto place = static_cast<std::size_t>(taught - problems_.begin());
    if (taught == problems_.end()) {
      problems_.push_back({race.problem, {}, {}, {}});
      known.emplace_back();
    }
    known[place].add(race);
  }
  const auto teach = [&](std::size_t place) {
    Taught taught = problems_[place];
    taught.speeds = known[place].all();
    std::vector<std::pair<double, KernelConfig>> configs;
    for (const auto& [label, speed] : taught.speeds) {
      if (speed > 0) configs.emplace_back(speed, parse_label(label));
    }
    std::ranges::stable_sort(configs, std::ranges::greater(),
                             &std::pair<double, KernelConfig>::first);
    std::vector<double> residuals;
    for (const auto& [speed, config] : configs) {
      residuals.push_back(-std::log(speed) - std::log(predictor(config, taught.problem)));
      taught.lessons.push_back({config, residuals.back(), 0});
      if (taught.fastest.size() < kFastest) taught.fastest.push_back(config);
    }
    const double common = residuals.empty() ? 0 : median(residuals);
    for (Lesson& lesson : taught.lessons) lesson.residual -= common;
    return taught;
  };
  std::vector<Taught> all;
  make_in_parallel(problems_.size(), teach,
                   [&](Taught taught) { all.push_back(std::move(taught)); });
  problems_ = std::move(all);
}

Elsewhere Lessons::for_search_at(const GemmProblem& problem) const {
  std::vector<std::pair<double, const Taught*>> nearest;
  for (const Taught& taught : problems_) {
    if (taught.problem.kind() != problem.kind() || taught.problem.same_problem(problem)) continue;
    if (!taught.lessons.empty()) {
      nearest.emplace_back(problem_distance(taught.problem, problem), &taught);
    }
  }
  std::ranges::stable_sort(nearest, {}, &std::pair<double, const Taught*>::first);
  nearest.resize(std::min(nearest.size(), kNearest));
  Elsewhere elsewhere;
  for (const auto& [distance, taught] : nearest) {
    for (Lesson lesson : taught->lessons) {
      lesson.distance = distance;
      elsewhere.lessons.push_back(std::move(lesson));
    }
    elsewhere.fastest.insert(elsewhere.fastest.end(), taught->fastest.begin(),
                             taught->fastest.end());
  }
  return elsewhere;
}

std::map<std::string, double> Lessons::speeds_at(const GemmProblem& problem) const {
  const auto taught = std::ranges::find_if(
      problems_, [&](const Taught& other) { return other.problem.same_problem(problem); });
  return taught == problems_.end() ? std::map<std::string, double>() : taught->speeds;
}

}  // namespace hgemm
