// The kernels of layouts NN, NT and TT, compiled for sm_90a. Needs no GPU.
#include <span>
#include <string>
#include <vector>

#include "compile/nvrtc.h"
#include "compile/source.h"
#include "families/family.h"
#include "search/space.h"
#include "tests/compile/support.h"

namespace hgemm {
namespace {

using test::expect_all_compile;

// Layouts beside TN, whose descriptors and boxes differ: kernels at the limits of their registers,
// and one of each way to share work.
TEST(Layouts, BesideTnCompileWithEveryWayToShareWork) {
  std::vector<Kernel> kernels;
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTT}) {
    for (const KernelConfig& config : test::configs_of_every_kind()) {
      const GemmProblem problem{.m = 504, .n = 1000, .k = 520, .layout = layout, .tag = ""};
      const Kernel kernel = kernel_for(config, problem);
      const auto rejection = why_invalid(kernel);
      EXPECT_FALSE(rejection) << build_name(kernel) << ": " << rejection->reason;
      kernels.push_back(kernel);
    }
  }
  expect_all_compile(kernels);
}

/// Whatever the rules allow compiles without a spill: every so many configs of the grids.
TEST(Layouts, ASampleOfTheGridsCompiles) {
  constexpr std::size_t kSample = 30;
  std::vector<Kernel> kernels;
  for (const Layout layout : {Layout::kNN, Layout::kNT, Layout::kTT}) {
    const GemmProblem problem{.m = 504, .n = 1000, .k = 520, .layout = layout, .tag = ""};
    for (const char* name : {"full", "smoke"}) {
      const std::vector<KernelConfig> configs =
          enumerate(load_space(name, HGEMM_SOURCE_DIR "/configs"), std::span(&problem, 1)).valid;
      ASSERT_GT(configs.size(), kSample);
      for (std::size_t i = 0; i < kSample; ++i) {
        kernels.push_back(kernel_for(configs[i * configs.size() / kSample], problem));
        ASSERT_FALSE(why_invalid(kernels.back())) << build_name(kernels.back());
      }
    }
  }
  expect_all_compile(kernels);
}

/// The two immediates of wgmma that say which operand is MN-major (PTX ISA: imm-trans-a,
/// imm-trans-b).
std::string transposes(const KernelConfig& config, Layout layout) {
  const GemmProblem problem{.m = 512, .n = 512, .k = 512, .layout = layout, .tag = ""};
  const std::string ptx = nvrtc_ptx(JobMaker(embedded_kernels(), default_compile_flags())
                                        .job(kernel_source(kernel_for(config, problem))));
  const auto wgmma = ptx.find("wgmma.mma_async");
  if (wgmma == std::string::npos) return "none";
  const auto end = ptx.find(';', wgmma);
  return ptx.substr(end - 4, 4);
}

TEST(Layouts, AreTheImmediatesOfWgmma) {
  const TiledConfig tiled;
  EXPECT_EQ(transposes(tiled, Layout::kTN), "0, 0");
  EXPECT_EQ(transposes(tiled, Layout::kNN), "1, 0");
  EXPECT_EQ(transposes(tiled, Layout::kNT), "1, 1");
  EXPECT_EQ(transposes(tiled, Layout::kTT), "0, 1");
  // B is wgmma's first operand.
  const SwapAbConfig swapped;
  EXPECT_EQ(transposes(swapped, Layout::kTN), "0, 0");
  EXPECT_EQ(transposes(swapped, Layout::kNN), "0, 1");
  EXPECT_EQ(transposes(swapped, Layout::kTT), "1, 0");
  const TiledConfig tiled_swapped{.swap = true};
  EXPECT_EQ(transposes(tiled_swapped, Layout::kNN), "0, 1");
  EXPECT_EQ(transposes(tiled_swapped, Layout::kTT), "1, 0");
}

/// Text that the compiler sees, so recorded kernels keep their place in the cache.
TEST(Layouts, TnIsNotNamedInTheSourceOfAKernel) {
  const GemmProblem problem{.m = 512, .n = 512, .k = 512, .tag = ""};
  EXPECT_EQ(kernel_definition(kernel_for(TiledConfig{}, problem), "k", "").find("major"),
            std::string::npos);
}

}  // namespace
}  // namespace hgemm

/// Compiling runs this program again as its own child, which must not run the tests.
int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
