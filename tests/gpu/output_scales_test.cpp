// Scales of an 8-bit D that the kernel finds: every way to store, epilogues, edges inside a block
// of columns, random extents, what the verdict sees, and the library with this program's launch
// after it.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "device/blas.h"
#include "device/problem_data.h"
#include "gemm/codec.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using ::testing::HasSubstr;
using OutputScalesTest = GpuTest;

/// Each way to share a tile, to cut K and to store. `sums`: of the labels.
std::vector<Kernel> kernels_for(const GemmProblem& problem, const std::string& sums) {
  std::vector<Kernel> kernels;
  for (const char* label : {"bm128.bn128.bk128.q4.c1x1.coop2{}.linear.tma.persist",
                            "bm64.bn128.bk128.q4.c1x1.coop1{}.linear.direct.persist",
                            "bm64.bn128.bk128.q4.c1x1.coop1{}.linear.staged.persist",
                            "bm128.bn128.bk128.q4.c1x1.coop2{}.linear.overlap.persist",
                            "bm128.bn128.bk128.q4.c1x1.coop2{}.linear.tma.persist.pdl",
                            "bm64.bn256.bk128.q3.c1x1.cols2{}.linear.tma.persist",
                            "bm64.bn128.bk128.q4.c1x2.pp2{}.linear.tma.persist",
                            "bm128.bn128.bk128.q4.c2x1.coop2{}.linear.tma.stream",
                            "bm128.bn128.bk128.q4.c1x1.coop2{}.linear.tma.dynamic",
                            "bm64.bn128.bk128.q4.c1x1.coop1{}.linear.tma.csplit2",
                            "bm64.bn256.bk128.q3.c1x1.coop1{}.linear.direct.persist",
                            "bm128.bn256.bk128.q3.c1x1.coop2{}.linear.tma.persist",
                            "bm128.bn256.bk128.q3.c1x1.coop2{}.linear.direct.persist",
                            "bm128.bn256.bk128.q3.c1x1.coop2{}.linear.staged.single",
                            "bm64.bn256.bk128.q3.c1x1.coop1{}.linear.overlap.persist"}) {
    const KernelConfig config = parse_label(fmt::format(fmt::runtime(label), sums));
    if (!why_not(config, problem)) kernels.push_back(kernel_for(config, problem));
  }
  return kernels;
}

/// Rows of one block of columns, ends of N inside one, D at any element, one row, many tiles.
void expect_kind_correct(const std::string& kind, const std::string& sums, bool is_gated,
                         std::size_t least, const Gpu& device) {
  SCOPED_TRACE(kind);
  const std::string by = is_gated ? "512" : "256";
  std::set<std::string> computed;
  for (const std::string& extents :
       {"1x" + by + "x512", std::string("200x160x80"), std::string("301x204x1040"),
        std::string("1000x1056x528"), std::string("64x64x16"), std::string("67x" + by + "x144")}) {
    const GemmProblem problem = parse_problem(extents + kind);
    computed.merge(expect_correct(compile(kernels_for(problem, sums)), {problem}, device));
  }
  EXPECT_GE(computed.size(), least);
}

TEST_F(OutputScalesTest, EveryWayToStoreIsCorrect) {
  const auto expect = [this](const std::string& kind, const std::string& sums, std::size_t least) {
    expect_kind_correct(kind, sums, kind.ends_with("glu"), least, without_rotation());
  };
  expect(".e4m3.de4m3.accfast.dscaling-blocks", ".d1", 12);
  expect(".e4m3.be5m2.de5m2.scaling-rows.dscaling-blocks", ".d1.acc256", 8);
  expect(".e4m3.de4m3.scaling-blocks.dscaling-blocks", ".d0.acc128", 8);
  expect(".e4m3.de4m3.scaling-row_blocks.dscaling-blocks.bias-silu", ".d0.acc128", 6);
  expect(".e4m3.de4m3.scaling-rows.cbf16.accfast.dscaling-blocks.scaled-bias-gelu", ".d1", 6);
  expect(".e5m2.de4m3.accfast.dscaling-blocks.biasm-relu", ".d1", 8);
  expect(".e4m3.de4m3.scaling-tensor.accfast.dscaling-blocks.swiglu", ".d1", 3);
  expect(".e4m3.de4m3.scaling-rows.dscaling-blocks.swiglu", ".d0.acc128", 2);
}

TEST_F(OutputScalesTest, PaddedRowsOfDAreCorrect) {
  const GemmProblem problem =
      parse_problem("130x272x112.e4m3.de4m3.lda128.ldd288.accfast.dscaling-blocks");
  EXPECT_GT(
      expect_correct(compile(kernels_for(problem, ".d1")), {problem}, without_rotation()).size(),
      10U);
}

/// At random extents. Of random points few have a tile whose parts are whole blocks of columns.
TEST_F(OutputScalesTest, KernelsAreCorrectAtRandomExtents) {
  constexpr int kUnit = 16;
  std::mt19937 random(19);
  const auto up_to = [&](int most) { return std::uniform_int_distribution<int>(1, most)(random); };
  for (const auto& [kind, sums] :
       {std::pair(".e4m3.de4m3.scaling-blocks.dscaling-blocks", ".d0.acc128"),
        std::pair(".e4m3.de4m3.accfast.dscaling-blocks.bias-gelu", ".d1"),
        std::pair(".e5m2.be4m3.de5m2.scaling-tensor.dscaling-blocks", ".d1.acc256"),
        std::pair(".e4m3.de4m3.scaling-rows.accfast.dscaling-blocks.swiglu", ".d1")}) {
    for (const bool is_aligned : {true, false}) {
      const int n = is_aligned ? 2 * kUnit * up_to(60) : 2 * up_to(1000);
      const GemmProblem problem =
          parse_problem(fmt::format("{}x{}x{}{}", up_to(700), n, kUnit * up_to(100), kind));
      SCOPED_TRACE(to_string(problem));
      // Rows of D that are not whole units have the direct store only.
      EXPECT_GE(
          expect_correct(compile(kernels_for(problem, sums)), {problem}, without_rotation()).size(),
          is_aligned ? 4U : 1U);
    }
  }
}

/// A value, and a scale, off by more than its rounding; NaN; and a scale that was never written.
TEST_F(OutputScalesTest, TheVerdictSeesWrongValuesAndScales) {
  const GemmProblem problem = parse_problem("98x384x512.e4m3.de4m3.accfast.dscaling-blocks");
  const ProblemData data(problem, 7, without_rotation(), stream());
  const Build build = compile({kernels_for(problem, ".d1").front()}).front();
  ASSERT_EQ(build.status, Status::kOk) << build.message;
  data.poison(stream());
  make_kernel_candidate(build.kernel, build.cubin, data)->launch(0, stream().get());
  ASSERT_TRUE(data.verify(stream()).correct);

  const Operands operands = data.operands(0);
  const auto verdict_with = [&]<class Value>(Value* at, Value value) {
    Value before;
    check(cudaMemcpy(&before, at, sizeof before, cudaMemcpyDeviceToHost), "reading");
    check(cudaMemcpy(at, &value, sizeof value, cudaMemcpyHostToDevice), "writing");
    check(cudaStreamSynchronize(cudaStreamLegacy), "writing");
    const Verdict verdict = data.verify(stream());
    check(cudaMemcpy(at, &before, sizeof before, cudaMemcpyHostToDevice), "writing");
    check(cudaStreamSynchronize(cudaStreamLegacy), "writing");
    return verdict;
  };
  constexpr std::int64_t kRow = 17;
  const std::int64_t of_block = scale_leading(problem.m);
  float* const scale = operands.scales_d + 2 * of_block + kRow;
  float right = 0;
  check(cudaMemcpy(&right, scale, sizeof right, cudaMemcpyDeviceToHost), "reading a scale");
  EXPECT_GT(right, 0.0F);
  EXPECT_TRUE(verdict_with(scale, right).correct);
  const Verdict off = verdict_with(scale, right * 1.1F);
  EXPECT_FALSE(off.correct);
  EXPECT_THAT(off.message, HasSubstr("the scales of D"));
  EXPECT_THAT(off.message, HasSubstr("row 2, column 17"));
  EXPECT_FALSE(verdict_with(scale, -right).correct);
  EXPECT_FALSE(verdict_with(scale, std::numeric_limits<float>::quiet_NaN()).correct);
  // Padding, and what follows the last block.
  EXPECT_FALSE(verdict_with(operands.scales_d + problem.m, 1.0F).correct);
  EXPECT_FALSE(verdict_with(operands.scales_d + 3 * of_block, 1.0F).correct);

  auto* const d = static_cast<unsigned char*>(operands.d) + kRow * problem.n;
  std::vector<unsigned char> row(static_cast<std::size_t>(problem.n));
  check(cudaMemcpy(row.data(), d, row.size(), cudaMemcpyDeviceToHost), "reading a row");
  constexpr unsigned char kMagnitude = 0x7f;
  constexpr unsigned char kLargest = 0x7e;
  for (std::size_t block = 0; block < 3; ++block) {
    const auto begin = row.begin() + static_cast<std::ptrdiff_t>(block * kScaleBlock);
    const auto largest = std::ranges::max_element(
        begin, begin + kScaleBlock, {}, [](unsigned char byte) { return byte & kMagnitude; });
    EXPECT_EQ(*largest & kMagnitude, kLargest)
        << "a scale makes the largest value that of the type";
    const auto at = static_cast<std::size_t>(largest - row.begin());
    EXPECT_FALSE(verdict_with(d + at, static_cast<unsigned char>(*largest - 2)).correct);
    EXPECT_FALSE(verdict_with(d + at, kMagnitude).correct) << "NaN";
    EXPECT_TRUE(verdict_with(d + at, *largest).correct);
  }
}

/// cuBLASLt computes a product in bf16, and a launch of this program does the rest.
TEST_F(OutputScalesTest, BaselinesAreCorrect) {
  for (const char* text :
       {"256x512x1024.e4m3.de4m3.dscaling-blocks", "256x512x1024.e4m3.be5m2.de5m2.dscaling-blocks",
        "256x512x1024.e4m3.de4m3.scaling-blocks.dscaling-blocks",
        "64x520x1024.e4m3.de4m3.ldd528.scaling-tensor.dscaling-blocks",
        "16x528x1024.e4m3.de4m3.scaling-rows.dscaling-blocks.bias-gelu",
        "256x512x1024.e4m3.de4m3.cbf16.scaling-tensor.dscaling-blocks",
        "256x1024x512.e4m3.de4m3.scaling-tensor.dscaling-blocks.swiglu",
        "128x1040x512.e4m3.de4m3.dscaling-blocks.geglu-interleaved"}) {
    SCOPED_TRACE(text);
    const GemmProblem problem = parse_problem(text);
    const ProblemData data(problem, 7, without_rotation(), stream());
    const std::vector<Baseline> baselines = make_baselines(data);
    EXPECT_GT(baselines.size(), 1U) << "cuBLASLt has no algorithm";
    EXPECT_FALSE(CublasLtPlan(problem).has_epilogue());
    for (const Baseline& baseline : baselines) {
      data.poison(stream());
      baseline.candidate->launch(0, stream().get());
      const Verdict verdict = data.verify(stream(), baseline.candidate->roundings());
      EXPECT_TRUE(verdict.correct)
          << baseline.label << ", " << baseline.candidate->describe() << ": " << verdict.message;
    }
  }
}

}  // namespace
}  // namespace hgemm::testing
