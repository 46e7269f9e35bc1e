// For tests that need a Hopper GPU: where the program and its files are, and how to build kernels.
// Paths start at the test executable, so that a build folder can be carried to the machine with the
// GPU.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compile/compiler.h"
#include "device/candidate.h"
#include "device/device.h"
#include "families/family.h"
#include "search/space.h"
#include "tests/support/broken_kernels.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::testing {

inline std::filesystem::path build_dir() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}
inline std::string program() { return (build_dir() / "hgemm-tune").string(); }
inline std::string configs_dir() { return (build_dir() / "share/hgemm-tune/configs").string(); }

/// A cache that lasts as long as the test program, or the folder that HGEMM_TUNE_TEST_CACHE names,
/// for several programs that compile the same.
inline CompileOptions compile_options() {
  static const test::TemporaryFolder cache;
  const char* const shared = std::getenv("HGEMM_TUNE_TEST_CACHE");
  CompileOptions options;
  options.cache_dir = shared ? std::filesystem::path(shared) : cache.path();
  options.toolchain.worker = {program(), "compile-worker"};
  return options;
}

inline std::vector<Build> compile(const std::vector<Kernel>& kernels,
                                  const CompileOptions& options = compile_options()) {
  std::vector<Build> builds;
  compile_all(kernels, options, [&](Build build) { builds.push_back(std::move(build)); });
  return builds;
}

/// The real kernel with one edit: the first `text` of kernels/`file` replaced. For kernels that are
/// wrong, hang or crash in a way that we know.
inline Build compile_edited(const Kernel& kernel, const std::string& file, const std::string& text,
                            const std::string& replacement) {
  const test::EditedKernels kernels(file, text, replacement);
  CompileOptions options = compile_options();
  options.toolchain.kernel_files = kernels.files;
  return compile({kernel}, options).front();
}

/// Whether the kernel is made for the problem's types and can compute it.
inline bool computes(const Kernel& kernel, const GemmProblem& problem) {
  const GemmKind kind = kind_of(kernel);
  return kind.input == problem.a_type && kind.output == problem.d_type &&
         kind.b_is_other == problem.kind().b_is_other &&
         kind.fast_sums == problem.kind().fast_sums && kind.scaling == problem.scaling &&
         kind.output_scaling == problem.output_scaling && kind.epilogue == problem.epilogue &&
         kind.adds_c == problem.c_type.has_value() && !why_unsupported(kernel, problem.extents());
}

/// The smoke space's kernels for the types of these problems, each once; where extents are
/// constants, for each problem that the config can compute.
inline std::vector<Kernel> smoke_kernels(std::span<const GemmProblem> problems) {
  std::vector<Kernel> kernels;
  std::set<std::string> known;
  for (const KernelConfig& config : enumerate(load_space("smoke", configs_dir()), problems).valid) {
    for (const GemmProblem& problem : problems) {
      const Kernel kernel = kernel_for(config, problem);
      if (why_invalid(kernel)) continue;
      if (is_fixed(config) && !computes(kernel, problem)) continue;
      if (known.insert(build_name(kernel)).second) kernels.push_back(kernel);
    }
  }
  return kernels;
}
inline std::vector<Kernel> smoke_kernels(const GemmProblem& problem) {
  return smoke_kernels(std::span(&problem, 1));
}

/// Runs every build at every problem that it computes, on poisoned output, and compares. Returns
/// the names of those that computed any.
inline std::set<std::string> expect_correct(const std::vector<Build>& builds,
                                            const std::vector<GemmProblem>& problems,
                                            const Gpu& device) {
  std::set<std::string> computed;
  const Stream stream;
  for (const GemmProblem& problem : problems) {
    const ProblemData data(problem, 7, device, stream);  // no baselines: sanitizers are slow enough
    for (const Build& build : builds) {
      EXPECT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
      if (build.status != Status::kOk || !computes(build.kernel, problem)) continue;
      computed.insert(build.facts.name);
      const auto candidate = make_kernel_candidate(build.kernel, build.cubin, data);
      data.poison(stream);
      candidate->launch(0, stream.get());
      const Verdict verdict = data.verify(stream);
      EXPECT_TRUE(verdict.correct)
          << build.facts.name << " at " << to_string(problem) << ": " << verdict.message;
    }
  }
  return computed;
}

/// Skips where there is no Hopper GPU.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = open_device();
    } catch (const NoDevice& reason) {
      GTEST_SKIP() << "no Hopper GPU: " << reason.what();
    }
  }
  /// With one input set per problem: for correctness, not for timing.
  Gpu without_rotation() const {
    Gpu device = *device_;
    device.l2_bytes = 0;
    return device;
  }

  /// Made when it is first asked for: a test that resets the device must not have one.
  const Stream& stream() {
    if (!stream_) stream_.emplace();
    return *stream_;
  }

  std::optional<Gpu> device_;

 private:
  std::optional<Stream> stream_;
};

}  // namespace hgemm::testing
