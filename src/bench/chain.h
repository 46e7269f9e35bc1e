// A chain of GEMMs on the GPU: its data, and who computes it.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "bench/bench.h"
#include "gpu/cuda.h"
#include "gpu/operands.h"
#include "measure/candidate.h"

namespace hgemm {

/// Every link has a weight B ~ N(0, 1 / K) and an output D of its own. A is the beginning of the
/// output of the link before it where that has enough elements (study/chain.h, feeds), else, and
/// for the first link, a matrix of its own ~ N(0, 1): so all of them have a variance of about 1.
class ChainData {
 public:
  /// Throws InputError if it does not fit in device memory.
  ChainData(std::span<const Shape> links, std::uint64_t seed, const Gpu& device,
            const Stream& stream);

  int links() const { return static_cast<int>(shapes_.size()); }
  const Shape& shape(int link) const { return shapes_.at(static_cast<std::size_t>(link)); }
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

  std::vector<Shape> shapes_;
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

/// By configs of ours, one for each link.
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

}  // namespace hgemm
