#include "measure/candidate.h"

#include <fmt/format.h>

namespace hgemm {
namespace {

class KernelCandidate : public Candidate {
 public:
  KernelCandidate(const KernelConfig& config, const std::filesystem::path& cubin,
                  const Problem& problem, WorkspacePool& pool)
      : kernel_(config, cubin),
        ctas_(kernel_.grid_ctas(problem.shape())),
        workspace_(kernel_.make_workspace(problem.shape(), ctas_, pool)) {
    for (int set = 0; set < problem.sets(); ++set) {
      params_.push_back(make_params(config, problem.shape(), problem.operands(set), workspace_));
    }
  }
  void launch(int set, cudaStream_t stream) const override {
    kernel_.launch(params_.at(static_cast<std::size_t>(set)), ctas_, stream);
  }

 private:
  HgemmKernel kernel_;
  int ctas_;
  Workspace workspace_;
  std::vector<LaunchParams> params_;
};

class CublasCandidate : public Candidate {
 public:
  explicit CublasCandidate(const Problem& problem) : problem_(problem) {}
  void launch(int set, cudaStream_t stream) const override {
    blas_.gemm(problem_.shape(), problem_.operands(set), stream);
  }
  int roundings() const override { return kLibraryRoundings; }
  std::string describe() const override {
    return problem_.shape().dtype == Dtype::kFp32
               ? "cublasGemmEx, default algorithm, fp32 arithmetic without tensor cores"
               : "cublasGemmEx, default algorithm";
  }

 private:
  const Problem& problem_;
  Cublas blas_;
};

class CublasLtCandidate : public Candidate {
 public:
  CublasLtCandidate(std::shared_ptr<const CublasLtPlan> plan, int algorithm, const Problem& problem)
      : problem_(problem), plan_(std::move(plan)), algorithm_(algorithm) {}
  void launch(int set, cudaStream_t stream) const override {
    plan_->gemm(algorithm_, problem_.operands(set), stream);
  }
  int roundings() const override { return kLibraryRoundings; }
  std::string describe() const override { return plan_->describe(algorithm_); }

 private:
  const Problem& problem_;
  std::shared_ptr<const CublasLtPlan> plan_;
  int algorithm_;
};

}  // namespace

std::unique_ptr<Candidate> make_kernel_candidate(const KernelConfig& config,
                                                 const std::filesystem::path& cubin,
                                                 const Problem& problem) {
  WorkspacePool own;
  return make_kernel_candidate(config, cubin, problem, own);
}

std::unique_ptr<Candidate> make_kernel_candidate(const KernelConfig& config,
                                                 const std::filesystem::path& cubin,
                                                 const Problem& problem, WorkspacePool& pool) {
  return std::make_unique<KernelCandidate>(config, cubin, problem, pool);
}

std::vector<Baseline> make_baselines(const Problem& problem) {
  std::vector<Baseline> baselines;
  baselines.push_back({std::string(kCublasLabel), std::make_unique<CublasCandidate>(problem)});
  // fp32 is for studies of CUDA cores, whose one baseline is SGEMM.
  if (problem.shape().dtype == Dtype::kFp32) return baselines;
  const auto plan = std::make_shared<const CublasLtPlan>(problem.shape());
  for (int algorithm = 0; algorithm < plan->algorithms(); ++algorithm) {
    baselines.push_back({fmt::format("{}{}", kCublasLtPrefix, algorithm),
                         std::make_unique<CublasLtCandidate>(plan, algorithm, problem)});
  }
  return baselines;
}

}  // namespace hgemm
