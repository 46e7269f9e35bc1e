#include "tune/shape_race.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "space/label.h"

namespace hgemm {

void ShapeRace::add(const Build& build) {
  const std::string name = label(build.config);
  if (build.status != Status::kOk) {
    add_failed(name, build.status, build.message);
    return;
  }
  Candidate& candidate = candidates_[name];
  candidate.trial.label = name;
  candidate.build = &build;
}

void ShapeRace::add_failed(const std::string& label, Status status, const std::string& message) {
  Candidate& candidate = candidates_[label];
  candidate.trial.label = label;
  fail(candidate, status, message);
}

int ShapeRace::configs_alive() const {
  return static_cast<int>(std::ranges::count_if(candidates_, [](const auto& item) {
    return !item.second.ended && !is_baseline(item.first);
  }));
}

void ShapeRace::open() {
  while (!open_ && configs_alive() > 0) {
    Measurer::Opened opened;
    try {
      opened = context_.measurer.open(shape_, context_.plan.policy.seed);
    } catch (const MeasurerLost& loss) {
      lost_unexplained(loss);
      continue;
    }
    open_ = true;
    for (std::size_t i = 0; i < opened.baselines.size(); ++i) {
      Candidate& baseline = candidates_[opened.baselines[i]];
      const Prepared& prepared = opened.prepared.at(i);
      if (baseline.ended) continue;
      baseline.trial.label = opened.baselines[i];
      baseline.trial.verdict = prepared.verdict;
      baseline.ready = prepared.status == Status::kOk;
      if (baseline.ready) {
        baseline.trial.message = prepared.message;
      } else if (baseline.trial.label != kCublasLabel) {
        fail(baseline, prepared.status, prepared.message);
      } else {
        throw Error(
            fmt::format("cublas itself ended with {} at {}: {}; nothing can be compared "
                        "with it, see `hgemm-tune doctor`",
                        to_string(prepared.status), to_string(shape_), prepared.message));
      }
    }
  }
}

void ShapeRace::run() {
  commit();
  make_ready();
  std::vector<std::string> racers;
  for (const auto& [label, candidate] : candidates_) {
    if (!candidate.ended) racers.push_back(label);
  }
  const RacePolicy& policy = context_.plan.policy;
  const bool by_cycles = shape_.flops() / shape_.bytes() > policy.cycles_above_flops_per_byte;
  Referee referee(racers, policy,
                  by_cycles ? Referee::ScreenBy::kCycles : Referee::ScreenBy::kTime);
  for (int round = 1; !referee.finished(); ++round) {
    context_.poll_stop();
    phase_ = referee.phase();
    std::map<std::string, Sample> samples;
    for (auto& [label, sample] : measure(referee.next_round())) {
      Candidate& candidate = candidates_.at(label);
      if (candidate.ended) continue;  // after its sample: it failed when it was made ready again
      sample.round = round;
      candidate.trial.samples.push_back(sample);
      samples[label] = sample;
    }
    const auto eliminated = referee.end_round(samples);
    for (const std::string& label : eliminated) finish(candidates_.at(label));
    commit();
    for (const std::string& label : eliminated) forget(label);
    if (referee.phase() != phase_) {
      for (auto& [label, candidate] : candidates_) {
        if (!is_baseline(label)) candidate.trial.samples.clear();  // screening does not count
      }
    }
    context_.listener.racing(round, configs_alive(), referee.standing().leader,
                             referee.standing().ratio_cublas);
  }
  for (auto& [label, candidate] : candidates_) {
    if (!candidate.ended) finish(candidate);
  }
  commit();
}

/// Opens, prepares and settles whatever the last loss has undone. Each pass either succeeds, ends
/// the culprit of a loss, or counts towards giving up.
void ShapeRace::make_ready() {
  while (!settled_ && configs_alive() > 0) {
    open();
    prepare_waiting();
    if (!open_ || configs_alive() == 0) continue;
    try {
      context_.measurer.settle(context_.plan.regime);
      settled_ = true;
    } catch (const MeasurerLost& loss) {
      lost_unexplained(loss);
    }
  }
}

void ShapeRace::prepare_waiting() {
  const int total = configs_alive();
  int done = 0;
  for (auto& [label, candidate] : candidates_) {
    if (!open_) return;
    if (!candidate.build || candidate.ended) continue;
    if (!candidate.ready) {
      context_.poll_stop();
      prepare(candidate);
    }
    context_.listener.preparing(++done, total);
  }
}

void ShapeRace::prepare(Candidate& candidate) {
  try {
    const Prepared prepared = context_.measurer.prepare(*candidate.build);
    candidate.trial.verdict = prepared.verdict;
    candidate.ready = prepared.status == Status::kOk;
    if (candidate.ready) return;
    fail(candidate, prepared.status, prepared.message);
    commit();
    forget(label(candidate.build->config));
  } catch (const MeasurerLost& loss) {
    lost_to(candidate, loss);
  }
}

/// One round in this order. Who fails in it is left out.
std::map<std::string, Sample> ShapeRace::measure(const std::vector<std::string>& order) {
  std::map<std::string, Sample> samples;
  make_ready();
  if (!one_by_one_ && configs_alive() > 0) {
    std::vector<std::string> labels;
    std::ranges::copy_if(order, std::back_inserter(labels),
                         [this](const auto& label) { return candidates_.at(label).ready; });
    try {
      const std::vector<Sample> timed = context_.measurer.round(labels);
      for (std::size_t i = 0; i < labels.size(); ++i) samples[labels[i]] = timed.at(i);
      unexplained_losses_ = 0;
      return samples;
    } catch (const MeasurerLost&) {
      lost();
      one_by_one_ = true;
    }
  }
  for (const std::string& label : order) {
    if (const auto sample = measure_alone(label)) samples[label] = *sample;
  }
  return samples;
}

/// None if the label, or the last config, has ended.
std::optional<Sample> ShapeRace::measure_alone(const std::string& label) {
  Candidate& candidate = candidates_.at(label);
  for (;;) {
    make_ready();
    if (!candidate.ready || configs_alive() == 0) return std::nullopt;
    try {
      const Sample sample = context_.measurer.round({&label, 1}).at(0);
      unexplained_losses_ = 0;
      return sample;
    } catch (const MeasurerLost& loss) {
      if (label != kCublasLabel) {
        lost_to(candidate, loss);
        return std::nullopt;
      }
      lost_unexplained(loss);
    }
  }
}

void ShapeRace::lost() {
  open_ = settled_ = false;
  for (auto& [label, candidate] : candidates_) candidate.ready = false;
}

void ShapeRace::lost_unexplained(const MeasurerLost& loss) {
  lost();
  if (++unexplained_losses_ < 2) return;
  throw Error(fmt::format(
      "the GPU worker was lost twice in a row at {} with no kernel to blame: {}; what has ended is "
      "recorded. Check the GPU with `hgemm-tune doctor`, then run the same command to go on",
      to_string(shape_), loss.what()));
}

/// Recorded before anything is tried again: should the machine go down with it, the next call does
/// not walk into the same kernel.
void ShapeRace::lost_to(Candidate& culprit, const MeasurerLost& loss) {
  lost();
  unexplained_losses_ = 0;
  const std::string& algorithm = culprit.trial.message;
  fail(culprit, loss.status,
       algorithm.empty() ? loss.what() : fmt::format("{}: {}", algorithm, loss.what()));
  commit();
}

void ShapeRace::fail(Candidate& candidate, Status status, const std::string& message) {
  candidate.trial.status = status;
  candidate.trial.message = message;
  candidate.trial.stage = std::min(phase_, Stage::kScreen);  // kFinal: measured to the end
  candidate.ended = true;
  candidate.ready = false;
}

void ShapeRace::finish(Candidate& candidate) {
  candidate.trial.stage = phase_;
  candidate.ended = true;
}

void ShapeRace::forget(const std::string& label) {
  if (!open_ || is_baseline(label)) return;
  try {
    context_.measurer.forget(label);
  } catch (const MeasurerLost& loss) {
    lost_unexplained(loss);
  }
}

/// Records, in one transaction, who has ended since the last call, and with them all samples of the
/// baselines so far: a recorded candidate can always be compared.
void ShapeRace::commit() {
  std::vector<Trial> trials;
  for (auto& [label, candidate] : candidates_) {
    if (candidate.recorded || !candidate.ended) continue;
    candidate.recorded = true;
    if (!is_baseline(label)) ++context_.recorded;
    trials.push_back(std::move(candidate.trial));
  }
  if (trials.empty()) return;
  for (auto& [label, candidate] : candidates_) {
    if (candidate.ended || !is_baseline(label) || candidate.trial.samples.empty()) continue;
    candidate.trial.stage = phase_;
    trials.push_back(candidate.trial);
    candidate.trial.samples.clear();
  }
  if (!race_) race_ = context_.store.begin_race(context_.run, shape_, context_.plan.regime);
  context_.store.record(*race_, trials);
}

}  // namespace hgemm
