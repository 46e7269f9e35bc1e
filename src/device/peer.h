// Peers in this process: loads their libraries and makes candidates of their variants.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/candidate.h"
#include "include/hgemm_peer.h"
#include "record/peer.h"

namespace hgemm {

/// A peer's library, opened. It runs code of others in this process: only workers do so.
class LoadedPeer {
 public:
  /// Throws Error if the file has changed since it was hashed, cannot be loaded, is no peer of this
  /// version of the interface, or fails to open.
  explicit LoadedPeer(const Peer& peer);
  LoadedPeer(const LoadedPeer&) = delete;
  LoadedPeer& operator=(const LoadedPeer&) = delete;
  ~LoadedPeer();

  /// Why the peer is not asked about the problem, or nullptr: the interface has no such problems,
  /// or the peer does not say that it knows what the problem asks for.
  const char* why_not_asked(const GemmProblem& problem) const;

  // All throw Error with the peer's own reason if it reports a failure.
  /// At most HGEMM_PEER_MOST_VARIANTS; 0: it is not asked, or cannot compute the problem.
  int variants(const GemmProblem& problem) const;
  /// The peer's version and what it says of the variant, on one line.
  std::string describe(const GemmProblem& problem, int variant) const;
  std::size_t workspace_bytes(const GemmProblem& problem, int variant) const;
  void launch(const GemmProblem& problem, int variant, const Operands& operands, void* workspace,
              cudaStream_t stream) const;

 private:
  [[noreturn]] void fail(const char* function) const;

  Peer peer_;
  const hgemm_peer* table_ = nullptr;
  void* state_ = nullptr;
};

/// The peers that this process has loaded. A library is loaded once and stays.
class LoadedPeers {
 public:
  std::shared_ptr<const LoadedPeer> get(const Peer& peer);

 private:
  std::map<std::string, std::shared_ptr<const LoadedPeer>> by_identity_;
};

/// A variant of a peer at a problem. It takes its workspace from the pool.
std::unique_ptr<Candidate> make_peer_candidate(std::shared_ptr<const LoadedPeer> peer, int variant,
                                               const ProblemData& data, WorkspacePool& pool);

}  // namespace hgemm
