// Tiles that are stored while the next one is multiplied: in kernels whose CTAs have many tiles
// each, so that one waits at every moment, where promoted sums hold it (waits_in_sums()) and where
// registers of its own do. The smoke test also runs under compute-sanitizer
// (scripts/gpu_check.sh).
#include <fmt/format.h>

#include "gemm/codec.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using OverlapTest = GpuTest;

/// {0}: sums that are promoted after each stage. Sums in one piece, in blocks, and in halves of the
/// columns; each way in which consumers divide a tile; few and many buffers for a warp's boxes.
constexpr const char* kStructures[] = {
    "bm128.bn256.bk128.q3.c1x1.cols2{0}.group8.overlap.persist.sms4",
    "bm128.bn128.bk128.q5.c1x1.cols2{0}.linear.overlap.persist.sms3.pdl.hold",
    "bm256.bn64.bk128.q4.c1x1.coop2{0}.linear.overlap.persist.sms4",
    "bm256.bn128.bk128.q3.c1x2.coop2{0}.group8.overlap.persist.sms4.pdl",
    "bm192.bn64.bk128.q4.c2x1.coop3{0}.nsnake8.overlap.persist.sms6",
    "bm128.bn128.bk128.q4.c2x1.coop2{0}.linear.overlap.persist.sms4",
    "bm128.bn176.bk128.q4.c1x1.coop2{0}.linear.overlap.persist.sms4",
    "bm128.bn64.bk128.q4.c1x1.coop1{0}.linear.overlap.persist.sms5",
    "bm64.bn64.bk128.q4.c1x1.coop1{0}.linear.overlap.persist.cta2",
    "bm128.bn64.bk128.q4.c1x1.pp2{0}.linear.overlap.persist.sms4",
    "bm128.bn128.bk128.q4.c1x1.cols2{0}.linear.overlap.dynamic",
    "bm64.bn256.bk128.q3.c1x1.swap.coop2{0}.linear.overlap.persist.sms4"};

/// Those that the problem can have; at least half of all, or the list needs others.
std::vector<Kernel> kernels_of(const GemmProblem& problem, const char* sums) {
  std::vector<Kernel> kernels;
  for (const char* const structure : kStructures) {
    KernelConfig config = parse_label(fmt::format(fmt::runtime(structure), sums));
    if (why_not(config, problem)) continue;
    kernels.push_back(kernel_for(config, problem));
  }
  EXPECT_GE(kernels.size(), std::size(kStructures) / 2) << to_string(problem);
  return kernels;
}

/// Many tiles, at edges of M and N, and a K of several stages; and a K of one stage, of which a
/// tile's first is also its last.
void expect_kind(const char* kind, const char* sums, const Gpu& device) {
  SCOPED_TRACE(fmt::format("{} {}", kind, sums));
  for (const char* const extents : {"1000x1040x528", "712x2064x112"}) {
    const GemmProblem problem = parse_problem(std::string(extents) + kind);
    expect_correct(compile(kernels_of(problem, sums)), {problem}, device);
  }
}

TEST_F(OverlapTest, SmokeTilesAreCorrect) {
  expect_kind(".e4m3.scaling-blocks", ".d0.acc128", without_rotation());
}

TEST_F(OverlapTest, EveryScalingAndOutputIsCorrect) {
  for (const char* kind :
       {".e4m3", ".e4m3.scaling-tensor", ".e5m2.be4m3.dfp16.scaling-rows", ".e4m3.dfp32",
        ".e4m3.scaling-packed_blocks", ".e4m3.dfp32.scaling-blocks", ".e4m3.scaling-row_blocks",
        ".e4m3.de4m3.scaling-tensor", ".e4m3.de4m3.scaling-blocks"}) {
    expect_kind(kind, ".d0.acc128", without_rotation());
  }
}

TEST_F(OverlapTest, EveryEpilogueIsCorrect) {
  for (const char* kind :
       {".e4m3.scaling-blocks.bias-gelu", ".e4m3.cbf16.scaling-rows.scaled-bias-silu",
        ".e4m3.scaling-tensor.biasm-relu", ".e4m3.dfp32.cfp32.scaling-blocks"}) {
    expect_kind(kind, ".d0.acc128", without_rotation());
  }
  const GemmProblem gated = parse_problem("700x2064x528.e4m3.scaling-rows.swiglu");
  expect_correct(compile(kernels_of(gated, ".d0.acc128")), {gated}, without_rotation());
}

TEST_F(OverlapTest, RegistersOfTheirOwnHoldTheOthers) {
  expect_kind(".e4m3.scaling-tensor.accfast", ".d1", without_rotation());
  expect_kind(".e4m3.scaling-rows", ".d0.acc256", without_rotation());
}

}  // namespace
}  // namespace hgemm::testing
