// For tests that need a Hopper GPU: where the program and its files are, and how to build kernels.
// Paths start at the test executable, so that a build folder can be carried to the machine with the
// GPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "gpu/device.h"
#include "space/space.h"
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

inline std::vector<Build> compile(const std::vector<KernelConfig>& configs,
                                  const CompileOptions& options = compile_options()) {
  std::vector<Build> builds;
  compile_all(configs, options, [&](Build build) { builds.push_back(std::move(build)); });
  return builds;
}

/// The real kernel with one edit: the first `text` of kernels/`file` replaced. For kernels that are
/// wrong, hang or crash in a way that we know.
inline Build compile_edited(const KernelConfig& config, const std::string& file,
                            const std::string& text, const std::string& replacement) {
  std::vector<EmbeddedFile> files(embedded_kernels().begin(), embedded_kernels().end());
  std::string edited;
  for (EmbeddedFile& source : files) {
    if (source.path != "kernels/" + file) continue;
    edited = source.text;
    const std::size_t at = edited.find(text);
    if (at == std::string::npos) throw Error("kernels/" + file + " no longer says: " + text);
    edited.replace(at, text.size(), replacement);
    source.text = edited;
  }
  CompileOptions options = compile_options();
  options.toolchain.kernel_files = files;
  return compile({config}, options).front();
}

/// Kernels that are made for one problem: for each of `shapes`.
inline std::vector<KernelConfig> smoke_space(Dtype dtype, std::span<const Shape> shapes = {}) {
  std::vector<KernelConfig> configs = enumerate(load_space("smoke", configs_dir()), shapes).valid;
  std::erase_if(configs, [&](const KernelConfig& config) { return config.dtype != dtype; });
  return configs;
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

  std::optional<Gpu> device_;
};

}  // namespace hgemm::testing
