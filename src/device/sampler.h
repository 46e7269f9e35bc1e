// Samples of candidates that are known to be correct, as device/protocol.h says. What they compute
// is not its business: one GEMM (device/session.h) or a chain of them (studies/chain/run.h).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/candidate.h"
#include "device/clock_stamp.h"
#include "device/cuda.h"
#include "device/measurer.h"
#include "device/nvml.h"
#include "device/protocol.h"

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

/// One of the candidates is cublas: it is what loads the GPU. settle(), rounds() and energy() are
/// those of Measurer, and throw std::invalid_argument for a label that was not added.
class Sampler {
 public:
  struct Work {
    int sets = 1;        ///< that launches rotate over
    bool light = false;  ///< of at most protocol::kLightLoad FLOP per byte
    Effort effort = Effort::kFull;
  };
  /// `stream` must outlive it. Without `nvml`, samples have no power, temperature and events.
  Sampler(const Stream& stream, const Work& work, const Gpu& device, const Nvml* nvml,
          OnStep on_step);

  /// Of one launch, by a short timing.
  double estimate_us(const Candidate& candidate) const;
  /// In place of who had the label before.
  void add(const std::string& label, std::unique_ptr<Candidate> candidate, double estimate_us);
  void forget(const std::string& label);

  Measurer::Settled settle(Pace pace);
  std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels, Pace pace);
  std::optional<Energy> energy(const std::string& label);

  void announce(const char* doing, const std::string& label, double expected_ms,
                bool alone = true) const;

 private:
  struct Timed {
    std::string label;
    std::unique_ptr<Candidate> candidate;
    Graph replay;
    int launches = 0;        ///< of one replay
    double estimate_us = 0;  ///< of one launch

    double replay_ms() const { return estimate_us * launches * 1e-3; }
  };
  const Timed& timed(const std::string& label) const;
  const protocol::Windows& windows() const {
    return work_.effort == Effort::kBrief ? protocol::kBrief : protocol::kFull;
  }

  Measurer::Settled settle_at_full_load();
  void settle_rested();
  /// Full load: about `duration_ms` of cublas. Returns what was measured meanwhile.
  std::vector<Sample> load(double duration_ms);

  std::vector<Sample> run_shared(std::span<const Timed* const> order);
  std::vector<Sample> run_own(const Timed& timed);
  Sample run_rested(const Timed& timed);

  /// Enqueues a sample of `replays` replays between the events and stamps of `slot`.
  void enqueue(const Timed& timed, int replays, std::size_t slot);
  /// Waits for the end of the sample in `slot`; its clock is still unknown.
  Sample await(const Timed& timed, int replays, std::size_t slot, Pace pace);
  void reserve_slots(std::size_t count);

  const Stream& stream_;
  Work work_;
  int sm_count_;
  const Nvml* nvml_;
  OnStep on_step_;
  std::map<std::string, Timed> timed_;
  std::optional<ClockStamps> stamps_;
  std::vector<Event> starts_, ends_;
  std::chrono::steady_clock::time_point idle_since_{};
};

}  // namespace hgemm
