// One shape under measurement in this process: its data, its candidates, the protocol.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/candidate.h"
#include "measure/clock_stamp.h"
#include "measure/measurer.h"
#include "problem/problem.h"

namespace hgemm {

/// In-process half of Measurer: same calls, same contracts, and CudaError where the GPU fails.
/// worker/remote.h runs it in a process of its own.
class Session {
 public:
  /// Baselines are prepared at once.
  Session(const Shape& shape, std::uint64_t seed, const Device& device);
  Session(const Session&) = delete;  // candidates refer to the problem
  Session& operator=(const Session&) = delete;

  const Measurer::Opened& opened() const { return opened_; }
  Prepared prepare(const std::string& label, const KernelConfig& config,
                   const std::filesystem::path& cubin);
  void forget(const std::string& label);
  void settle(Regime regime);
  std::vector<Sample> round(std::span<const std::string> labels);

 private:
  struct Timed {
    std::unique_ptr<Candidate> candidate;
    std::optional<Graph> sample;  ///< captured at its first round
    int launches = 0;
    double estimate_us = 0;
  };

  /// Runs once on poisoned output, compares, estimates the time of a launch.
  Prepared check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate);
  double estimate_us(const Candidate& candidate) const;  ///< of one launch
  void capture(Timed& timed);

  const Device& device_;
  Stream stream_;
  Problem problem_;
  std::map<std::string, Timed> timed_;
  Measurer::Opened opened_;
};

}  // namespace hgemm
