// What consumers read of a stage by loads: scales of blocks, and C. A warp that reads them after
// the stage was overwritten has those of another block of K, or another part of C. Only many
// launches show it, whose weights come from memory (analysis/kernel-notes.md, "Scales that the next
// stage overwrote").
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/loaded_kernel.h"
#include "device/problem_data.h"
#include "gemm/codec.h"
#include "support.h"

namespace hgemm::testing {
namespace {

using StageReadsTest = GpuTest;

struct Case {
  const char* problem;
  const char* label;
};
/// Kernels whose producer waits for each release: with scales, those of the fewest stages and two
/// of them in flight; and with a C in the ring. The first four were wrong in a tune, each once.
constexpr Case kCases[] = {
    {"16x32768x512.e4m3.scaling-blocks",
     "bm16.bn128.bk128.q3.c1x1.swap.cols2.d1.acc128.linear.tma.single.p64.pdl.hold.fixed"},
    {"16x7168x16384.e4m3.scaling-blocks",
     "swap_ab.bm16.bn128.bk128.q3.d1.acc128.tma.csplit5.p128.pdl.late.hold.fixed"},
    {"11008x4096x4096.dfp32.cfp32.layoutNT",
     "bm128.bn256.bk64.q4.c1x1.coop2.d0.ngroup8.tma.persist.gpc"},
    {"12288x4096x4096.dfp32.cfp32.layoutNT",
     "bm128.bn256.bk64.q4.c1x1.coop2.d1.snake16.tma.persist.pdl.hold"},
    {"16x7168x16384.e4m3.scaling-row_blocks",
     "swap_ab.bm16.bn128.bk128.q3.d1.acc128.tma.csplit5.p128.pdl.late.hold.fixed"},
    {"64x7168x2048.e4m3.scaling-blocks",
     "bm64.bn128.bk128.q3.c1x1.swap.coop2.d1.acc128.linear.tma.single"},
    {"64x7168x2048.e4m3.scaling-row_blocks",
     "bm64.bn64.bk128.q3.c1x1.coop1.d1.acc128.linear.tma.single"},
    {"256x4096x2048.e4m3.scaling-blocks",
     "bm128.bn64.bk128.q3.c1x1.coop2.d1.acc128.linear.tma.persist"},
};

Kernel kernel_of(const Case& of) {
  const GemmProblem problem = parse_problem(of.problem);
  const KernelConfig config = parse_label(of.label);
  EXPECT_EQ(why_not(config, problem), nullptr) << of.label << " at " << of.problem;
  return kernel_for(config, problem);
}

/// How many launches have a wrong result, and what is said of the last of these. Before each one
/// the other sets of inputs are used, so that its own are no longer in L2.
std::pair<int, std::string> wrong_launches(const Build& build, const GemmProblem& problem,
                                           int launches, const Gpu& device, const Stream& stream) {
  const ProblemData data(problem, 7, device, stream);
  const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
  int wrong = 0;
  std::string message;
  for (int launch = 0; launch < launches; ++launch) {
    for (int set = 1; set < data.launchable_sets(); ++set) candidate->launch(set, stream.get());
    data.poison(stream);
    candidate->launch(0, stream.get());
    const Verdict verdict = data.verify(stream);
    if (verdict.correct) continue;
    ++wrong;
    message = verdict.message;
  }
  return {wrong, message};
}

TEST_F(StageReadsTest, EveryLaunchIsRight) {
  constexpr int kLaunches = 300;
  for (const Case& of : kCases) {
    const Build build = compile({kernel_of(of)}).front();
    ASSERT_EQ(build.status, Status::kOk) << build.message;
    const auto [wrong, message] =
        wrong_launches(build, parse_problem(of.problem), kLaunches, *device_, stream());
    EXPECT_EQ(wrong, 0) << "of " << kLaunches << " launches of " << of.label << " at " << of.problem
                        << ": " << message;
  }
}

/// For the study: how often the arrival overtakes the reads if it does not depend on them.
TEST_F(StageReadsTest, DISABLED_PlantedEarlyArrival) {
  constexpr int kLaunches = 1000;
  for (const Case& of : kCases) {
    const Build build = compile_edited(kernel_of(of), "common/pipeline.cuh",
                                       "(read & ptx::unknown_zero())", "(read & 0)");
    ASSERT_EQ(build.status, Status::kOk) << build.message;
    const auto [wrong, message] =
        wrong_launches(build, parse_problem(of.problem), kLaunches, *device_, stream());
    fmt::print("{} of {} launches wrong: {} at {}{}{}\n", wrong, kLaunches, of.label, of.problem,
               wrong > 0 ? "; the last: " : "", message);
  }
}

}  // namespace
}  // namespace hgemm::testing
