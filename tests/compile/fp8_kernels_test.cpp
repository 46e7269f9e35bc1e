// Kernels with 8-bit operands, compiled for sm_90a. Needs no GPU.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "compile/nvrtc.h"
#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "search/proposer.h"
#include "tests/compile/support.h"

namespace hgemm {
namespace {

using test::expect_all_compile;

/// The configs of every kind, with the depth that 8-bit operands have in as many bytes.
std::vector<KernelConfig> configs(int promote) {
  std::vector<KernelConfig> all;
  for (KernelConfig config : test::configs_of_every_kind()) {
    std::visit(
        [&](auto& c) {
          if constexpr (requires { c.promote; }) {
            c.bk *= 2;
            c.promote = promote;
            if (promote == c.bk) c.mma_depth = 0;
          }
        },
        config);
    all.push_back(config);
  }
  return all;
}

void expect_compile(const char* key, int promote, std::set<std::string>& compiled) {
  std::vector<Kernel> kernels;
  const GemmProblem problem = parse_problem(std::string("504x1008x528.") + key);
  for (const KernelConfig& config : configs(promote)) {
    if (why_not(config, problem)) continue;  // some need more registers or memory
    kernels.push_back(kernel_for(config, problem));
    compiled.insert(label(config));
  }
  SCOPED_TRACE(key);
  expect_all_compile(kernels);
}

TEST(Fp8Kernels, CompileWithEveryWayToShareWorkAndToStore) {
  std::set<std::string> fast;
  for (const char* key : {"e4m3.accfast", "e5m2.be4m3.dfp32.accfast.scaling-rows",
                          "e4m3.be5m2.dfp16.accfast.scaling-tensor.cfp16.bias-gelu"}) {
    expect_compile(key, 0, fast);
  }
  EXPECT_EQ(fast.size(), configs(0).size()) << "each with one of the problems at least";
  std::set<std::string> promoted;
  expect_compile("e4m3", 128, promoted);
  expect_compile("e5m2.scaling-rows.swiglu", 256, promoted);
  expect_compile("e4m3.dfp32.scaling-tensor.batch3", 512, promoted);
  EXPECT_GT(promoted.size(), 12U);
}

TEST(Fp8Kernels, CompileWithEveryWayToStoreEightBits) {
  std::set<std::string> compiled;
  for (const char* key :
       {"e4m3.de4m3.accfast", "e4m3.be5m2.de5m2.accfast.cbf16.scaling-rows.scaled-bias-gelu"}) {
    expect_compile(key, 0, compiled);
  }
  expect_compile("e4m3.de4m3.scaling-tensor.swiglu", 256, compiled);
  expect_compile("e4m3.de4m3.scaling-tensor.batch3", 128, compiled);
  EXPECT_GT(compiled.size(), 9U) << "some tiles have no whole units of 16 columns";
}

/// A grid of all ways to store with tiles whose consumers have whole blocks of columns.
TEST(Fp8Kernels, CompileWithEveryWayToStoreTheScalesThatTheyFind) {
  std::set<std::string> compiled;
  for (const char* key : {"e4m3.de4m3.accfast.dscaling-blocks.bias-silu",
                          "e4m3.be5m2.de5m2.scaling-rows.cbf16.dscaling-blocks",
                          "e4m3.de4m3.scaling-blocks.dscaling-blocks",
                          "e4m3.de4m3.scaling-tensor.accfast.dscaling-blocks.swiglu"}) {
    const GemmProblem problem = parse_problem(std::string("504x1008x528.") + key);
    const bool is_promoted = problem.accumulator == Accumulator::kFp32;
    std::vector<Kernel> kernels;
    for (const StorePath store :
         {StorePath::kDirect, StorePath::kTma, StorePath::kStaged, StorePath::kOverlapped}) {
      for (const TileScheduler scheduler :
           {TileScheduler::kPersistent, TileScheduler::kStreamK, TileScheduler::kClusterSplitK}) {
        for (const Schedule schedule : {Schedule::kRows, Schedule::kColumns, Schedule::kPingPong}) {
          for (const int bn : {128, 256}) {
            const TiledConfig config{.bm = 128,
                                     .bn = bn,
                                     .bk = 128,
                                     .stages = 3,
                                     .schedule = schedule,
                                     .mma_depth = is_promoted ? 0 : 1,
                                     .promote = is_promoted ? 128 : 0,
                                     .store = store,
                                     .scheduler = scheduler,
                                     .splits = scheduler == TileScheduler::kClusterSplitK ? 2 : 1};
            if (why_not(config, problem)) continue;
            kernels.push_back(kernel_for(config, problem));
            compiled.insert(label(config));
          }
        }
      }
    }
    EXPECT_FALSE(kernels.empty()) << key;
    SCOPED_TRACE(key);
    expect_all_compile(kernels);
  }
  for (const char* part : {"direct", "staged", "overlap", "csplit2", "stream", ".pp2", ".cols2"}) {
    EXPECT_TRUE(std::ranges::any_of(compiled, [&](const std::string& name) {
      return name.find(part) != std::string::npos;
    })) << part;
  }
}

/// Sums of a stage in three or more pieces, in a cluster: the widest tiles that the rules allow.
/// The next wider ones spill hundreds of bytes.
TEST(Fp8Kernels, TilesInManyPiecesCompileUpToTheWidestThatIsAllowed) {
  const GemmProblem problem = parse_problem("4096x2560x5120.e4m3.scaling-rows");
  const auto config = [](int bm, int bn) {
    return parse_label(
        fmt::format("bm{}.bn{}.bk256.q2.c2x1.cols2.d0.acc256.linear.tma.single", bm, bn));
  };
  std::vector<Kernel> kernels;
  for (const auto& [bm, widest] : {std::pair{192, 176}, {256, 144}, {320, 112}}) {
    const KernelConfig allowed = config(bm, widest);
    EXPECT_STREQ(why_not(allowed, problem), nullptr) << label(allowed);
    EXPECT_THAT(why_not(config(bm, widest + 16), problem),
                testing::HasSubstr("must leave a consumer thread"));
    kernels.push_back(kernel_for(allowed, problem));
  }
  expect_all_compile(kernels);
}

/// Tiles that are tuned for most, with cycle stamps: each way to promote, and each kind of scales.
TEST(Fp8Kernels, ProbedOnesCompileWithoutSpills) {
  struct Probed {
    const char* key;
    const char* label;
  };
  std::vector<Kernel> kernels;
  for (const Probed& probed : {
           Probed{"e4m3", "bm128.bn128.bk128.q4.c1x1.coop2.d1.acc256.linear.tma.persist"},
           Probed{"e4m3", "bm128.bn200.bk128.q4.c2x1.coop2.d1.acc256.group8.tma.persist"},
           Probed{"e4m3", "bm64.bn80.bk128.q8.c1x1.coop1.d1.acc128.linear.tma.persist"},
           Probed{"e4m3.dfp32", "bm128.bn64.bk128.q4.c1x1.coop2.d0.acc512.linear.direct.persist"},
           Probed{"e4m3.scaling-tensor",
                  "bm128.bn256.bk128.q4.c2x1.cols2.d0.acc128.snake8.tma.single"},
           Probed{"e4m3.scaling-rows",
                  "bm64.bn80.bk128.q10.c1x1.cols2.d0.acc128.linear.tma.persist"},
           Probed{"e4m3.scaling-blocks",
                  "bm128.bn256.bk128.q4.c1x1.coop2.d0.acc128.snake16.tma.persist"},
           Probed{"e4m3.scaling-blocks",
                  "bm256.bn128.bk128.q3.c1x2.coop2.d0.acc128.group8.tma.persist"},
           Probed{"e4m3.scaling-blocks",
                  "bm128.bn128.bk128.q5.c2x1.coop2.d1.acc128.group8.tma.persist"},
           Probed{"e4m3.scaling-row_blocks",
                  "bm128.bn128.bk128.q4.c1x1.coop2.d0.acc128.linear.tma.persist"},
           Probed{"e4m3", "bm128.bn96.bk128.q6.c2x1.coop2.d1.acc512.group1.overlap.persist"},
       }) {
    const GemmProblem problem = parse_problem(std::string("4096x4096x4096.") + probed.key);
    auto config = std::get<TiledConfig>(parse_label(probed.label));
    EXPECT_EQ(why_not(config, problem), nullptr) << probed.key << " " << probed.label;
    config.probe = true;
    EXPECT_EQ(why_not(config, problem), nullptr) << probed.key << " " << probed.label;
    kernels.push_back(kernel_for(config, problem));
  }
  expect_all_compile(kernels);
}

/// As Kernels.ReadNoClock: only probed builds read a clock where sums are promoted.
TEST(Fp8Kernels, OnlyProbedOnesReadAClock) {
  const JobMaker jobs(embedded_kernels(), default_compile_flags());
  const auto clocks = [&](const TiledConfig& config, const char* key) {
    const GemmProblem problem = parse_problem(std::string("512x512x512.") + key);
    const std::string ptx = nvrtc_ptx(jobs.job(kernel_source(kernel_for(config, problem))));
    int found = 0;
    for (auto at = ptx.find("%clock;"); at != ptx.npos; at = ptx.find("%clock;", at + 1)) ++found;
    return found;
  };
  TiledConfig every_second{.bk = 128, .promote = 256};
  TiledConfig each{.bk = 128, .mma_depth = 0, .promote = 128};
  EXPECT_EQ(clocks(every_second, "e4m3"), 0);
  EXPECT_EQ(clocks(each, "e4m3.scaling-blocks"), 0);
  every_second.probe = each.probe = true;
  EXPECT_GT(clocks(every_second, "e4m3"), 10);
  EXPECT_GT(clocks(each, "e4m3.scaling-blocks"), 10);
}

/// Whatever the rules allow compiles without a spill: random points of the whole space.
TEST(Fp8Kernels, ASampleOfTheSpaceCompiles) {
  constexpr std::size_t kOfEach = 4;
  std::vector<Kernel> kernels;
  for (const char* key :
       {"1024x1024x1024.e4m3", "200x1000x512.e4m3.be5m2.scaling-rows", "16x4096x4096.e4m3.accfast",
        "1024x1024x1024.e5m2.dfp32.accfast.scaling-tensor.silu",
        "1000x1032x1040.e4m3.scaling-blocks", "1000x1032x1040.e4m3.scaling-packed_blocks.dfp32",
        "16x4096x4096.e4m3.scaling-packed_blocks.bias",
        "1008x1040x1040.e4m3.de4m3.scaling-tensor.bias-silu", "16x4096x4096.e4m3.de4m3.accfast",
        "16x4096x4096.e4m3.be5m2.dfp32.scaling-row_blocks.bias",
        "1000x1040x1040.e4m3.de4m3.scaling-blocks.dscaling-blocks.silu",
        "64x4096x4096.e4m3.de5m2.accfast.dscaling-blocks.swiglu"}) {
    const GemmProblem problem = parse_problem(key);
    const std::vector<Proposal> drawn = draw({problem}, kOfEach, 8);
    // Few points of the space find scales of D.
    EXPECT_GE(drawn.size(), finds_output_scales(problem.kind()) ? 1 : kOfEach) << key;
    for (const Proposal& proposal : drawn) kernels.push_back(kernel_for(proposal.config, problem));
  }
  expect_all_compile(kernels);
}

/// The types of the first wgmma of a kernel, its own and B's.
std::string types_of_wgmma(const KernelConfig& config, const char* key) {
  const GemmProblem problem = parse_problem(std::string("512x512x512.") + key);
  EXPECT_EQ(why_not(config, problem), nullptr) << key;
  const std::string ptx = nvrtc_ptx(JobMaker(embedded_kernels(), default_compile_flags())
                                        .job(kernel_source(kernel_for(config, problem))));
  const auto begin = ptx.find(".f32.", ptx.find("wgmma.mma_async"));
  return begin == std::string::npos ? "none" : ptx.substr(begin + 5, 9);
}

TEST(Fp8Kernels, GiveWgmmaTheTypesOfItsOperands) {
  const TiledConfig tiled{.bk = 128, .promote = 256};
  const TiledConfig swapped{.bk = 128, .swap = true, .promote = 256};
  const SwapAbConfig swap_ab{.bk = 128, .promote = 256};
  EXPECT_EQ(types_of_wgmma(tiled, "e4m3"), "e4m3.e4m3");
  EXPECT_EQ(types_of_wgmma(tiled, "e5m2"), "e5m2.e5m2");
  EXPECT_EQ(types_of_wgmma(tiled, "e4m3.be5m2"), "e4m3.e5m2");
  // B is wgmma's first operand.
  EXPECT_EQ(types_of_wgmma(swapped, "e4m3.be5m2"), "e5m2.e4m3");
  EXPECT_EQ(types_of_wgmma(swap_ab, "e4m3.be5m2"), "e5m2.e4m3");
  EXPECT_EQ(types_of_wgmma(swap_ab, "e5m2.be4m3"), "e4m3.e5m2");
}

/// Kernels of 16-bit operands do not pay for the wrappers of 8-bit ones.
TEST(Fp8Kernels, AloneIncludeTheirWgmma) {
  const auto source = [](const char* key, int promote) {
    return kernel_source(
        kernel_for(TiledConfig{.bk = 128, .promote = promote}, parse_problem(key)));
  };
  EXPECT_EQ(source("512x512x512", 0).find("fp8"), std::string::npos);
  EXPECT_EQ(source("512x512x512", 0).find("scaling"), std::string::npos);
  const std::string promoted = source("512x512x512.e4m3.scaling-rows", 256);
  EXPECT_NE(promoted.find("common/wgmma_fp8.cuh"), std::string::npos);
  EXPECT_NE(promoted.find("ScaledParams"), std::string::npos);
  EXPECT_NE(promoted.find(".scaling = "), std::string::npos);
}

}  // namespace
}  // namespace hgemm

/// Compiling runs this program again as its own child, which must not run the tests.
int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
