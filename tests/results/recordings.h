// Made-up recordings: what a store gives back.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "families/family.h"
#include "store/store.h"

namespace hgemm::test {

inline const GemmProblem kProblem{.m = 4096, .n = 4096, .k = 1024, .tag = "seeds"};
inline const std::string kA = label(TiledConfig{.bn = 64});
inline const std::string kB = label(TiledConfig{.bn = 128});
inline const std::string kC = label(TiledConfig{.bn = 256});

/// Drifts as a warming GPU does, so that only ratios within a round are clean.
inline double drift(int round) { return 1 + 0.02 * round; }
/// A part in a thousand, different for each phase, so that candidates are not exact multiples.
inline double noise(int round, int phase) { return 1 + 0.001 * std::sin(7.0 * round + phase); }

inline std::vector<Sample> samples(double time_us, int first_round, int rounds, int phase = 0,
                                   Pace pace = Pace::kShared) {
  std::vector<Sample> out;
  for (int r = first_round; r < first_round + rounds; ++r) {
    Sample sample;
    sample.round = r;
    sample.pace = pace;
    sample.launches = 20;
    sample.time_us = time_us * drift(r) * noise(r, phase);
    sample.sm_mhz = 1500;
    out.push_back(sample);
  }
  return out;
}

inline std::vector<Sample> operator+(std::vector<Sample> first, const std::vector<Sample>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// What a config's kernel is called; baselines have none.
inline std::string kernel_of(const std::string& label) {
  return is_baseline(label) ? std::string() : "code of " + label;
}

inline Trial ok(const std::string& label, std::vector<Sample> samples,
                Stage stage = Stage::kFinal) {
  Trial trial;
  trial.label = label;
  trial.kernel_id = kernel_of(label);
  trial.stage = stage;
  trial.verdict = {.correct = true, .error = 0.001, .tolerance = 0.01, .message = ""};
  trial.samples = std::move(samples);
  return trial;
}

/// Measured to the end in nine rounds, then alone.
inline Trial weighed(const std::string& label, double time_us, double joules) {
  Trial trial = ok(label, samples(time_us, 3, 9));
  trial.energy = Energy{.window_s = 2, .power_w = 500, .time_us = joules / 500 * 1e6};
  return trial;
}

inline Trial failed(const std::string& label, Status status) {
  Trial trial;
  trial.label = label;
  trial.kernel_id = kernel_of(label);
  trial.status = status;
  return trial;
}

inline RecordedRace race(std::vector<Trial> trials, const std::string& driver = "580",
                         const GemmProblem& problem = kProblem,
                         Regime regime = Regime::kSustained) {
  RecordedRace out;
  out.environment.gpu_name = "NVIDIA H200";
  out.environment.sm_count = 132;
  out.environment.driver = driver;
  out.run = {.gpu_uuid = "GPU-1", .host = "node1", .git_revision = "", .kernel_sources = "k1"};
  out.started_utc = "2026-11-20T10:00:00Z";
  out.race.problem = problem;
  out.race.regime = regime;
  out.race.trials = std::move(trials);
  return out;
}

}  // namespace hgemm::test
