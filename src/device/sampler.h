// Takes samples of verified candidates as device/protocol.h describes. A candidate may be one GEMM
// (device/session.h) or a chain of them (studies/chain/run.h).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/call_time.h"
#include "device/candidate.h"
#include "device/clock_stamp.h"
#include "device/cuda.h"
#include "device/measurer.h"
#include "device/nvml.h"
#include "device/protocol.h"
#include "device/stream_gate.h"

namespace hgemm {

/// A step that the GPU is about to do, and its expected duration, so that the waiting process can
/// detect a hang and knows the candidate.
struct Step {
  std::string doing;  ///< "the first launch"
  std::string label;  ///< of the candidate; empty if the step is about none
  bool alone = true;  ///< nothing else is enqueued, so a failure is this candidate's fault
  double expected_ms = 0;
};
using OnStep = std::function<void(const Step&)>;

/// Samples candidates. One of them must be cublas, which is used to load the GPU. settle(),
/// rounds(), energy() and calls() have the contract of Measurer, and throw std::invalid_argument
/// for a label that was not added.
class Sampler {
 public:
  struct Work {
    int sets = 1;        ///< input sets that launches rotate over
    bool light = false;  ///< at most protocol::kLightLoad FLOP per byte
    Effort effort = Effort::kFull;
    /// Enqueued before and after each launch of a candidate with the launch's input set, and timed
    /// with it. Empty: nothing is.
    std::function<void(int set, cudaStream_t)> before = {}, after = {};
  };
  /// `stream` must outlive this object. Without `nvml`, samples have no power, temperature and
  /// events.
  Sampler(const Stream& stream, const Work& work, const Gpu& device, const Nvml* nvml,
          OnStep on_step);

  /// Time of one launch in microseconds, by a short timing.
  double estimate_us(const Candidate& candidate) const;
  /// Adds a candidate; it replaces an earlier one with the same label.
  void add(const std::string& label, std::unique_ptr<Candidate> candidate, double estimate_us);
  void forget(const std::string& label);

  Measurer::Settled settle(Pace pace);
  std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels, Pace pace);
  std::optional<Energy> energy(const std::string& label);
  CallTime calls(const std::string& label);

  void announce(const char* doing, const std::string& label, double expected_ms,
                bool alone = true) const;

 private:
  struct Timed {
    std::string label;
    std::unique_ptr<Candidate> candidate;
    Graph replay;
    int launches = 0;        ///< in one replay
    double estimate_us = 0;  ///< of one launch

    double replay_ms() const { return estimate_us * launches * 1e-3; }
  };
  const Timed& timed(const std::string& label) const;
  void launch(const Candidate& candidate, int set) const;
  int next_set();
  const protocol::Windows& windows() const {
    return work_.effort == Effort::kBrief ? protocol::kBrief : protocol::kFull;
  }

  Measurer::Settled settle_at_full_load();
  void settle_rested();
  /// Runs cublas at full load for about `duration_ms`. Returns the samples of that time.
  std::vector<Sample> load(double duration_ms);

  std::vector<Sample> run_shared(std::span<const Timed* const> order);
  std::vector<Sample> run_own(const Timed& timed);
  Sample run_rested(const Timed& timed);
  Sample run_single(const Timed& timed);

  /// Enqueues a sample of `replays` replays between the events and stamps of `slot`.
  void enqueue(const Timed& timed, int replays, std::size_t slot);
  /// Waits for the end of the sample of `launches` in `slot`. The sample has no clock yet.
  Sample await(int launches, std::size_t slot, Pace pace);
  void reserve_slots(std::size_t count);

  const Stream& stream_;
  Work work_;
  int sm_count_;
  const Nvml* nvml_;
  OnStep on_step_;
  std::map<std::string, Timed> timed_;
  std::optional<ClockStamps> stamps_;
  std::optional<StreamGate> gate_;
  int next_set_ = 0;  ///< of single calls
  std::vector<Event> starts_, ends_;
  std::chrono::steady_clock::time_point idle_since_{};
};

}  // namespace hgemm
