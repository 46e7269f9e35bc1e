#include "device/session.h"

#include <fmt/format.h>

#include <utility>

#include "device/protocol.h"

namespace hgemm {
namespace {

/// Converts the exception being handled into a failed candidate; call it in a handler. A refusal by
/// CUDA or a library is the candidate's own failure. If the context is lost, the error is rethrown.
/// So is an InputError: a changed cubin says nothing about the candidate, and must not be recorded
/// as its failure.
Prepared launch_failure(const Error& error) {
  const auto* const cuda_error = dynamic_cast<const CudaError*>(&error);
  if (cuda_error != nullptr && cuda_error->sticky()) throw;
  if (dynamic_cast<const InputError*>(&error) != nullptr) throw;
  return {.status = Status::kLaunchFailed, .message = error.what(), .verdict = {}};
}

/// What a baseline is, and why it failed if it did.
std::string described(const std::string& description, const Prepared& prepared) {
  if (prepared.status == Status::kOk || description.empty()) {
    return description.empty() ? prepared.message : description;
  }
  return fmt::format("{}: {}", description, prepared.message);
}

/// Loading a peer may load large libraries, and preparing a variant may compile it.
constexpr double kPeerLoadMs = 3000;

bool is_light(const GemmProblem& problem) { return problem.intensity() <= protocol::kLightLoad; }

}  // namespace

template <class Enqueue>
Verdict Session::verdict_of(const Enqueue& enqueue, const Candidate& candidate) {
  data_.poison(stream_);
  enqueue();
  return data_.verify(stream_, candidate.roundings(), candidate.rows_behind());
}

Session::Session(const Stream& stream, const GemmProblem& problem, const Opening& opening,
                 const Gpu& device, const Nvml* nvml, OnStep on_step, const PeersInRace& peers)
    : stream_(stream),
      data_(problem, opening.seed, device, stream_),
      sampler_(stream_, work_of(opening), device, nvml, std::move(on_step)) {
  const std::set<std::string>& without = opening.without;
  opened_.timing.cold = data_.cold();
  opened_.timing.graph = opening.regime != Regime::kSingle;
  opened_.timing.brief = opening.effort == Effort::kBrief;
  for (Baseline& baseline : make_baselines(data_)) {
    if (without.contains(baseline.label)) continue;
    const std::string description = baseline.candidate->describe();
    Prepared prepared = check_candidate(baseline.label, std::move(baseline.candidate));
    prepared.message = described(description, prepared);
    open_baseline(baseline.label, std::move(prepared));
  }
  for (const Peer& peer : peers.peers) open_peer(peer, *peers.loaded, without);
}

Sampler::Work Session::work_of(const Opening& opening) const {
  Sampler::Work work{
      .sets = data_.sets(), .light = is_light(data_.problem()), .effort = opening.effort};
  if (opening.regime == Regime::kChain) {
    work.before = [this](int set, cudaStream_t stream) { data_.touch_input(set, stream); };
    work.after = [this](int set, cudaStream_t stream) { data_.touch_output(set, stream); };
  }
  return work;
}

void Session::open_baseline(const std::string& label, Prepared prepared) {
  opened_.baselines.push_back(label);
  opened_.prepared.push_back(std::move(prepared));
}

/// Opens all variants of a peer. A peer that has none leaves one trial that says why.
void Session::open_peer(const Peer& peer, LoadedPeers& loaded,
                        const std::set<std::string>& without) {
  if (without.contains(peer.label())) return;
  sampler_.announce("loading", peer.label(), kPeerLoadMs);
  std::shared_ptr<const LoadedPeer> library;
  int variants = 0;
  try {
    library = loaded.get(peer);
    variants = library->variants(data_.problem());
  } catch (const Error& error) {
    return open_baseline(peer.label(), launch_failure(error));
  }
  if (variants == 0) {
    const char* const reason = library->why_not_asked(data_.problem());
    open_baseline(peer.label(),
                  {.status = Status::kInvalidConfig,
                   .message = reason != nullptr ? reason : "the peer does not compute this problem",
                   .verdict = {}});
  }
  for (int variant = 0; variant < variants; ++variant) {
    const std::string label = peer.label(variant);
    if (!without.contains(label)) open_baseline(label, check_peer(label, library, variant));
  }
}

Prepared Session::check_peer(const std::string& label, std::shared_ptr<const LoadedPeer> peer,
                             int variant) {
  sampler_.announce("preparing", label, kPeerLoadMs);
  std::unique_ptr<Candidate> candidate;
  Prepared prepared;
  std::string description;
  try {
    candidate = make_peer_candidate(std::move(peer), variant, data_, workspaces_);
    description = candidate->describe();
    sampler_.announce("the first launch", label, 0);
    const auto launch = [&] { candidate->launch(data_.check_set(), stream_.get()); };
    prepared.verdict = verdict_of(launch, *candidate);
    if (prepared.verdict.correct) {
      // What is timed is a graph. It lacks what a peer does on another stream or on the host.
      sampler_.announce("the first replay", label, 0);
      const Graph graph = Graph::capture(stream_, launch);
      prepared.verdict = verdict_of([&] { graph.launch(stream_); }, *candidate);
      if (!prepared.verdict.correct) {
        prepared.verdict.message =
            "correct when launched, wrong when captured into a graph and replayed: " +
            prepared.verdict.message;
      }
    }
    if (data_.restore_inputs(stream_)) {
      prepared.verdict.correct = false;
      prepared.verdict.message = "it changed its inputs A or B";
    }
    if (prepared.verdict.correct) {
      prepared.estimate_us = sampler_.estimate_us(*candidate);
      sampler_.add(label, std::move(candidate), prepared.estimate_us);
    } else {
      prepared.status = Status::kWrongResult;
      prepared.message = prepared.verdict.message;
    }
  } catch (const Error& error) {
    prepared = launch_failure(error);
  }
  prepared.message = described(description, prepared);
  return prepared;
}

Prepared Session::prepare(const std::string& label, const Kernel& kernel, const Cubin& cubin) {
  sampler_.announce("loading", label, 0);
  std::unique_ptr<Candidate> candidate;
  try {
    candidate = make_kernel_candidate(kernel, cubin, data_, workspaces_);
  } catch (const Error& error) {
    return launch_failure(error);
  }
  return check_candidate(label, std::move(candidate));
}

Prepared Session::prepare(const std::string& label, std::unique_ptr<Candidate> candidate) {
  return check_candidate(label, std::move(candidate));
}

Prepared Session::restore(const std::string& label, const Kernel& kernel, const Cubin& cubin,
                          double estimate_us) {
  sampler_.announce("loading", label, 0);
  try {
    auto candidate = make_kernel_candidate(kernel, cubin, data_, workspaces_);
    sampler_.add(label, std::move(candidate), estimate_us);
  } catch (const Error& error) {
    return launch_failure(error);
  }
  return {.status = Status::kOk, .message = {}, .verdict = {}, .estimate_us = estimate_us};
}

Prepared Session::check_candidate(const std::string& label, std::unique_ptr<Candidate> candidate) {
  sampler_.announce("the first launch", label, 0);
  Prepared prepared;
  try {
    prepared.verdict =
        verdict_of([&] { candidate->launch(data_.check_set(), stream_.get()); }, *candidate);
    if (!prepared.verdict.correct) {
      prepared.status = Status::kWrongResult;
      prepared.message = prepared.verdict.message;
      return prepared;
    }
    prepared.estimate_us = sampler_.estimate_us(*candidate);
    sampler_.add(label, std::move(candidate), prepared.estimate_us);
    return prepared;
  } catch (const Error& error) {
    return launch_failure(error);
  }
}

}  // namespace hgemm
