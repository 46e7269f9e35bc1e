// Kernels with an epilogue, compiled for sm_90a. Needs no GPU.
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "compile/source.h"
#include "families/family.h"
#include "gemm/codec.h"
#include "tests/compile/support.h"

namespace hgemm {
namespace {

using test::expect_all_compile;

/// Tiles at the limits of their registers, and each way to share work and to store.
std::vector<KernelConfig> configs() {
  using enum TileScheduler;
  return {
      TiledConfig{.bm = 128, .bn = 256, .cluster_m = 2, .order = TileOrder::kHilbert},
      TiledConfig{.bm = 256, .bn = 192, .stages = 3, .cluster_n = 2},
      TiledConfig{.bm = 192, .bn = 200, .stages = 3, .consumers = 3},
      TiledConfig{.bm = 384, .bn = 120, .bk = 32, .stages = 4, .cluster_n = 2},
      TiledConfig{.bm = 128, .bn = 200, .stages = 3, .schedule = Schedule::kPingPong},
      TiledConfig{.bn = 128, .schedule = Schedule::kColumns, .store = StorePath::kStaged},
      TiledConfig{.bm = 200, .bn = 128, .cluster_m = 2, .cluster_n = 2, .swap = true},
      TiledConfig{.bn = 256, .store = StorePath::kOverlapped, .scheduler = kDynamic},
      TiledConfig{.bn = 136, .scheduler = kStreamK, .gpc = true},
      TiledConfig{.bn = 136, .store = StorePath::kDirect, .scheduler = kSplitK, .splits = 5},
      TiledConfig{
          .bn = 128, .swap = true, .store = StorePath::kDirect, .scheduler = kSplitK, .splits = 2},
      TiledConfig{.bm = 64, .bn = 8, .consumers = 1, .scheduler = kClusterSplitK, .splits = 4},
      TiledConfig{.bn = 64, .bk = 128, .stages = 2, .mma_depth = 0, .ctas_per_sm = 1, .pdl = true},
      TiledConfig{.bn = 104, .cluster_n = 8, .pdl = true, .hold = true, .fixed = true},
      SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true},
      SwapAbConfig{.bm = 256, .bn = 64, .stages = 2, .mma_depth = 0},
      SwapAbConfig{.bm = 72, .bn = 192, .pdl = true, .late = true},
      GemvConfig{.vectors = 4, .rows = 16, .step = 512, .depth = 2, .warps = 8, .splits = 2}};
}

TEST(Epilogues, CompileWithEveryWayToShareWorkAndToStore) {
  std::vector<Kernel> kernels;
  std::set<std::string> compiled;
  for (const char* epilogue : {".bias-gelu_erf", ".cbf16.bias-silu", ".fp16.cfp16.biasm-gelu",
                               ".dfp32.cfp32", ".relu", ".layoutNT.dfp32.cfp32"}) {
    for (const KernelConfig& config : configs()) {
      const bool few_rows = std::holds_alternative<GemvConfig>(config);
      const GemmProblem problem =
          parse_problem(std::string(few_rows ? "3x1000x520" : "504x1000x520") + epilogue);
      if (why_not(config, problem)) continue;  // some need more registers or memory
      kernels.push_back(kernel_for(config, problem));
      compiled.insert(label(config));
    }
  }
  EXPECT_EQ(compiled.size(), configs().size()) << "each with one of the epilogues at least";
  expect_all_compile(kernels);
}

/// Text that the compiler sees, so recorded kernels keep their place in the cache.
TEST(Epilogues, AreNotNamedInTheSourceOfAPlainKernel) {
  const GemmProblem problem{.m = 512, .n = 512, .k = 512, .tag = ""};
  const std::string plain = kernel_definition(kernel_for(TiledConfig{}, problem), "k", "");
  EXPECT_EQ(plain.find("epilogue"), std::string::npos);
  EXPECT_EQ(plain.find("EpilogueParams"), std::string::npos);
  const GemmProblem with_bias = parse_problem("512x512x512.bias");
  EXPECT_NE(kernel_definition(kernel_for(TiledConfig{}, with_bias), "k", "").find("EpilogueParams"),
            std::string::npos);
}

}  // namespace
}  // namespace hgemm

/// Compiling runs this program again as its own child, which must not run the tests.
int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
