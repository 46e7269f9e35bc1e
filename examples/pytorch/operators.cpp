// torch.ops.hgemm_tuned: exported kernels as operators. linear() returns a forward pass, and
// scaled_linear() one of 8-bit operands with their scales; gemm() computes other problems of 16-bit
// operands into memory of the caller: other layouts, a gated activation, a matrix that is added.
#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <hgemm_tuned.h>
#include <torch/library.h>

#include <optional>
#include <string>
#include <vector>

namespace {

void require(hgemm_tuned::Status status, const char* what) {
  TORCH_CHECK(status == HGEMM_TUNED_OK, what, ": ", hgemm_tuned::to_string(status));
}

/// How a matrix lies in memory: along its second dimension, as PyTorch makes it, or along its
/// first, as the view t() of one does.
struct Stored {
  bool along_second;
  std::int64_t leading;
};
Stored stored(const at::Tensor& matrix) {
  const auto leading = [&](int rows, int columns) {
    return matrix.size(rows) == 1 ? matrix.size(columns) : matrix.stride(rows);
  };
  const bool along_second = matrix.stride(1) == 1 || matrix.size(1) == 1;
  TORCH_CHECK(along_second || matrix.stride(0) == 1,
              "a matrix is contiguous along one of its dimensions");
  const Stored result{along_second, along_second ? leading(0, 1) : leading(1, 0)};
  TORCH_CHECK(result.leading >= matrix.size(along_second ? 1 : 0),
              "the rows of a matrix do not overlap, as those of expand() do");
  return result;
}

/// a is M x K and b N x K; each may lie along either dimension.
hgemm_tuned::Problem problem_of(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(1),
              "the first matrix is M x K and the second N x K");
  TORCH_CHECK(a.is_cuda() && b.is_cuda() && a.device() == b.device(), "both are on one GPU");
  TORCH_CHECK(a.scalar_type() == b.scalar_type() &&
                  (a.scalar_type() == at::kBFloat16 || a.scalar_type() == at::kHalf),
              "both are bfloat16 or both half");
  const Stored of_a = stored(a);
  const Stored of_b = stored(b);
  hgemm_tuned::Problem problem{a.size(0), b.size(0), a.size(1)};
  problem.dtype =
      a.scalar_type() == at::kHalf ? hgemm_tuned::Dtype::kFp16 : hgemm_tuned::Dtype::kBf16;
  problem.lda = of_a.leading;
  problem.ldb = of_b.leading;
  using hgemm_tuned::Layout;
  problem.layout = of_a.along_second ? (of_b.along_second ? Layout::kTN : Layout::kTT)
                                     : (of_b.along_second ? Layout::kNN : Layout::kNT);
  return problem;
}

/// `activation` is that of the gates if there are any: "swiglu" and "geglu" are "silu" and "gelu"
/// with a gate.
void set_activation(hgemm_tuned::Problem& problem, const std::string& activation) {
  using hgemm_tuned::Activation;
  const auto set = [&](Activation of_gate, hgemm_tuned::Gate gate) {
    problem.activation = of_gate;
    problem.gate = gate;
  };
  using hgemm_tuned::Gate;
  if (activation == "none") return;
  if (activation == "relu") return set(Activation::kRelu, Gate::kNone);
  if (activation == "gelu") return set(Activation::kGelu, Gate::kNone);
  if (activation == "silu") return set(Activation::kSilu, Gate::kNone);
  if (activation == "swiglu") return set(Activation::kSilu, Gate::kHalves);
  if (activation == "geglu") return set(Activation::kGelu, Gate::kHalves);
  TORCH_CHECK(false, "activation is none, relu, gelu, silu, swiglu or geglu, not ", activation);
}

/// With d, which the sums become, and c, which is added to them before.
hgemm_tuned::Problem problem_of(const at::Tensor& a, const at::Tensor& b, const at::Tensor& d,
                                const std::optional<at::Tensor>& c, const std::string& activation) {
  hgemm_tuned::Problem problem = problem_of(a, b);
  set_activation(problem, activation);
  const std::int64_t columns = problem.gate == hgemm_tuned::Gate::kNone ? problem.n : problem.n / 2;
  TORCH_CHECK(d.is_cuda() && d.device() == a.device() && d.dim() == 2 && d.size(0) == problem.m &&
                  d.size(1) == columns && stored(d).along_second,
              "d is ", problem.m, " x ", columns, ", in rows, on the GPU of a");
  TORCH_CHECK(d.scalar_type() == a.scalar_type() || d.scalar_type() == at::kFloat,
              "d has the type of a, or float");
  problem.ldd = stored(d).leading;
  if (d.scalar_type() == at::kFloat) problem.output = hgemm_tuned::Output::kFp32;
  problem.adds_c = c.has_value();
  TORCH_CHECK(!c || (c->sizes() == d.sizes() && c->strides() == d.strides() &&
                     c->scalar_type() == d.scalar_type() && c->device() == d.device()),
              "c is as d");
  return problem;
}

// ---- 8-bit operands ----

std::int64_t rounded_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// The type of a matrix of 8-bit elements.
hgemm_tuned::Dtype dtype_of_8_bits(const at::Tensor& matrix, const char* name) {
  const bool is_e5m2 = matrix.scalar_type() == at::kFloat8_e5m2;
  TORCH_CHECK(is_e5m2 || matrix.scalar_type() == at::kFloat8_e4m3fn, name,
              " is float8_e4m3fn or float8_e5m2, not ", matrix.scalar_type(),
              "; linear() takes bfloat16 and half");
  return is_e5m2 ? hgemm_tuned::Dtype::kE5m2 : hgemm_tuned::Dtype::kE4m3;
}

/// Rows must lie along K, at multiples of 16 bytes. Returns their leading dimension.
std::int64_t leading_of_8_bits(const at::Tensor& matrix, const char* name) {
  TORCH_CHECK(matrix.dim() == 2, name, " is a matrix, not of ", matrix.dim(), " dimensions");
  const Stored of_matrix = stored(matrix);
  TORCH_CHECK(of_matrix.along_second, name,
              " is contiguous along K, its second dimension: the "
              "tensor cores read no other 8-bit operands; copy it with contiguous()");
  TORCH_CHECK(matrix.size(1) % 16 == 0 && of_matrix.leading % 16 == 0, "K and the rows of ", name,
              " are multiples of 16 elements, not ", matrix.size(1), " and ", of_matrix.leading,
              "; pad K with zeros");
  return of_matrix.leading;
}

void check_scale(const at::Tensor& scale, at::IntArrayRef sizes, const at::Tensor& matrix,
                 const char* name) {
  TORCH_CHECK(scale.scalar_type() == at::kFloat, name, " is float32, not ", scale.scalar_type());
  TORCH_CHECK(scale.device() == matrix.device(), name, " is on the GPU of its operand, ",
              matrix.device(), ", not ", scale.device());
  TORCH_CHECK(scale.is_contiguous(), name, " is contiguous; its rows have padding, not strides");
  const bool is_vector = sizes.size() == 1;
  TORCH_CHECK(is_vector ? scale.numel() == sizes[0] : scale.sizes() == sizes, name, " has ",
              is_vector ? "so many elements: " : "the shape ", sizes, ", not ", scale.sizes());
}

/// With L = ceil(K / 128), and up4(x) for x rounded up to a multiple of 4:
///
///   scaling        scale_a          scale_b
///   none           no elements      no elements
///   tensor         1 element        1 element
///   rows           M elements       N elements
///   blocks         L x up4(M)       ceil(N / 128) x up4(L)
///   packed_blocks  L x up4(M)       ceil(N / 128) x L
///   row_blocks     L x up4(M)       L x up4(N)
hgemm_tuned::Scaling scaling_of(const std::string& word, const hgemm_tuned::Problem& problem,
                                const at::Tensor& input, const at::Tensor& scale_a,
                                const at::Tensor& scale_b) {
  using hgemm_tuned::Scaling;
  const auto take = [&](Scaling scaling, at::IntArrayRef of_a, at::IntArrayRef of_b) {
    check_scale(scale_a, of_a, input, "scale_a");
    check_scale(scale_b, of_b, input, "scale_b");
    return scaling;
  };
  const std::int64_t blocks = rounded_up(problem.k, 128) / 128;
  if (word == "none") return take(Scaling::kNone, {0}, {0});
  if (word == "tensor") return take(Scaling::kTensor, {1}, {1});
  if (word == "rows") return take(Scaling::kRows, {problem.m}, {problem.n});
  const std::int64_t of_a[] = {blocks, rounded_up(problem.m, 4)};
  if (word == "blocks") {
    const std::int64_t of_b[] = {rounded_up(problem.n, 128) / 128, rounded_up(blocks, 4)};
    return take(Scaling::kBlocks, of_a, of_b);
  }
  if (word == "packed_blocks") {
    const std::int64_t of_b[] = {rounded_up(problem.n, 128) / 128, blocks};
    return take(Scaling::kPackedBlocks, of_a, of_b);
  }
  if (word == "row_blocks") {
    const std::int64_t of_b[] = {blocks, rounded_up(problem.n, 4)};
    return take(Scaling::kRowBlocks, of_a, of_b);
  }
  TORCH_CHECK(false, "scaling is none, tensor, rows, blocks, packed_blocks or row_blocks, not ",
              word);
}

hgemm_tuned::Problem scaled_problem_of(const at::Tensor& input, const at::Tensor& weight,
                                       const at::Tensor& scale_a, const at::Tensor& scale_b,
                                       const std::string& scaling, bool fast_sums) {
  const hgemm_tuned::Dtype dtype = dtype_of_8_bits(input, "input");
  const hgemm_tuned::Dtype of_weight = dtype_of_8_bits(weight, "weight");
  TORCH_CHECK(input.is_cuda() && input.device() == weight.device(),
              "input and weight are on one GPU, not on ", input.device(), " and ", weight.device());
  const std::int64_t lda = leading_of_8_bits(input, "input");
  const std::int64_t ldb = leading_of_8_bits(weight, "weight");
  TORCH_CHECK(input.size(1) == weight.size(1), "input is M x K and weight N x K, not ",
              input.sizes(), " and ", weight.sizes());
  hgemm_tuned::Problem problem{input.size(0), weight.size(0), input.size(1)};
  problem.dtype = dtype;
  problem.b_is_other = of_weight != dtype;
  problem.lda = lda;
  problem.ldb = ldb;
  problem.fast_sums = fast_sums;
  problem.scaling = scaling_of(scaling, problem, input, scale_a, scale_b);
  TORCH_CHECK(!fast_sums || !scaling.ends_with("blocks"),
              "scales of blocks go with fp32 sums: pass fast_sums=False");
  return problem;
}

/// Returns scale_a * scale_b * input * weight^T in bfloat16, with scales in the layouts of
/// scaling_of(). `workspace` as of linear().
at::Tensor scaled_linear(const at::Tensor& input, const at::Tensor& weight,
                         const at::Tensor& scale_a, const at::Tensor& scale_b, std::string scaling,
                         bool fast_sums, const at::Tensor& workspace) {
  const c10::cuda::CUDAGuard guard(input.device());
  const hgemm_tuned::Problem problem =
      scaled_problem_of(input, weight, scale_a, scale_b, scaling, fast_sums);
  at::Tensor output = at::empty({problem.m, problem.n}, input.options().dtype(at::kBFloat16));
  hgemm_tuned::Operands operands{input.data_ptr(), weight.data_ptr(), output.data_ptr()};
  if (problem.scaling != hgemm_tuned::Scaling::kNone) {
    operands.scale_a = scale_a.data_ptr<float>();
    operands.scale_b = scale_b.data_ptr<float>();
  }
  require(hgemm_tuned::gemm(at::cuda::getCurrentCUDAStream(), problem, operands,
                            workspace.data_ptr(), workspace.nbytes()),
          "hgemm_tuned::scaled_linear");
  return output;
}
at::Tensor scaled_linear_meta(const at::Tensor& input, const at::Tensor& weight, const at::Tensor&,
                              const at::Tensor&, std::string, bool, const at::Tensor&) {
  return at::empty_symint({input.sym_size(0), weight.sym_size(0)},
                          input.options().dtype(at::kBFloat16));
}

std::int64_t scaled_workspace_bytes(const at::Tensor& input, const at::Tensor& weight,
                                    const at::Tensor& scale_a, const at::Tensor& scale_b,
                                    std::string scaling, bool fast_sums) {
  const c10::cuda::CUDAGuard guard(input.device());
  std::size_t bytes = 0;
  require(hgemm_tuned::workspace_bytes(
              scaled_problem_of(input, weight, scale_a, scale_b, scaling, fast_sums), &bytes),
          "hgemm_tuned::scaled_workspace_bytes");
  return static_cast<std::int64_t>(bytes);
}

// ---- 16-bit operands ----

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

/// d = activation(a b^T + c). c may be d. With swiglu and geglu d = act(gates) * ups, of N / 2
/// columns. (It writes to memory of the caller, so torch.compile does not trace it.)
void gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& d,
          const std::optional<at::Tensor>& c, const std::string& activation,
          const at::Tensor& workspace) {
  const c10::cuda::CUDAGuard guard(a.device());
  require(hgemm_tuned::gemm(at::cuda::getCurrentCUDAStream(), problem_of(a, b, d, c, activation),
                            {a.data_ptr(), b.data_ptr(), d.data_ptr(), c ? c->data_ptr() : nullptr},
                            workspace.data_ptr(), workspace.nbytes(),
                            at::cuda::getCurrentCUDABlasHandle()),
          "hgemm_tuned::gemm");
}

std::int64_t gemm_workspace_bytes(const at::Tensor& a, const at::Tensor& b, const at::Tensor& d,
                                  const std::optional<at::Tensor>& c,
                                  const std::string& activation) {
  const c10::cuda::CUDAGuard guard(a.device());
  std::size_t bytes = 0;
  require(hgemm_tuned::workspace_bytes(problem_of(a, b, d, c, activation), &bytes),
          "hgemm_tuned::gemm_workspace_bytes");
  return static_cast<std::int64_t>(bytes);
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
/// input's type, so shapes that were tuned for an fp32 output or 8-bit operands are left out, and
/// so are other layouts than a forward pass has, epilogues and batches.
std::vector<std::int64_t> shapes() {
  std::vector<std::int64_t> all;
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    const hgemm_tuned_problem p = hgemm_tuned_shape(i);
    if (p.dtype > HGEMM_TUNED_FP16 || p.output != HGEMM_TUNED_OUTPUT_SAME ||
        p.layout != HGEMM_TUNED_TN)
      continue;
    if (p.bias != HGEMM_TUNED_NO_BIAS || p.activation != HGEMM_TUNED_NO_ACTIVATION || p.adds_c ||
        p.gate != HGEMM_TUNED_NO_GATE || p.scaled || p.batch > 1) {
      continue;
    }
    all.insert(all.end(), {p.m, p.n, p.k, p.dtype});
  }
  return all;
}

/// M, N, K, the number of the scaling (hgemm_tuned_scaling) and 1 for fast sums of each tuned shape
/// that scaled_linear() computes with e4m3 input and weight, in one list.
std::vector<std::int64_t> scaled_shapes() {
  std::vector<std::int64_t> all;
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    const hgemm_tuned_problem p = hgemm_tuned_shape(i);
    if (p.dtype != HGEMM_TUNED_E4M3 || p.b_is_other || p.layout != HGEMM_TUNED_TN ||
        (p.output != HGEMM_TUNED_OUTPUT_SAME && p.output != HGEMM_TUNED_OUTPUT_BF16))
      continue;
    if (p.bias != HGEMM_TUNED_NO_BIAS || p.activation != HGEMM_TUNED_NO_ACTIVATION || p.adds_c ||
        p.gate != HGEMM_TUNED_NO_GATE || p.scaled || p.batch > 1) {
      continue;
    }
    all.insert(all.end(), {p.m, p.n, p.k, p.scaling, p.fast_sums});
  }
  return all;
}

/// The config of the kernel of such a shape.
std::string scaled_selected(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t scaling,
                            bool fast_sums) {
  hgemm_tuned::Problem problem{m, n, k, hgemm_tuned::Dtype::kE4m3};
  problem.scaling = static_cast<hgemm_tuned::Scaling>(static_cast<int>(scaling));
  problem.fast_sums = fast_sums;
  const auto selection = hgemm_tuned::select(problem);
  return selection.label != nullptr ? selection.label : "";
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
  library.def(
      "gemm(Tensor a, Tensor b, Tensor(a!) d, Tensor? c, str activation, "
      "Tensor(b!) workspace) -> ()");
  library.def(
      "gemm_workspace_bytes(Tensor a, Tensor b, Tensor d, Tensor? c, str activation) -> int");
  library.def(
      "scaled_linear(Tensor input, Tensor weight, Tensor scale_a, Tensor scale_b, str scaling, "
      "bool fast_sums, Tensor(a!) workspace) -> Tensor");
  library.def(
      "scaled_workspace_bytes(Tensor input, Tensor weight, Tensor scale_a, Tensor scale_b, "
      "str scaling, bool fast_sums) -> int");
  library.def("scaled_shapes() -> int[]", scaled_shapes);
  library.def("scaled_selected(int m, int n, int k, int scaling, bool fast_sums) -> str",
              scaled_selected);
  library.def("init_workspace(Tensor(a!) workspace) -> ()");
  library.def("prepare() -> ()", prepare);
  library.def("shapes() -> int[]", shapes);
  library.def("selected(int m, int n, int k, int dtype) -> str[]", selected);
}
TORCH_LIBRARY_IMPL(hgemm_tuned, CUDA, library) {
  library.impl("linear", linear);
  library.impl("scaled_linear", scaled_linear);
  library.impl("scaled_workspace_bytes", scaled_workspace_bytes);
  library.impl("gemm", gemm);
  library.impl("workspace_bytes", workspace_bytes);
  library.impl("gemm_workspace_bytes", gemm_workspace_bytes);
  library.impl("init_workspace", init_workspace);
}
TORCH_LIBRARY_IMPL(hgemm_tuned, Meta, library) {
  library.impl("linear", linear_meta);
  library.impl("scaled_linear", scaled_linear_meta);
}
