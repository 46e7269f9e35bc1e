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

std::vector<KernelConfig> configs() {
  std::vector<KernelConfig> all = test::configs_of_every_kind();
  all.insert(
      all.end(),
      {TiledConfig{.bn = 128,
                   .swap = true,
                   .store = StorePath::kDirect,
                   .scheduler = TileScheduler::kSplitK,
                   .splits = 2},
       GemvConfig{.vectors = 4, .rows = 16, .step = 512, .depth = 2, .warps = 8, .splits = 2}});
  return all;
}

TEST(Epilogues, CompileWithEveryWayToShareWorkAndToStore) {
  std::vector<Kernel> kernels;
  std::set<std::string> compiled;
  for (const char* epilogue :
       {".bias-gelu_erf", ".cbf16.bias-silu", ".fp16.cfp16.biasm-gelu", ".dfp32.cfp32", ".relu",
        ".layoutNT.dfp32.cfp32", ".bias-gelu-aux", ".fp16.dfp32.cfp32.relu-aux", ".swiglu",
        ".dfp32.geglu_erf-interleaved"}) {
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
  const GemmProblem with_aux = parse_problem("512x512x512.gelu-aux");
  EXPECT_NE(kernel_definition(kernel_for(TiledConfig{}, with_aux), "k", "").find("AuxParams"),
            std::string::npos);
}

}  // namespace
}  // namespace hgemm

/// Compiling runs this program again as its own child, which must not run the tests.
int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
