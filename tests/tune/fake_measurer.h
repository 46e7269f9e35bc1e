// A GPU for the tests of the driver: model times with seeded noise, and scripted faults. It is
// strict: what a real worker could not do (timing what was not prepared, at a pace that it was not
// settled for, restoring what was never verified) throws std::logic_error, which nothing in the
// driver catches.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/measurer.h"
#include "families/family.h"
#include "record/peer.h"

namespace hgemm {

inline Machine fake_machine() {
  Machine machine;
  machine.environment.gpu_name = "Fake H200";
  machine.environment.sm_count = 132;
  machine.environment.power_limit_w = 700;
  machine.run.gpu_uuid = "GPU-0";
  machine.run.kernel_sources = "k0";
  return machine;
}

class FakeMeasurer : public Measurer {
 public:
  /// One step that goes wrong, `times` times (for good by default).
  struct Fault {
    Status status;
    int times = 1 << 20;
    std::optional<Pace> only_at = {};  ///< of in_round
  };
  // By label. A status of kTimedOut or kCrashed loses the measurer.
  std::map<std::string, Fault> in_open;  ///< when the baseline is launched
  std::map<std::string, Fault> in_prepare;
  std::map<std::string, Fault> in_restore;
  std::map<std::string, Fault> in_round;  ///< when the label is reached
  std::map<std::string, Fault> in_energy, in_calls;
  std::map<std::string, Status> in_baseline;  ///< what open() says of a baseline
  std::vector<std::string> peers;             ///< labels of the variants of all peers
  // Losses with nobody to blame: how many calls from now on.
  int lose_open = 0, lose_settle = 0, lose_round = 0, lose_forget = 0;
  std::set<std::string> too_large;          ///< shapes
  std::set<std::string> without_libraries;  ///< shapes that cuBLASLt does not compute

  std::map<std::string, double> model_us;  ///< default: 100
  std::size_t own_samples = 1;             ///< of a label in one call of rounds() at the own pace
  double noise = 0.002;
  Machine where = fake_machine();
  Timing timing;
  bool power_capped = true;  ///< at full load
  bool has_energy_counter = true;
  std::optional<std::uint64_t> clock_events;  ///< of every sample
  std::function<void()> before_step = [] {};  ///< of every call

  // What happened.
  int opened = 0;
  std::vector<std::uint64_t> seeds;                ///< of each shape opened
  std::vector<Effort> efforts;                     ///< of each call of open()
  std::vector<std::vector<std::string>> launched;  ///< baselines, in each open() that got so far
  std::vector<std::string> prepared;               ///< "shape label", in order
  std::vector<std::string> restored;               ///< "shape label", in order
  std::vector<Pace> settled;                       ///< without those that were lost
  std::vector<std::vector<std::string>> asked;     ///< labels of each call of rounds()
  std::vector<Pace> paces;                         ///< of each
  std::vector<std::string> weighed;                ///< labels whose energy was asked for
  std::vector<std::string> called;                 ///< labels whose calls were timed
  std::vector<Regime> regimes;                     ///< of each call of open()
  std::set<std::string> held;                      ///< configs loaded now

  Machine machine() override {
    before_step();
    return where;
  }

  Opened open(const GemmProblem& problem, const Opening& opening) override {
    before_step();
    efforts.push_back(opening.effort);
    regimes.push_back(opening.regime);
    close();
    if (too_large.contains(to_string(problem))) {
      throw InputError("needs 900 GiB, the GPU has 141 GiB");
    }
    need(!opening.without.contains("cublas"), "a shape without cublas");
    lose_if(lose_open, "open");
    launched.emplace_back();
    std::vector<std::string> baselines = {"cublas", "cublaslt.0", "cublaslt.1"};
    if (without_libraries.contains(to_string(problem))) baselines.clear();
    baselines.insert(baselines.end(), peers.begin(), peers.end());
    for (const std::string& label : baselines) {
      if (opening.without.contains(label)) continue;
      if (is_peer(label) && opening.without.contains("peer." + std::string(peer_name(label))))
        continue;
      launched.back().push_back(label);
      strike(in_open, label, label);
    }
    ++opened;
    seeds.push_back(opening.seed);
    problem_ = problem;
    Opened result;
    result.timing = timing;
    result.timing.brief = opening.effort == Effort::kBrief;
    for (const std::string& label : launched.back()) {
      const bool fails = in_baseline.contains(label);
      const Status status = fails ? in_baseline.at(label) : Status::kOk;
      result.baselines.push_back(label);
      result.prepared.push_back({status, "algorithm of " + label, {!fails, 0.1, 1, ""}, 100});
      if (!fails) ready_.insert(label);
    }
    return result;
  }

  Prepared prepare(const Build& build) override {
    before_step();
    const std::string name = load(build, "prepare");
    prepared.push_back(to_string(*problem_) + " " + name);
    if (const Status status = strike(in_prepare, name, name); status != Status::kOk) {
      return {status, "scripted: " + std::string(to_string(status)), {false, 2, 1, ""}, 0};
    }
    ready_.insert(name);
    held.insert(name);
    verified_.insert(identity(build));
    return {Status::kOk, "", {true, 0.1, 1, ""}, time_us(*problem_, name, Pace::kShared)};
  }

  Prepared restore(const Build& build, double estimate_us) override {
    before_step();
    const std::string name = load(build, "restore");
    need(verified_.contains(identity(build)), "restoring " + name + ", which was never verified");
    need(estimate_us == time_us(*problem_, name, Pace::kShared), "another estimate of " + name);
    restored.push_back(to_string(*problem_) + " " + name);
    if (const Status status = strike(in_restore, name, name); status != Status::kOk) {
      return {status, "scripted: " + std::string(to_string(status)), {false, 2, 1, ""}, 0};
    }
    ready_.insert(name);
    held.insert(name);
    return {Status::kOk, "", {}, estimate_us};
  }

  void forget(const std::string& label) override {
    before_step();
    need(problem_.has_value(), "forgetting without a shape");
    lose_if(lose_forget, "forget");
    ready_.erase(label);
    held.erase(label);
  }

  Settled settle(Pace pace) override {
    before_step();
    need(problem_.has_value(), "settling without a shape");
    lose_if(lose_settle, "settle");
    settled.push_back(pace);
    settled_for_ = pace;
    return {pace != Pace::kRested && power_capped};
  }

  std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels, Pace pace) override {
    before_step();
    need(settled_for_ == pace || (settled_for_ == Pace::kOwn && pace == Pace::kShared),
         "a round before settling for its pace");
    need(!labels.empty(), "a round of nobody");
    asked.emplace_back(labels.begin(), labels.end());
    paces.push_back(pace);
    lose_if(lose_round, "round");
    const bool alone =
        pace != Pace::kShared || labels.size() == 1;  // else all are enqueued at once
    std::vector<std::vector<Sample>> rounds(pace == Pace::kOwn ? own_samples : 1);
    for (const std::string& label : labels) {
      need_ready(label);
      if (const auto fault = in_round.find(label);
          fault != in_round.end() && fault->second.only_at.value_or(pace) == pace) {
        strike(in_round, label, alone ? label : "");
      }
      for (std::vector<Sample>& samples : rounds) {
        samples.push_back(
            {.round = 0,
             .pace = pace,
             .launches = 20,
             .time_us = time_us(*problem_, label, pace) * (1 + noise * gauss_(random_)),
             .sm_mhz = 1700,
             .power_w = 650,
             .temperature_c = 50,
             .clock_events = clock_events});
      }
    }
    return rounds;
  }

  CallTime calls(const std::string& label) override {
    before_step();
    need_ready(label);
    called.push_back(label);
    strike(in_calls, label, label);
    return {.calls = 25,
            .host_us = 3,
            .kernels = 1,
            .kernel_us = time_us(*problem_, label, Pace::kSingle)};
  }

  std::optional<Energy> energy(const std::string& label) override {
    before_step();
    need_ready(label);
    weighed.push_back(label);
    strike(in_energy, label, label);
    if (!has_energy_counter) return std::nullopt;
    return Energy{.window_s = 2, .power_w = 600, .time_us = time_us(*problem_, label, Pace::kOwn)};
  }

 protected:
  /// Time of one launch, without noise. The pace changes nothing here.
  virtual double time_us(const GemmProblem&, const std::string& label, Pace) const {
    const auto found = model_us.find(label);
    return found == model_us.end() ? 100 : found->second;
  }

 private:
  static void need(bool condition, const std::string& what) {
    if (!condition) throw std::logic_error("the driver asked for " + what);
  }
  void need_ready(const std::string& label) const {
    need(ready_.contains(label), "timing of " + label + ", which is not ready");
  }
  std::string load(const Build& build, const std::string& step) const {
    const std::string name = label(config_of(build.kernel));
    need(problem_.has_value(), step + " without a shape");
    need(build.status == Status::kOk, step + " of a failed build");
    need(build_name(build.kernel) == build_name(kernel_for(config_of(build.kernel), *problem_)),
         step + " of a kernel for another problem");
    need(!ready_.contains(name), step + " of " + name + ", which is ready");
    return name;
  }
  /// A kernel with the data that it was compared on.
  std::string identity(const Build& build) const {
    return fmt::format("{} {} {}", to_string(*problem_), seeds.back(), build.facts.kernel_id);
  }
  void close() {
    problem_.reset();
    ready_.clear();
    held.clear();
    settled_for_.reset();
  }
  void lose_if(int& count, const std::string& step) {
    if (count == 0) return;
    --count;
    close();
    throw MeasurerLost(Status::kCrashed, "worker died in " + step);
  }
  /// The label's fault if it has one left; throws if it is a loss.
  Status strike(std::map<std::string, Fault>& faults, const std::string& label,
                const std::string& culprit) {
    const auto found = faults.find(label);
    if (found == faults.end() || found->second.times == 0) return Status::kOk;
    --found->second.times;
    const Status status = found->second.status;
    if (status != Status::kCrashed && status != Status::kTimedOut) return status;
    close();
    throw MeasurerLost(status, "worker lost to " + label, culprit);
  }

  std::optional<GemmProblem> problem_;  ///< open now
  std::set<std::string> ready_;
  std::set<std::string> verified_;  ///< by identity(); known to whoever holds this object
  std::optional<Pace> settled_for_;
  std::mt19937_64 random_{42};
  std::normal_distribution<double> gauss_;
};

}  // namespace hgemm
