// The broken kernels that GPU tests verify do compile: an edit that the compiler refuses shows
// nothing about verification.
#include "tests/support/broken_kernels.h"

#include <gtest/gtest.h>

#include "tests/compile/support.h"

namespace hgemm::test {
namespace {

class BrokenKernels : public ::testing::TestWithParam<BrokenKernel> {};

TEST_P(BrokenKernels, Compile) {
  const BrokenKernel& broken = GetParam();
  GemmProblem problem;
  broken.describe(problem);
  const EditedKernels kernels(broken.file, broken.text, broken.replacement);
  const TemporaryFolder cache;
  CompileOptions options;
  options.cache_dir = cache.path();
  options.toolchain.kernel_files = kernels.files;
  const Build build = compile({kernel_for(broken.config, problem)}, options).builds.at(0);
  EXPECT_EQ(build.status, Status::kOk) << build.message;
}

INSTANTIATE_TEST_SUITE_P(Edits, BrokenKernels, ::testing::ValuesIn(kBrokenKernels),
                         [](const auto& broken) {
                           std::string name = broken.param.name;
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

}  // namespace
}  // namespace hgemm::test

/// The compiler's children are this program itself.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return argc == 3 ? hgemm::compile_worker_main(std::atoi(argv[2])) : RUN_ALL_TESTS();
}
