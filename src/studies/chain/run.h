// A chain of GEMMs on the GPU: its data, and what computes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "device/candidate.h"
#include "device/cuda.h"
#include "families/operands.h"
#include "worker/bench.h"

namespace hgemm {

/// Every link has a weight B ~ N(0, 1 / K) and an output D of its own. A is the beginning of the
/// output of the link before it where that has enough elements (chain.h, feeds), else, and
/// for the first link, a matrix of its own ~ N(0, 1): so all of them have a variance of about 1.
class ChainData {
 public:
  /// Throws InputError if it does not fit in device memory.
  ChainData(std::span<const GemmProblem> links, std::uint64_t seed, const Gpu& device,
            const Stream& stream);

  int links() const { return static_cast<int>(problems_.size()); }
  const GemmProblem& problem(int link) const {
    return problems_.at(static_cast<std::size_t>(link));
  }
  Operands operands(int link) const;

  /// Fills every D, and guard rows before and after it, with NaN.
  void poison(const Stream& stream) const;

  /// judge_output() of a link, whose reference is that of what is now its A.
  Verdict verify(int link, int roundings, const Stream& stream) const;

  /// The bytes of D of each link. Waits for the stream.
  std::vector<std::vector<std::byte>> outputs(const Stream& stream) const;

 private:
  struct Link {
    DeviceMemory a;  ///< none: the output of the link before it
    DeviceMemory b, d;
  };

  std::vector<GemmProblem> problems_;
  std::vector<Link> links_;
  DeviceMemory reference_;  ///< room for that of any link
  DeviceMemory comparison_;
};

/// A launch is the whole chain.
class ChainCandidate : public Candidate {
 public:
  explicit ChainCandidate(const ChainData& data) : data_(data) {}
  void launch(int set, cudaStream_t stream) const final;
  virtual void launch_link(int link, cudaStream_t stream) const = 0;

 protected:
  const ChainData& data_;
};

/// By configs of ours, one for each link; cubins by build_name().
std::unique_ptr<ChainCandidate> make_kernel_chain(std::span<const std::string> labels,
                                                  const Cubins& cubins, const ChainData& data);
std::unique_ptr<ChainCandidate> make_cublas_chain(const ChainData& data);

/// A verdict on a chain, and the link that it is about: the first wrong one, else the one with the
/// largest error.
struct ChainVerdict {
  int link = 0;
  Verdict verdict;
};

/// Runs the chain as it is timed, as a graph, on poisoned outputs, and verifies every link. Where
/// one launch gives the same bits as another (`deterministic`): runs it link by link first, each
/// after the one before it has ended, then several times as a graph; its outputs must be the same
/// to the bit each time. What overlaps and should not shows in one or the other.
ChainVerdict verify_chain(const ChainCandidate& chain, const ChainData& data, bool deterministic,
                          const Stream& stream);

/// A chain by its configs without PDL, by those with it, and by cublas: verified link by link, then
/// timed in turns in the sustained regime. A launch of its samples is the whole chain.
Study run_chain(const StudyRequest& request, const Cubins& cubins, const Bench& bench);

}  // namespace hgemm
