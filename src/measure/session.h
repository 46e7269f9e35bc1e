// One shape under measurement in this process: its data, its candidates, the protocol.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "gpu/nvml.h"
#include "measure/candidate.h"
#include "measure/clock_stamp.h"
#include "measure/measurer.h"
#include "problem/problem.h"

namespace hgemm {

/// What the GPU is about to do, and for how long if all is well: so that whoever waits for it can
/// tell a hang, and whose it is.
struct Step {
  std::string doing;  ///< "the first launch"
  std::string label;  ///< of the candidate; empty if it is none
  bool alone = true;  ///< nothing else is enqueued: whatever fails now is its fault
  double expected_ms = 0;
};
using OnStep = std::function<void(const Step&)>;

/// In-process half of Measurer: same calls, same contracts, and CudaError where the GPU fails.
/// worker/remote.h runs it in a process of its own. rounds(), settle() and energy() throw
/// std::invalid_argument for a label that is not prepared.
class Session {
 public:
  /// Baselines are prepared at once, but those `without`. Without `nvml`, samples have no power,
  /// temperature and events.
  Session(const Shape& shape, std::uint64_t seed, const Device& device, const Nvml* nvml = nullptr,
          OnStep on_step = nullptr, const std::set<std::string>& without = {});
  Session(const Session&) = delete;  // candidates refer to the problem
  Session& operator=(const Session&) = delete;

  const Measurer::Opened& opened() const { return opened_; }
  const Problem& problem() const { return problem_; }
  /// Of any kind; it must be made for problem().
  Prepared prepare(const std::string& label, std::unique_ptr<Candidate> candidate);
  Prepared prepare(const std::string& label, const KernelConfig& config,
                   const std::filesystem::path& cubin);
  Prepared restore(const std::string& label, const KernelConfig& config,
                   const std::filesystem::path& cubin, double estimate_us);
  void forget(const std::string& label);
  Measurer::Settled settle(Pace pace);
  std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels, Pace pace);
  std::optional<Energy> energy(const std::string& label);

 private:
  struct Timed {
    std::string label;
    std::unique_ptr<Candidate> candidate;
    Graph replay;
    int launches = 0;        ///< of one replay
    double estimate_us = 0;  ///< of one launch

    double replay_ms() const { return estimate_us * launches * 1e-3; }
  };

  /// Runs once on poisoned output, compares, estimates the time of a launch, captures the replay.
  Prepared check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate);
  double estimate_us(const Candidate& candidate) const;  ///< of one launch
  Timed capture(const std::string& label, std::unique_ptr<Candidate> candidate,
                double estimate_us) const;
  const Timed& timed(const std::string& label) const;

  bool is_light() const;
  Measurer::Settled settle_at_full_load();
  void settle_rested();
  /// Full load: about `duration_ms` of cublasGemmEx. Returns what was measured meanwhile.
  std::vector<Sample> load(double duration_ms);

  std::vector<Sample> run_shared(std::span<const Timed* const> order);
  std::vector<Sample> run_own(const Timed& timed);
  Sample run_rested(const Timed& timed);

  /// Enqueues a sample of `replays` replays between the events and stamps of `slot`.
  void enqueue(const Timed& timed, int replays, std::size_t slot);
  /// Waits for the end of the sample in `slot`; its clock is still unknown.
  Sample await(const Timed& timed, int replays, std::size_t slot, Pace pace);
  void reserve_slots(std::size_t count);
  void announce(const char* doing, const std::string& label, double expected_ms,
                bool alone = true) const;

  int sm_count_;
  const Nvml* nvml_;
  OnStep on_step_;
  Stream stream_;
  Problem problem_;
  std::map<std::string, Timed> timed_;
  Measurer::Opened opened_;
  std::optional<ClockStamps> stamps_;
  std::vector<Event> starts_, ends_;
  std::chrono::steady_clock::time_point idle_since_{};
};

}  // namespace hgemm
