// Prints what the package selects for problems given as MxNxK or, with an output in fp32, in
// another layout or with an epilogue, MxNxK.dfp32, MxNxK.layoutNT, MxNxK.bias-gelu, MxNxK.cbf16 or
// MxNxK.swiglu-interleaved, one a line, and the status of running it where there is no GPU; then of
// what it must refuse.
#include <hgemm_tuned.h>

#include <cstdio>
#include <cstring>

extern "C" int selects_in_c(void);

int main(int argc, char** argv) {
  alignas(256) static char memory[1 << 17];
  for (int i = 1; i < argc; ++i) {
    long long m = 0, n = 0, k = 0;
    if (std::sscanf(argv[i], "%lldx%lldx%lld", &m, &n, &k) != 3) return 2;
    hgemm_tuned::Problem problem{m, n, k};
    if (std::strstr(argv[i], ".dfp32") != nullptr) problem.output = hgemm_tuned::Output::kFp32;
    if (std::strstr(argv[i], ".layoutNT") != nullptr) problem.layout = hgemm_tuned::Layout::kNT;
    if (std::strstr(argv[i], ".bias-gelu") != nullptr) {
      problem.bias = hgemm_tuned::Bias::kAlongN;
      problem.activation = hgemm_tuned::Activation::kGelu;
    }
    if (std::strstr(argv[i], ".swiglu") != nullptr) {
      problem.activation = hgemm_tuned::Activation::kSilu;
      problem.gate = std::strstr(argv[i], "-interleaved") != nullptr
                         ? hgemm_tuned::Gate::kInterleaved
                         : hgemm_tuned::Gate::kHalves;
    }
    problem.adds_c = std::strstr(argv[i], ".cbf16") != nullptr;
    const hgemm_tuned::Selection s = hgemm_tuned::select(problem);
    const hgemm_tuned::Status run = hgemm_tuned::gemm(
        nullptr, problem, {memory, memory, memory, memory, memory}, memory, sizeof memory);
    std::printf("%s source=%d gain=%d cublas=%d tuned_m=%lld status=%d run=%d %s%s\n", argv[i],
                s.source, s.gain, s.uses_cublas, static_cast<long long>(s.tuned_m), s.status, run,
                s.label != nullptr ? s.label : "-", s.uses_cublaslt ? " cublaslt" : "");
  }
  using hgemm_tuned::Dtype;
  const auto status = [&](const hgemm_tuned::Problem& p, const void* a) {
    return hgemm_tuned::gemm(nullptr, p, {a, memory, memory});
  };
  std::size_t bytes = 0;
  hgemm_tuned::Problem bad_output{16, 512, 640};
  bad_output.output = hgemm_tuned::Output(9);
  hgemm_tuned::Problem bad_layout{16, 512, 640};
  bad_layout.layout = hgemm_tuned::Layout(4);
  hgemm_tuned::Problem bad_activation{16, 512, 640};
  bad_activation.activation = hgemm_tuned::Activation(5);
  hgemm_tuned::Problem bad_gate{16, 512, 640};
  bad_gate.gate = hgemm_tuned::Gate(3);
  hgemm_tuned::Problem odd_gate{16, 511, 640};
  odd_gate.gate = hgemm_tuned::Gate::kHalves;
  hgemm_tuned::Problem with_bias{16, 512, 640};
  with_bias.bias = hgemm_tuned::Bias::kAlongN;
  hgemm_tuned::Problem with_c{16, 512, 640};
  with_c.adds_c = true;
  hgemm_tuned_problem bad_c = with_c;
  bad_c.adds_c = 2;
  std::printf(
      "null=%d no_bias=%d no_c=%d bad_c=%d dtype=%d output=%d layout=%d activation=%d gate=%d "
      "odd_gate=%d problem=%d leading=%d "
      "address=%d prepare=%d bytes=%d c=%d\n",
      status({16, 512, 640}, nullptr), status(with_bias, memory), status(with_c, memory),
      hgemm_tuned_select(&bad_c).status, status({16, 512, 640, Dtype(9)}, memory),
      status(bad_output, memory), status(bad_layout, memory), status(bad_activation, memory),
      status(bad_gate, memory), status(odd_gate, memory), status({0, 512, 640}, memory),
      status({16, 512, 640, Dtype::kBf16, 639}, memory), status({16, 512, 640}, memory + 2),
      hgemm_tuned::prepare(), hgemm_tuned::workspace_bytes({384, 256, 4096}, &bytes),
      selects_in_c());
  return 0;
}
