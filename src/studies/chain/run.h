// A chain of GEMMs on the GPU: its data, and the candidates that compute it.
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

/// Every link has its own weight B and its own output D, and if its epilogue reads them its own C
/// and bias ~ N(0, 1). Its A is the beginning of the previous link's output (fed_links() in
/// chain.h), or a matrix of its own ~ N(0, 1). B ~ N(0, 1 / K) is divided by the root mean square
/// of A's elements, which the references of the links before tell, so that all products have a
/// variance of about 1, which tolerances assume.
class ChainData {
 public:
  /// Throws InputError if the data does not fit in device memory.
  ChainData(std::span<const GemmProblem> links, std::uint64_t seed, const Gpu& device,
            const Stream& stream);

  int links() const { return static_cast<int>(problems_.size()); }
  const GemmProblem& problem(int link) const {
    return problems_.at(static_cast<std::size_t>(link));
  }
  Operands operands(int link) const;
  /// The operands of GemmProblem::product(): with a gate D is memory that all links share.
  Operands product_operands(int link) const;

  /// Fills every D, and guard rows before and after it, with NaN.
  void poison(const Stream& stream) const;

  /// judge_output() for a link; the reference is computed from the present content of its A.
  Verdict verify(int link, int roundings, const Stream& stream) const;

  /// The bytes of D of each link. Waits for the stream.
  std::vector<std::vector<std::byte>> outputs(const Stream& stream) const;

 private:
  /// The reference of a link from the present content of its A.
  void compute_reference(int link, const Stream& stream) const;
  /// Makes it the link's D, and returns the root mean square of its first elements (a million of
  /// them tell enough). Waits for the stream.
  double compute_output(int link, std::int64_t elements, const Stream& stream);
  struct Link {
    DeviceMemory a;  ///< empty: A is the output of the previous link
    DeviceMemory b, d;
    DeviceMemory c, bias;  ///< of an epilogue that reads them
  };

  std::vector<GemmProblem> problems_;
  std::vector<Link> links_;
  DeviceMemory product_;    ///< of a library, before a gate
  DeviceMemory reference_;  ///< large enough for the reference of any link
  DeviceMemory sums_;       ///< likewise for the reference's sums, if a link has a gate
  DeviceMemory comparison_;
};

/// A candidate whose launch is the whole chain.
class ChainCandidate : public Candidate {
 public:
  explicit ChainCandidate(const ChainData& data) : data_(data) {}
  void launch(int set, cudaStream_t stream) const final;
  virtual void launch_link(int link, cudaStream_t stream) const = 0;

 protected:
  const ChainData& data_;
};

/// A chain computed by our configs, one for each link; `cubins` is keyed by build_name().
std::unique_ptr<ChainCandidate> make_kernel_chain(std::span<const std::string> labels,
                                                  const Cubins& cubins, const ChainData& data);
/// By cublasGemmEx. Links with an epilogue are by cuBLASLt's first algorithm, and what it has no
/// epilogue for by a launch after it (finish_product()).
std::unique_ptr<ChainCandidate> make_cublas_chain(const ChainData& data);

/// The verdict on a chain, and the link it refers to: the first wrong link, otherwise the one with
/// the largest error.
struct ChainVerdict {
  int link = 0;
  Verdict verdict;
};

/// Runs the chain as it is timed, as a graph, on poisoned outputs, and verifies every link. If
/// launches give equal bits (`deterministic`), the chain is run first link by link, each after the
/// end of the one before, then several times as a graph; all outputs must be equal to the bit. So a
/// wrong overlap of links is found in one way or the other.
ChainVerdict verify_chain(const ChainCandidate& chain, const ChainData& data, bool deterministic,
                          const Stream& stream);

/// Measures a chain by its configs without PDL, by those with PDL, and by cublas: verifies each
/// link by link, then times them in turns in the sustained regime. A launch of a sample is the
/// whole chain.
Study run_chain(const StudyRequest& request, const Cubins& cubins, const Bench& bench);

}  // namespace hgemm
