// Times GEMMs with 8-bit operands together with quantising their activations.
#pragma once

#include <vector>

#include "device/problem_data.h"
#include "device/quantise.h"
#include "worker/bench.h"

namespace hgemm {

/// The operands of a problem whose A is quantised anew before each GEMM: activations in bf16 for
/// every set of ProblemData, whose A and scales of A they become. They are normal numbers, so that
/// D is what the verdict's tolerance is made for.
class QuantisedData {
 public:
  /// Quantises A of all sets, and computes the reference of what results.
  QuantisedData(const GemmProblem& problem, std::uint64_t seed, const Gpu& device,
                const Stream& stream);

  const ProblemData& gemm() const { return data_; }
  /// Enqueues quantising A of a set.
  void quantise(int set, cudaStream_t stream) const;
  /// Whether quantise() gives the same bytes as quantise_plainly() for the set that is verified.
  /// Waits for the stream.
  bool agrees_with_plain(const Stream& stream) const;

 private:
  Quantised matrix(int set) const;

  ProblemData data_;
  std::vector<DeviceMemory> sources_;
};

/// Times our config and the library's first choice, each alone and after quantising A, and
/// quantising alone, in turns in the sustained regime. All outputs are verified first.
Study run_quantise(const StudyRequest& request, const Cubin& cubin, const Bench& bench);

}  // namespace hgemm
