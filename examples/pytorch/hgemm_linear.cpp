// torch.ops.hgemm_tuned: a linear layer that uses exported kernels.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <hgemm_tuned.h>
#include <torch/library.h>

#include <string>
#include <vector>

namespace {

void require(hgemm_tuned::Status status, const char* what) {
  TORCH_CHECK(status == HGEMM_TUNED_OK, what, ": ", hgemm_tuned::to_string(status));
}

hgemm_tuned::Problem problem_of(const at::Tensor& input, const at::Tensor& weight) {
  TORCH_CHECK(input.dim() == 2 && weight.dim() == 2 && input.size(1) == weight.size(1),
              "input is M x K and weight N x K");
  TORCH_CHECK(input.is_cuda() && weight.is_cuda() && input.device() == weight.device(),
              "input and weight are on one GPU");
  TORCH_CHECK(input.scalar_type() == weight.scalar_type() &&
                  (input.scalar_type() == at::kBFloat16 || input.scalar_type() == at::kHalf),
              "input and weight are both bfloat16 or both half");
  TORCH_CHECK(input.stride(1) == 1 && weight.stride(1) == 1, "rows are contiguous");
  const auto dtype =
      input.scalar_type() == at::kHalf ? hgemm_tuned::Dtype::kFp16 : hgemm_tuned::Dtype::kBf16;
  const auto leading = [](const at::Tensor& t) { return t.size(0) == 1 ? t.size(1) : t.stride(0); };
  return {input.size(0), weight.size(0), input.size(1), dtype, leading(input), leading(weight), 0};
}

/// Returns input * weight^T. `workspace` has the number of bytes that workspace_bytes() returns and
/// was passed to init_workspace(). A call on another stream must not use it.
at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& workspace) {
  const c10::cuda::CUDAGuard guard(input.device());
  const hgemm_tuned::Problem problem = problem_of(input, weight);
  at::Tensor output = at::empty({problem.m, problem.n}, input.options());
  // PyTorch's handle already has the current stream, with a workspace of that stream.
  require(hgemm_tuned::gemm(at::cuda::getCurrentCUDAStream(), problem,
                            {input.data_ptr(), weight.data_ptr(), output.data_ptr()},
                            workspace.data_ptr(), workspace.nbytes(),
                            at::cuda::getCurrentCUDABlasHandle()),
          "hgemm_tuned::linear");
  return output;
}
at::Tensor linear_meta(const at::Tensor& input, const at::Tensor& weight, const at::Tensor&) {
  return at::empty_symint({input.sym_size(0), weight.sym_size(0)}, input.options());
}

std::int64_t workspace_bytes(const at::Tensor& input, const at::Tensor& weight) {
  const c10::cuda::CUDAGuard guard(input.device());
  std::size_t bytes = 0;
  require(hgemm_tuned::workspace_bytes(problem_of(input, weight), &bytes),
          "hgemm_tuned::workspace_bytes");
  return static_cast<std::int64_t>(bytes);
}

/// Call it once for each allocation, on the stream of its later calls.
void init_workspace(const at::Tensor& workspace) {
  const c10::cuda::CUDAGuard guard(workspace.device());
  require(hgemm_tuned::init_workspace(at::cuda::getCurrentCUDAStream(), workspace.data_ptr(),
                                      workspace.nbytes()),
          "hgemm_tuned::init_workspace");
}

/// Loads the kernels for the current device. Call it before graphs are captured.
void prepare() { require(hgemm_tuned::prepare(), "hgemm_tuned::prepare"); }

/// M, N, K and 0 (bf16) or 1 (fp16) of each tuned shape, in one list. A layer's output has its
/// input's type, so shapes that were tuned for an fp32 output are left out, and so are other
/// layouts than a forward pass has, and epilogues.
std::vector<std::int64_t> shapes() {
  std::vector<std::int64_t> all;
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    const hgemm_tuned_problem p = hgemm_tuned_shape(i);
    if (p.output != HGEMM_TUNED_OUTPUT_SAME || p.layout != HGEMM_TUNED_TN) continue;
    if (p.bias != HGEMM_TUNED_NO_BIAS || p.activation != HGEMM_TUNED_NO_ACTIVATION || p.adds_c) {
      continue;
    }
    all.insert(all.end(), {p.m, p.n, p.k, p.dtype});
  }
  return all;
}

/// The config of the kernel, and what computes the problem if PyTorch's cuBLAS handle is passed.
std::vector<std::string> selected(std::int64_t m, std::int64_t n, std::int64_t k,
                                  std::int64_t dtype) {
  const auto selection =
      hgemm_tuned::select(m, n, k, static_cast<hgemm_tuned::Dtype>(static_cast<int>(dtype)));
  return {selection.label != nullptr ? selection.label : "",
          selection.uses_cublas ? "cuBLAS" : "ours"};
}

}  // namespace

TORCH_LIBRARY(hgemm_tuned, library) {
  library.def("linear(Tensor input, Tensor weight, Tensor(a!) workspace) -> Tensor");
  library.def("workspace_bytes(Tensor input, Tensor weight) -> int");
  library.def("init_workspace(Tensor(a!) workspace) -> ()");
  library.def("prepare() -> ()", prepare);
  library.def("shapes() -> int[]", shapes);
  library.def("selected(int m, int n, int k, int dtype) -> str[]", selected);
}
TORCH_LIBRARY_IMPL(hgemm_tuned, CUDA, library) {
  library.impl("linear", linear);
  library.impl("workspace_bytes", workspace_bytes);
  library.impl("init_workspace", init_workspace);
}
TORCH_LIBRARY_IMPL(hgemm_tuned, Meta, library) { library.impl("linear", linear_meta); }
