// 8-bit operands at random: 10,000 launches of kernels from the whole space, at any M and N, with
// padded rows, fresh data and scales.
#include <fmt/format.h>

#include <random>

#include "device/problem_data.h"
#include "gemm/codec.h"
#include "search/proposer.h"
#include "support.h"

namespace hgemm::testing {
namespace {

constexpr int kLaunches = 500;       ///< of each kind, of which there are 22
constexpr std::size_t kKernels = 8;  ///< for extents of each of two kinds
constexpr int kLaunchesPerProblem = 5;
constexpr int kUnit = 16;  ///< elements of 16 bytes, of which rows of A and B have a whole number

class Fp8Random : public GpuTest, public ::testing::WithParamInterface<const char*> {};

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}
  int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }

  /// A problem of `kind`, which is written as behind the extents; every third has padded rows.
  GemmProblem problem(const std::string& kind, int unit_of_n) {
    const int m = extent(1, 700), n = extent(unit_of_n, 700), k = extent(kUnit, 3000);
    std::string text = fmt::format("{}x{}x{}{}", m, n, k, kind);
    if (up_to(2) != 0) return parse_problem(text);
    const GemmProblem packed = parse_problem(text);
    text += fmt::format(".lda{}.ldb{}.ldd{}", k + kUnit * up_to(3), k + kUnit * up_to(3),
                        packed.contiguous_d() + unit_of_n * up_to(24));
    return parse_problem(text);
  }

 private:
  /// A multiple of `unit`; small ones as often as large ones.
  int extent(int unit, int largest) {
    const int most = std::min(largest, unit << (1 + up_to(9)));
    return unit * (1 + up_to(most / unit - 1));
  }
  std::mt19937 random_;
};

/// Some of the whole space, without extents as constants: for rows of D that begin at a unit, so
/// that TMA can store them, and for rows that begin anywhere.
std::vector<Build> kernels_of(const std::string& kind, std::uint32_t seed) {
  std::vector<Kernel> kernels;
  for (const char* extents : {"264x352x528", "264x350x528"}) {
    const GemmProblem problem = parse_problem(extents + kind);
    for (const Proposal& drawn : draw({problem}, kKernels, seed)) {
      const KernelConfig config = without_fixed(drawn.config);
      if (why_not(config, problem) == nullptr) kernels.push_back(kernel_for(config, problem));
    }
  }
  return compile(kernels);
}

TEST_P(Fp8Random, LaunchesAreCorrect) {
  const std::string kind = GetParam();
  const auto seed = static_cast<std::uint32_t>(std::hash<std::string>()(kind));
  Draws draws(seed);
  const bool is_gated = parse_problem("264x352x528" + kind).is_gated();
  const std::vector<Build> builds = kernels_of(kind, seed);
  for (const Build& build : builds) {
    EXPECT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
  }
  int launched = 0, wrong = 0;
  for (int attempt = 0; launched < kLaunches && attempt < kLaunches && wrong < 5; ++attempt) {
    const GemmProblem problem = draws.problem(kind, is_gated ? 2 : 1);
    std::vector<const Build*> able;
    for (const Build& build : builds) {
      if (build.status == Status::kOk && computes(build.kernel, problem)) able.push_back(&build);
    }
    if (able.empty()) continue;
    const ProblemData data(problem, static_cast<std::uint64_t>(attempt), without_rotation(),
                           stream());
    for (int i = 0; i < kLaunchesPerProblem && launched < kLaunches; ++i, ++launched) {
      const Build& build =
          *able[static_cast<std::size_t>(draws.up_to(static_cast<int>(able.size()) - 1))];
      const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
      data.poison(stream());
      candidate->launch(0, stream().get());
      const Verdict verdict = data.verify(stream());
      EXPECT_TRUE(verdict.correct)
          << build.facts.name << " at " << to_string(problem) << ": " << verdict.message;
      wrong += !verdict.correct;
    }
  }
  EXPECT_EQ(launched, kLaunches);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, Fp8Random,
    ::testing::Values(".e4m3", ".e4m3.accfast", ".e5m2.be4m3.dfp16", ".e4m3.be5m2.dfp32.accfast",
                      ".e4m3.scaling-tensor", ".e4m3.scaling-tensor.accfast.dfp32",
                      ".e4m3.scaling-rows", ".e5m2.be4m3.scaling-rows.accfast",
                      ".e4m3.scaling-blocks", ".e4m3.scaling-blocks.dfp32",
                      ".e4m3.scaling-packed_blocks", ".e4m3.scaling-packed_blocks.bias-relu.dfp32",
                      ".e4m3.scaling-row_blocks", ".e4m3.scaling-row_blocks.dfp16",
                      ".e4m3.de4m3.scaling-tensor", ".e4m3.de4m3.scaling-blocks",
                      ".e4m3.de5m2.accfast", ".e4m3.scaling-rows.bias-gelu",
                      ".e4m3.scaling-blocks.bias-silu", ".e4m3.scaling-tensor.bias-relu.dfp16",
                      ".e4m3.swiglu", ".e4m3.scaling-rows.geglu.accfast"));

}  // namespace
}  // namespace hgemm::testing
