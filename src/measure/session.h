// One shape under measurement in this process: its data, its candidates, the protocol.
#pragma once

#include <chrono>
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
/// worker/remote.h runs it in a process of its own. round() throws std::invalid_argument for a
/// label that is not prepared.
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
    Graph sample;
    int launches = 0;
    double estimate_us = 0;
  };

  /// Runs once on poisoned output, compares, estimates the time of a launch, captures the sample.
  Prepared check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate);
  double estimate_us(const Candidate& candidate) const;  ///< of one launch
  Timed capture(std::unique_ptr<Candidate> candidate, double estimate_us) const;

  /// Full load: about `duration_ms` of cublasGemmEx. Returns what was measured meanwhile.
  std::vector<Sample> load(double duration_ms);
  std::vector<Sample> run(std::span<const Timed* const> order);
  const Timed& timed(const std::string& label) const;

  int sm_count_;
  Stream stream_;
  Problem problem_;
  std::map<std::string, Timed> timed_;
  Measurer::Opened opened_;
  std::optional<ClockStamps> stamps_;
  std::vector<Event> starts_, ends_;
  std::chrono::steady_clock::time_point idle_since_{};
};

}  // namespace hgemm
