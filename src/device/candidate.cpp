#include "device/candidate.h"

#include <fmt/format.h>

#include "device/epilogue_kernels.h"

namespace hgemm {
namespace {

class KernelCandidate : public Candidate {
 public:
  KernelCandidate(const Kernel& kernel, const Cubin& cubin, const ProblemData& data,
                  WorkspacePool& pool)
      : kernel_(kernel, cubin),
        ctas_(kernel_.grid_ctas(data.problem())),
        workspace_(kernel_.make_workspace(data.problem(), ctas_, pool)) {
    for (int set = 0; set < data.launchable_sets(); ++set) {
      params_.push_back(make_params(kernel, data.problem(), data.operands(set), workspace_));
    }
  }
  void launch(int set, cudaStream_t stream) const override {
    kernel_.launch(params_.at(static_cast<std::size_t>(set)), ctas_, stream);
  }

 private:
  LoadedKernel kernel_;
  int ctas_;
  Workspace workspace_;
  std::vector<LaunchParams> params_;
};

class CublasCandidate : public Candidate {
 public:
  explicit CublasCandidate(const ProblemData& data) : data_(data) {}
  void launch(int set, cudaStream_t stream) const override {
    const Operands product = data_.product_operands(set);
    blas_.gemm(data_.problem(), product, stream);
    finish_product(data_.problem(), product.d, data_.operands(set), stream);
  }
  int roundings() const override { return kLibraryRoundings; }
  std::string describe() const override {
    const GemmProblem& problem = data_.problem();
    std::string text = problem.by_pointers          ? "cublasGemmBatchedEx"
                       : problem.merged().batch > 1 ? "cublasGemmStridedBatchedEx"
                                                    : "cublasGemmEx";
    text += ", default algorithm";
    if (data_.problem().a_type == DataType::kFp32) {
      text += ", fp32 arithmetic without tensor cores";
    }
    return data_.problem().exceeds_product() ? text.append(kThenEpilogue) : text;
  }

 private:
  const ProblemData& data_;
  Cublas blas_;
};

/// With 8-bit operands, which cublasGemmEx lacks, what a caller of cuBLASLt runs who takes its
/// first choice for the product.
class FirstChoiceCandidate : public Candidate {
 public:
  /// The plan has an algorithm.
  FirstChoiceCandidate(std::shared_ptr<const CublasLtPlan> plan, const ProblemData& data)
      : data_(data), plan_(std::move(plan)) {}
  void launch(int set, cudaStream_t stream) const override {
    launch_whole(*plan_, 0, data_.library_operands(set), data_.product_operands(set), stream);
  }
  int roundings() const override { return kLibraryRoundings; }
  std::int64_t rows_behind() const override { return data_.library_rows_behind(); }
  std::string describe() const override {
    std::string text = "cublasLtMatmul, the first choice of its heuristic: " + plan_->describe(0);
    return plan_->has_epilogue() ? text : text.append(kThenEpilogue);
  }

 private:
  const ProblemData& data_;
  std::shared_ptr<const CublasLtPlan> plan_;
};

class CublasLtCandidate : public Candidate {
 public:
  CublasLtCandidate(std::shared_ptr<const CublasLtPlan> plan, int algorithm,
                    const ProblemData& data)
      : data_(data), plan_(std::move(plan)), algorithm_(algorithm) {}
  void launch(int set, cudaStream_t stream) const override {
    launch_whole(*plan_, algorithm_, data_.library_operands(set), data_.product_operands(set),
                 stream);
  }
  int roundings() const override { return kLibraryRoundings; }
  std::int64_t rows_behind() const override { return data_.library_rows_behind(); }
  std::string describe() const override {
    std::string text = plan_->describe(algorithm_);
    return plan_->has_epilogue() ? text : text.append(kThenEpilogue);
  }

 private:
  const ProblemData& data_;
  std::shared_ptr<const CublasLtPlan> plan_;
  int algorithm_;
};

/// The baseline to which all ratios are; null if there is none.
std::unique_ptr<Candidate> make_cublas_candidate(const ProblemData& data) {
  const GemmProblem& problem = data.problem();
  if (!problem.baselines().cublas) return nullptr;
  if (!problem.has_8_bit_operands()) return std::make_unique<CublasCandidate>(data);
  // The library stores 8 bits where a product is all that is asked for.
  GemmProblem wider = problem;
  wider.d_type = problem.product().d_type;
  const auto part =
      !wider.exceeds_product() ? CublasLtPlan::Part::kEpilogue : CublasLtPlan::Part::kProduct;
  auto plan = std::make_shared<const CublasLtPlan>(problem, part);
  if (plan->algorithms() == 0) return nullptr;
  return std::make_unique<FirstChoiceCandidate>(std::move(plan), data);
}

}  // namespace

std::unique_ptr<Candidate> make_kernel_candidate(const Kernel& kernel, const Cubin& cubin,
                                                 const ProblemData& data) {
  WorkspacePool own;
  return make_kernel_candidate(kernel, cubin, data, own);
}

std::unique_ptr<Candidate> make_kernel_candidate(const Kernel& kernel, const Cubin& cubin,
                                                 const ProblemData& data, WorkspacePool& pool) {
  return std::make_unique<KernelCandidate>(kernel, cubin, data, pool);
}

void launch_whole(const CublasLtPlan& plan, int algorithm, const Operands& operands,
                  const Operands& product, cudaStream_t stream) {
  plan.gemm(algorithm, plan.has_epilogue() ? operands : product, stream);
  finish_product(plan.rest(), product.d, operands, stream);
}

std::vector<Baseline> make_baselines(const ProblemData& data) {
  std::vector<Baseline> baselines;
  if (auto cublas = make_cublas_candidate(data)) {
    baselines.push_back({std::string(kCublasLabel), std::move(cublas)});
  }
  if (!data.problem().baselines().cublaslt) return baselines;
  int index = 0;
  const auto add_all = [&](CublasLtPlan::Part part) {
    const auto plan = std::make_shared<const CublasLtPlan>(data.problem(), part);
    for (int algorithm = 0; algorithm < plan->algorithms(); ++algorithm) {
      baselines.push_back({fmt::format("{}{}", kCublasLtPrefix, index++),
                           std::make_unique<CublasLtCandidate>(plan, algorithm, data)});
    }
    return plan->rest().exceeds_product();
  };
  const bool leaves_rest = add_all(CublasLtPlan::Part::kEpilogue);
  // With an epilogue the library has fewer algorithms, and a launch after the fastest of the others
  // may win.
  if (data.problem().exceeds_product() && !leaves_rest) add_all(CublasLtPlan::Part::kProduct);
  return baselines;
}

}  // namespace hgemm
