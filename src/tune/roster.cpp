#include "tune/roster.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

#include "base/statistics.h"
#include "families/family.h"
#include "record/peer.h"

namespace hgemm {

void Roster::add(const Build& build) {
  const std::string name = label(config_of(build.kernel));
  if (build.status != Status::kOk) {
    add_failed(name, build.facts.identity(), build.status, build.message);
    return;
  }
  Racer& racer = racers_[name];
  racer.trial.label = name;
  racer.trial.kernel_id = build.facts.identity();
  racer.build = &build;
}

void Roster::add_failed(const std::string& label, const std::string& kernel_id, Status status,
                        const std::string& message) {
  Racer& racer = racers_[label];
  racer.trial.label = label;
  racer.trial.kernel_id = kernel_id;
  fail(label, Stage::kNone, status, message);
}

Racer& Roster::add_baseline(const std::string& label) {
  Racer& racer = racers_[label];
  racer.trial.label = label;
  return racer;
}

bool Roster::takes_part(const std::string& label) const {
  const auto found = racers_.find(label);
  return found != racers_.end() && !found->second.ended;
}

int Roster::configs_alive() const {
  return static_cast<int>(std::ranges::count_if(
      racers_, [](const auto& item) { return !item.second.ended && !is_baseline(item.first); }));
}

std::vector<std::string> Roster::alive() const {
  std::vector<std::string> labels;
  for (const auto& [label, racer] : racers_) {
    if (!racer.ended) labels.push_back(label);
  }
  return labels;
}

std::vector<std::string> Roster::waiting() const {
  std::vector<std::string> labels;
  for (const auto& [label, racer] : racers_) {
    if (racer.waits()) labels.push_back(label);
  }
  return labels;
}

std::set<std::string> Roster::ended_baselines() const {
  std::set<std::string> labels;
  for (const auto& [label, racer] : racers_) {
    if (racer.ended && is_baseline(label)) labels.insert(label);
  }
  return labels;
}

int Roster::lost_to_variants_of(const std::string& peer) const {
  return static_cast<int>(std::ranges::count_if(racers_, [&](const auto& item) {
    const Status status = item.second.trial.status;
    return item.first.starts_with(peer + ".") &&
           (status == Status::kCrashed || status == Status::kTimedOut);
  }));
}

std::vector<std::string> Roster::ready_of(const std::vector<std::string>& labels) const {
  std::vector<std::string> ready;
  std::ranges::copy_if(labels, std::back_inserter(ready),
                       [this](const std::string& label) { return at(label).ready; });
  return ready;
}

void Roster::fail(const std::string& label, Stage phase, Status status,
                  const std::string& message) {
  Racer& racer = at(label);
  racer.trial.status = status;
  racer.trial.message = message;
  // kFinal is only for candidates that are measured to the end
  racer.trial.stage = std::min(phase, Stage::kScreen);
  racer.ended = true;
  racer.due = true;
  racer.ready = false;
}

void Roster::eliminate(const std::string& label) {
  Racer& racer = at(label);
  racer.trial.stage = Stage::kScreen;
  racer.due = true;
  racer.ended = true;
}

void Roster::finish(Stage phase) {
  for (auto& [label, racer] : racers_) {
    if (racer.ended) continue;
    racer.trial.stage = phase;
    racer.due = true;
  }
}

void Roster::drop_samples_of_configs() {
  for (auto& [label, racer] : racers_) {
    if (!is_baseline(label)) racer.trial.samples.clear();
  }
}

void Roster::lose_all() {
  for (auto& [label, racer] : racers_) racer.ready = false;
}

std::vector<Trial> Roster::take_due(Stage phase, std::int64_t& new_configs) {
  std::vector<Trial> trials;
  const auto take = [&trials](Racer& racer) {
    trials.push_back(racer.trial);
    racer.trial.samples.clear();
  };
  for (auto& [label, racer] : racers_) {
    if (!std::exchange(racer.due, false)) continue;
    if (!std::exchange(racer.counted, true) && !is_baseline(label)) ++new_configs;
    take(racer);
  }
  if (trials.empty()) return trials;
  for (auto& [label, racer] : racers_) {
    if (racer.ended || !is_baseline(label) || racer.trial.samples.empty()) continue;
    racer.trial.stage = phase;
    take(racer);
  }
  return trials;
}

std::vector<std::string> Roster::ahead() const {
  std::vector<std::string> labels;
  std::map<std::string, std::string> fastest;  // of each library, by its name
  for (const auto& [label, racer] : racers_) {
    if (racer.ended || racer.final_times_us.empty()) continue;
    if (!is_baseline(label) || label == kCublasLabel) {
      labels.push_back(label);
      continue;
    }
    const std::string library(is_peer(label) ? peer_name(label) : kCublasLtPrefix);
    const auto [best, is_new] = fastest.try_emplace(library, label);
    if (!is_new && final_us(label) < final_us(best->second)) best->second = label;
  }
  for (const auto& [library, label] : fastest) labels.push_back(label);
  return labels;
}

std::vector<std::string> Roster::winner_and_baselines() const {
  std::vector<std::string> labels = ahead();
  const auto configs = std::ranges::partition(labels, is_baseline);
  if (configs.empty()) return labels;
  std::string winner = *std::ranges::max_element(
      configs, {}, [this](const std::string& label) { return final_speed(label); });
  labels.erase(configs.begin(), labels.end());
  labels.push_back(std::move(winner));
  return labels;
}

double Roster::final_speed(const std::string& label) const {
  const std::vector<double>& ours_us = at(label).final_times_us;
  const auto cublas = racers_.find(std::string(kCublasLabel));
  if (cublas == racers_.end() || cublas->second.final_times_us.size() < ours_us.size()) {
    return 1 / final_us(label);
  }
  std::vector<double> ratios;  // both begin with the first round of the final
  std::ranges::transform(cublas->second.final_times_us | std::views::take(ours_us.size()), ours_us,
                         std::back_inserter(ratios), std::divides());
  return median(ratios);
}

double Roster::final_us(const std::string& label) const { return median(at(label).final_times_us); }

}  // namespace hgemm
