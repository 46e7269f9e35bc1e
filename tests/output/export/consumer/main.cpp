// Prints what the package selects for problems given as MxNxK or, with an output in fp32, in
// another layout, with an epilogue or as a batch, MxNxK.dfp32, MxNxK.layoutNT, MxNxK.bias-gelu,
// MxNxK.scaled-bias, MxNxK.bias-gelu-aux, MxNxK.cbf16, MxNxK.swiglu-interleaved or MxNxK.batch8,
// one a line, and the status of running it where there is no GPU; then of what it must refuse.
// Words after a batch: all products share B (.shared_b), lie between the rows of one another
// (.heads), or are found by arrays of pointers (.pointers).
#include <hgemm_tuned.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int selects_in_c(void);

namespace {

using hgemm_tuned::Problem;

alignas(256) char memory[1 << 17];

Problem problem_of(const char* text) {
  long long m = 0, n = 0, k = 0;
  if (std::sscanf(text, "%lldx%lldx%lld", &m, &n, &k) != 3) std::exit(2);
  const auto has = [text](const char* word) { return std::strstr(text, word) != nullptr; };
  Problem problem{m, n, k};
  if (has(".dfp32")) problem.output = hgemm_tuned::Output::kFp32;
  if (has(".layoutNT")) problem.layout = hgemm_tuned::Layout::kNT;
  problem.scaled = has(".scaled");
  problem.aux = has("-aux");
  if (has("bias")) problem.bias = hgemm_tuned::Bias::kAlongN;
  if (has("gelu")) problem.activation = hgemm_tuned::Activation::kGelu;
  if (has(".swiglu")) {
    problem.activation = hgemm_tuned::Activation::kSilu;
    problem.gate =
        has("-interleaved") ? hgemm_tuned::Gate::kInterleaved : hgemm_tuned::Gate::kHalves;
  }
  problem.adds_c = has(".cbf16");
  if (const char* const batch = std::strstr(text, ".batch")) {
    problem.batch = std::atoll(batch + std::strlen(".batch"));
  }
  if (has(".shared_b")) problem.stride_b = hgemm_tuned::kShared;
  problem.by_pointers = has(".pointers");
  if (has(".heads")) {
    problem.lda = problem.batch * k;
    problem.stride_a = k;
    problem.ldd = problem.batch * n;
    problem.stride_d = n;
  }
  return problem;
}

void print_selection(const char* text) {
  const Problem problem = problem_of(text);
  const hgemm_tuned::Selection s = hgemm_tuned::select(problem);
  const hgemm_tuned::Status run =
      hgemm_tuned::gemm(nullptr, problem, {memory, memory, memory, memory, memory, 1, 1, memory},
                        memory, sizeof memory);
  std::printf("%s source=%d gain=%d cublas=%d tuned_m=%lld status=%d run=%d %s%s", text, s.source,
              s.gain, s.uses_cublas, static_cast<long long>(s.tuned_m), s.status, run,
              s.label != nullptr ? s.label : "-", s.uses_cublaslt ? " cublaslt" : "");
  if (s.tuned_batch > 1) std::printf(" of %lld", static_cast<long long>(s.tuned_batch));
  std::printf("\n");
}

hgemm_tuned::Status status(const Problem& p, const void* a) {
  return hgemm_tuned::gemm(nullptr, p, {a, memory, memory});
}
/// A problem of the package with one field changed.
template <class Field, class Value>
hgemm_tuned::Status status_with(Field Problem::*field, Value value, int64_t batch = 1) {
  Problem problem{16, 512, 640};
  problem.batch = batch;
  problem.*field = static_cast<Field>(value);
  return status(problem, memory);
}

void print_refusals() {
  using hgemm_tuned::Dtype;
  std::size_t bytes = 0;
  Problem odd_gate{16, 511, 640};
  odd_gate.gate = hgemm_tuned::Gate::kHalves;
  Problem with_c{16, 512, 640};
  with_c.adds_c = true;
  Problem with_aux{16, 512, 640};
  with_aux.activation = hgemm_tuned::Activation::kGelu;
  with_aux.aux = true;
  hgemm_tuned_problem bad_c = with_c;
  bad_c.adds_c = 2;
  hgemm_tuned_problem bad_scaled = Problem{16, 512, 640};
  bad_scaled.scaled = 2;
  std::printf(
      "null=%d no_bias=%d no_c=%d no_aux=%d bad_c=%d bad_scaled=%d dtype=%d output=%d layout=%d "
      "activation=%d gate=%d odd_gate=%d problem=%d leading=%d address=%d prepare=%d bytes=%d "
      "c=%d\n",
      status({16, 512, 640}, nullptr), status_with(&Problem::bias, 1), status(with_c, memory),
      status(with_aux, memory), hgemm_tuned_select(&bad_c).status,
      hgemm_tuned_select(&bad_scaled).status, status({16, 512, 640, Dtype(9)}, memory),
      status_with(&Problem::output, 9), status_with(&Problem::layout, 4),
      status_with(&Problem::activation, 5), status_with(&Problem::gate, 3),
      status(odd_gate, memory), status({0, 512, 640}, memory),
      status({16, 512, 640, Dtype::kBf16, 639}, memory), status({16, 512, 640}, memory + 2),
      hgemm_tuned::prepare(), hgemm_tuned::workspace_bytes({384, 256, 4096}, &bytes),
      selects_in_c());
  constexpr int64_t kRows = int64_t{1} << 62;  // whose strides do not fit
  Problem overflowing{kRows, 512, kRows};
  overflowing.batch = 8;
  Problem by_pointers{16, 512, 640};
  by_pointers.batch = 8;
  by_pointers.by_pointers = true;
  Problem with_stride = by_pointers;
  with_stride.stride_b = hgemm_tuned::kShared;
  std::printf(
      "batch=%d products=%d stride_a=%d stride_b=%d far=%d shared_d=%d overlap=%d overflow=%d "
      "single_by_pointers=%d pointers_and_strides=%d array_address=%d\n",
      status_with(&Problem::batch, -1), status_with(&Problem::batch, (1 << 25) + 1),
      status_with(&Problem::stride_a, -2, 8), status_with(&Problem::stride_b, -2, 8),
      status_with(&Problem::stride_a, (int64_t{1} << 36) + 8, 8),
      status_with(&Problem::stride_d, hgemm_tuned::kShared, 8),
      status_with(&Problem::stride_d, 16 * 512 - 8, 8), status(overflowing, memory),
      status_with(&Problem::by_pointers, true), status(with_stride, memory),
      status(by_pointers, memory + 4));
}

/// Whether each shape, as the package tells it, is one that it was tuned for.
bool knows_its_shapes() {
  for (int i = 0; i < hgemm_tuned_shape_count(); ++i) {
    const hgemm_tuned_problem problem = hgemm_tuned_shape(i);
    if (hgemm_tuned_select(&problem).source != HGEMM_TUNED_EXACT) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) print_selection(argv[i]);
  print_refusals();
  std::printf("shapes=%d\n", knows_its_shapes() ? 1 : 0);
  return 0;
}
