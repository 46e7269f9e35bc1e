// Measures one problem in this process: holds its data, its candidates and its sampler.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/candidate.h"
#include "device/measurer.h"
#include "device/nvml.h"
#include "device/peer.h"
#include "device/problem_data.h"
#include "device/sampler.h"

namespace hgemm {

/// The peers that take part, and this process's copies of them.
struct PeersInRace {
  std::span<const Peer> peers = {};
  LoadedPeers* loaded = nullptr;  ///< not null if there are peers
};

/// The in-process part of Measurer: the same calls with the same contracts, but CudaError if the
/// GPU fails. worker/remote.h runs it in a process of its own. rounds(), settle(), energy() and
/// calls() throw std::invalid_argument for a label that is not prepared.
class Session {
 public:
  /// Prepares all baselines, except those left out; those of peers come last. `stream` must outlive
  /// this object. Without `nvml`, samples have no power, temperature and events.
  Session(const Stream& stream, const GemmProblem& problem, const Opening& opening,
          const Gpu& device, const Nvml* nvml = nullptr, OnStep on_step = nullptr,
          const PeersInRace& peers = {});
  Session(const Session&) = delete;  // candidates hold references to the data
  Session& operator=(const Session&) = delete;

  const Measurer::Opened& opened() const { return opened_; }
  const ProblemData& data() const { return data_; }
  /// Prepares a candidate of any kind; it must be made for data().
  Prepared prepare(const std::string& label, std::unique_ptr<Candidate> candidate);
  Prepared prepare(const std::string& label, const Kernel& kernel, const Cubin& cubin);
  Prepared restore(const std::string& label, const Kernel& kernel, const Cubin& cubin,
                   double estimate_us);
  void forget(const std::string& label) { sampler_.forget(label); }
  Measurer::Settled settle(Pace pace) { return sampler_.settle(pace); }
  std::vector<std::vector<Sample>> rounds(std::span<const std::string> labels, Pace pace) {
    return sampler_.rounds(labels, pace);
  }
  std::optional<Energy> energy(const std::string& label) { return sampler_.energy(label); }
  CallTime calls(const std::string& label) { return sampler_.calls(label); }

 private:
  Sampler::Work work_of(const Opening& opening) const;
  void open_baseline(const std::string& label, Prepared prepared);
  void open_peer(const Peer& peer, LoadedPeers& loaded, const std::set<std::string>& without);
  Prepared check_peer(const std::string& label, std::shared_ptr<const LoadedPeer> peer,
                      int variant);
  /// The verdict on what `enqueue`, which launches the candidate, puts into the output of the check
  /// set.
  template <class Enqueue>
  Verdict verdict_of(const Enqueue& enqueue, const Candidate& candidate);
  /// Runs it once on poisoned output, compares the output, and adds it to the sampler.
  Prepared check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate);

  const Stream& stream_;
  ProblemData data_;
  WorkspacePool workspaces_;  ///< shared, because one candidate runs at a time
  Sampler sampler_;
  Measurer::Opened opened_;
};

}  // namespace hgemm
