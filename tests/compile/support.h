// What the compile tests share: stand-in kernels that compile in milliseconds, a cache folder that
// goes away, and the roles that a test program plays when it is run as its own child.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/child.h"
#include "compile/compiler.h"
#include "compile/cubin.h"
#include "families/family.h"
#include "families/gemv/family.h"
#include "families/swap_ab/family.h"
#include "families/tiled/family.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The kernel files as they are, but for the kernels themselves: stand-ins of every family, which
/// do `body`. It knows `kKernel` and writes to `out`.
class StandIn {
 public:
  explicit StandIn(const std::string& body = "*out = kKernel.bn;")
      : texts_{kernel<TiledConfig>(body), kernel<SwapAbConfig>(body), kernel<GemvConfig>(body)} {
    for (const EmbeddedFile& file : embedded_kernels()) {
      if (!file.path.ends_with("/kernel.cuh")) files_.push_back(file);
    }
    files_.push_back({"kernels/tiled/kernel.cuh", texts_[0]});
    files_.push_back({"kernels/swap_ab/kernel.cuh", texts_[1]});
    files_.push_back({"kernels/gemv/kernel.cuh", texts_[2]});
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  std::span<const EmbeddedFile> files() const { return files_; }

 private:
  template <class Config>
  static std::string kernel(const std::string& body) {
    using F = Family<Config>;
    return fmt::format(R"(#include "common/params.h"
#include "{}/config.h"
namespace hgemm {{
template <{} kKernel>
__device__ void {}(const KernelParams& params) {{
  [[maybe_unused]] int* const out = static_cast<int*>(params.d_pointer);
  {}
}}
}})",
                       F::kName, F::kKernelType, F::kFunction, body);
  }

  std::array<std::string, 3> texts_;
  std::vector<EmbeddedFile> files_;
};

/// Made for bf16 problems, whose extents are given at launch.
inline Kernel kernel_of(const KernelConfig& config) { return kernel_for(config, GemmProblem{}); }
inline std::vector<Kernel> kernels_of(std::span<const KernelConfig> configs) {
  std::vector<Kernel> kernels;
  for (const KernelConfig& config : configs) kernels.push_back(kernel_of(config));
  return kernels;
}

/// Every `parts`-th of what would take two cores minutes to compile. Which ones depends on
/// `sources`, so that a series of changes sees all of them. HGEMM_TUNE_COMPILE_ALL=1: all at once.
template <typename T>
std::vector<T> in_turn(std::vector<T> all, std::size_t parts,
                       std::span<const EmbeddedFile> sources) {
  if (std::getenv("HGEMM_TUNE_COMPILE_ALL") != nullptr) return all;
  std::vector<T> some;
  const std::size_t first = std::stoul(kernel_source_hash(sources).substr(0, 4), nullptr, 16);
  for (std::size_t i = first % parts; i < all.size(); i += parts) some.push_back(all[i]);
  return some;
}

struct Outcome {
  std::vector<Build> builds;  ///< in the order of the kernels
  CompileCounts counts;
};
inline Outcome compile(const std::vector<Kernel>& kernels, const CompileOptions& options) {
  Outcome outcome;
  std::vector<Build> done;
  outcome.counts = compile_all(kernels, options, [&](Build b) { done.push_back(std::move(b)); });
  EXPECT_EQ(done.size(), kernels.size());
  for (const Kernel& kernel : kernels) {
    const auto found = std::ranges::find(done, kernel, &Build::kernel);
    if (found == done.end()) {
      ADD_FAILURE() << build_name(kernel) << " was not reported";
    } else {
      outcome.builds.push_back(*found);
    }
  }
  return outcome;
}

inline bool moves_registers(const Kernel& kernel) {
  const auto* const tiled = std::get_if<TiledKernel>(&kernel);
  return tiled && hgemm::moves_registers(*tiled);
}

/// Without a spill or a warning about wgmma (Build::status), with registers and shared memory for
/// them.
inline void expect_all_compile(const std::vector<Kernel>& kernels) {
  ASSERT_FALSE(kernels.empty());
  const TemporaryFolder cache;
  const Outcome outcome = compile(kernels, {cache.path(), 0, std::chrono::seconds(60), {}});
  for (const Build& build : outcome.builds) {
    SCOPED_TRACE(build.facts.name);
    EXPECT_EQ(build.status, Status::kOk) << build.message;
    EXPECT_EQ(build.facts.spill_bytes, 0);
    if (build.status != Status::kOk) continue;
    EXPECT_GT(build.facts.registers, 0);
    const int at_entry = std::visit([](const auto& k) { return entry_registers(k); }, build.kernel);
    EXPECT_LE(build.facts.registers, at_entry);
    // setmaxnreg moves registers from what the CTA starts with, so it must start with all of them.
    if (moves_registers(build.kernel)) {
      EXPECT_EQ(build.facts.registers, at_entry);
    }
    EXPECT_LE(build.facts.static_smem_bytes + build.facts.dynamic_smem_bytes,
              DeviceLimits{}.smem_bytes_per_cta);
    EXPECT_EQ(read_file(build.cubin.path).substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(build.facts.kernel_id, code_hash(read_file(build.cubin.path)));
  }
}

/// Tiled and swap-AB configs at the limits of their registers, and one of each way to share work
/// and to store.
inline std::vector<KernelConfig> configs_of_every_kind() {
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
      TiledConfig{.bm = 64, .bn = 8, .consumers = 1, .scheduler = kClusterSplitK, .splits = 4},
      TiledConfig{.bn = 64, .bk = 128, .stages = 2, .mma_depth = 0, .ctas_per_sm = 1, .pdl = true},
      TiledConfig{.bn = 104, .cluster_n = 8, .pdl = true, .hold = true, .fixed = true},
      SwapAbConfig{.bm = 16, .bn = 64, .bk = 128, .splits = 2, .pdl = true},
      SwapAbConfig{.bm = 256, .bn = 64, .stages = 2, .mma_depth = 0},
      SwapAbConfig{.bm = 72, .bn = 192, .pdl = true, .late = true}};
}

}  // namespace hgemm::test
