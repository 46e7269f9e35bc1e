// A GPU for the tests of the driver: model times with seeded noise, and scripted faults. It is
// strict: what a real worker could not do (timing what was not prepared, or before settling) throws
// std::logic_error, which nothing in the driver catches.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.h"
#include "measure/measurer.h"
#include "space/label.h"

namespace hgemm {

inline Environment fake_gpu() {
  Environment environment;
  environment.gpu_name = "Fake H200";
  environment.kernel_hash = "k0";
  return environment;
}

class FakeMeasurer : public Measurer {
 public:
  /// One step that goes wrong, `times` times (for good by default).
  struct Fault {
    Status status;
    int times = 1 << 20;
  };
  // By label. A status of kTimedOut or kCrashed loses the measurer.
  std::map<std::string, Fault> in_prepare;
  std::map<std::string, Fault> in_round;      ///< when the label is reached
  std::map<std::string, Status> in_baseline;  ///< what open() says of a baseline
  // Losses with nobody to blame: how many calls from now on.
  int lose_open = 0, lose_settle = 0, lose_round = 0, lose_forget = 0;
  std::set<std::string> too_large;  ///< shapes

  std::map<std::string, double> model_us;  ///< default: 100
  double noise = 0.002;
  Environment where = fake_gpu();
  std::function<void()> before_step = [] {};  ///< of every call

  // What happened.
  int opened = 0, settled = 0;
  std::vector<std::string> prepared;             ///< "shape label", in order
  std::vector<std::vector<std::string>> rounds;  ///< labels
  std::set<std::string> held;                    ///< configs loaded now

  Environment environment() override {
    before_step();
    return where;
  }

  Opened open(const Shape& shape, std::uint64_t) override {
    before_step();
    close();
    if (too_large.contains(to_string(shape))) {
      throw InputError("needs 900 GiB, the GPU has 141 GiB");
    }
    lose_if(lose_open, "open");
    ++opened;
    shape_ = to_string(shape);
    Opened result;
    for (const std::string label : {"cublas", "cublaslt.0", "cublaslt.1"}) {
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
    const std::string name = label(build.config);
    need(!shape_.empty(), "prepare without a shape");
    need(build.status == Status::kOk, "prepare of a failed build");
    prepared.push_back(shape_ + " " + name);
    if (const Status status = strike(in_prepare, name); status != Status::kOk) {
      return {status, "scripted: " + std::string(to_string(status)), {false, 2, 1, ""}, 0};
    }
    ready_.insert(name);
    held.insert(name);
    return {Status::kOk, "", {true, 0.1, 1, ""}, time_of(name)};
  }

  void forget(const std::string& label) override {
    before_step();
    lose_if(lose_forget, "forget");
    ready_.erase(label);
    held.erase(label);
  }

  void settle(Regime) override {
    before_step();
    need(!shape_.empty(), "settle without a shape");
    lose_if(lose_settle, "settle");
    ++settled;
    settled_ = true;
  }

  std::vector<Sample> round(std::span<const std::string> labels) override {
    before_step();
    need(settled_, "a round before settling");
    need(!labels.empty(), "a round of nobody");
    rounds.emplace_back(labels.begin(), labels.end());
    lose_if(lose_round, "round");
    std::vector<Sample> samples;
    for (const std::string& label : labels) {
      need(ready_.contains(label), "timing of " + label + ", which is not ready");
      strike(in_round, label);
      samples.push_back({0, 20, time_of(label) * (1 + noise * gauss_(random_)), 1700});
    }
    return samples;
  }

 private:
  static void need(bool condition, const std::string& what) {
    if (!condition) throw std::logic_error("the driver asked for " + what);
  }
  void close() {
    shape_.clear();
    ready_.clear();
    held.clear();
    settled_ = false;
  }
  void lose_if(int& count, const std::string& step) {
    if (count == 0) return;
    --count;
    close();
    throw MeasurerLost(Status::kCrashed, "worker died in " + step);
  }
  /// The label's fault if it has one left; throws if it is a loss.
  Status strike(std::map<std::string, Fault>& faults, const std::string& label) {
    const auto found = faults.find(label);
    if (found == faults.end() || found->second.times == 0) return Status::kOk;
    --found->second.times;
    const Status status = found->second.status;
    if (status != Status::kCrashed && status != Status::kTimedOut) return status;
    close();
    throw MeasurerLost(status, "worker lost to " + label);
  }
  double time_of(const std::string& label) const {
    const auto found = model_us.find(label);
    return found == model_us.end() ? 100 : found->second;
  }

  std::string shape_;  ///< open now
  std::set<std::string> ready_;
  bool settled_ = false;
  std::mt19937_64 random_{42};
  std::normal_distribution<double> gauss_;
};

}  // namespace hgemm
