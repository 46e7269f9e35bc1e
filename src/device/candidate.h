// Candidates: objects that can be launched and timed at a problem.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
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
  /// Enqueues D = A B^T, of all products of a batch, for one input set (0 to the number of sets -
  /// 1).
  virtual void launch(int set, cudaStream_t stream) const = 0;
  virtual std::string describe() const { return {}; }
  /// How often an output may be rounded to its type during the computation (ProblemData::verify).
  virtual int roundings() const { return 1; }
  /// Rows behind those of D that a launch may overwrite (ProblemData::verify).
  virtual std::int64_t rows_behind() const { return 0; }
};

/// One of our kernels, with parameters encoded for every input set. Its workspace is its own or
/// comes from a pool; candidates that share a pool must be launched one after another.
std::unique_ptr<Candidate> make_kernel_candidate(const Kernel& kernel, const Cubin& cubin,
                                                 const ProblemData& data);
std::unique_ptr<Candidate> make_kernel_candidate(const Kernel& kernel, const Cubin& cubin,
                                                 const ProblemData& data, WorkspacePool& pool);

/// Enqueues the whole problem: what cuBLASLt computes of it, and then the rest (finish_product()).
/// `product` is where a product goes whose epilogue is left (ProblemData::product_operands).
void launch_whole(const CublasLtPlan& plan, int algorithm, const Operands& operands,
                  const Operands& product, cudaStream_t stream);

struct Baseline {
  /// kCublasLabel, or kCublasLtPrefix and the index in heuristic order: first the algorithms with
  /// the epilogue, then those of the product alone, before a launch that computes the rest.
  std::string label;
  std::unique_ptr<Candidate> candidate;
};
/// The candidates of GemmProblem::baselines(): cublas first, which is cublasGemmEx (for a batch its
/// batched form), or with 8-bit operands the first choice of cuBLASLt's heuristic for the product;
/// then every algorithm of that heuristic. None where cuBLASLt has no algorithm for 8-bit operands.
std::vector<Baseline> make_baselines(const ProblemData& data);

}  // namespace hgemm
