// What can be launched and timed at a problem.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <vector>

#include "device/blas.h"
#include "device/loaded_kernel.h"
#include "device/problem_data.h"

namespace hgemm {

class Candidate {
 public:
  virtual ~Candidate() = default;
  /// Enqueues D = A B^T of one input set.
  virtual void launch(int set, cudaStream_t stream) const = 0;
  virtual std::string describe() const { return {}; }
  /// How often an output may be rounded to its type on the way (ProblemData::verify).
  virtual int roundings() const { return 1; }
};

/// Our kernel, with parameters encoded for every set of the problem, and a workspace of its own or
/// of a pool, whose candidates must be launched one after another.
std::unique_ptr<Candidate> make_kernel_candidate(const Kernel& kernel, const Cubin& cubin,
                                                 const ProblemData& data);
std::unique_ptr<Candidate> make_kernel_candidate(const Kernel& kernel, const Cubin& cubin,
                                                 const ProblemData& data, WorkspacePool& pool);

struct Baseline {
  std::string label;  ///< kCublasLabel, or kCublasLtPrefix and the index in heuristic order
  std::unique_ptr<Candidate> candidate;
};
/// cublasGemmEx first, then every algorithm of cuBLASLt's heuristic: those of
/// GemmProblem::baselines().
std::vector<Baseline> make_baselines(const ProblemData& data);

}  // namespace hgemm
