// What can be launched and timed at a shape.
#pragma once

#include <cuda_runtime_api.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gpu/blas.h"
#include "gpu/hgemm_kernel.h"
#include "problem/problem.h"

namespace hgemm {

class Candidate {
 public:
  virtual ~Candidate() = default;
  /// Enqueues D = A B^T of one input set.
  virtual void launch(int set, cudaStream_t stream) const = 0;
  virtual std::string describe() const { return {}; }
  /// How often an output may be rounded to its type on the way (Problem::verify).
  virtual int roundings() const { return 1; }
};

/// Our kernel, with parameters encoded for every set of the problem, and a workspace of its own or
/// of a pool, whose candidates must be launched one after another.
std::unique_ptr<Candidate> make_kernel_candidate(const KernelConfig& config,
                                                 const std::filesystem::path& cubin,
                                                 const Problem& problem);
std::unique_ptr<Candidate> make_kernel_candidate(const KernelConfig& config,
                                                 const std::filesystem::path& cubin,
                                                 const Problem& problem, WorkspacePool& pool);

struct Baseline {
  std::string label;  ///< kCublasLabel, or kCublasLtPrefix and the index in heuristic order
  std::unique_ptr<Candidate> candidate;
};
/// cublasGemmEx first, then every algorithm of cuBLASLt's heuristic (none for fp32).
std::vector<Baseline> make_baselines(const Problem& problem);

}  // namespace hgemm
