// What the compile tests share: stand-in kernels that compile in milliseconds, a cache folder that
// goes away, and the roles that a test program plays when it is run as its own child.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/child.h"
#include "compile/compiler.h"
#include "tests/support/temporary_folder.h"

namespace hgemm::test {

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// kernels/config.h as it is, and a stand-in for hgemm.cuh whose kernel does `body`.
class StandIn {
 public:
  explicit StandIn(const std::string& body = "*params.out = kConfig.bn;")
      : kernel_(fmt::format(R"(#include "config.h"
namespace hgemm {{
struct KernelParams {{ int* out; }};
template <KernelConfig kConfig>
__device__ void hgemm(const KernelParams& params) {{ {} }}
}})",
                            body)) {
    const auto config = std::ranges::find(embedded_kernels(), std::string_view("kernels/config.h"),
                                          &EmbeddedFile::path);
    files_ = {*config, {"kernels/hgemm.cuh", kernel_}};
  }
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  std::span<const EmbeddedFile> files() const { return files_; }

 private:
  std::string kernel_;
  std::vector<EmbeddedFile> files_;
};

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
  std::vector<Build> builds;  ///< in the order of the configs
  CompileCounts counts;
};
inline Outcome compile(const std::vector<KernelConfig>& configs, const CompileOptions& options) {
  Outcome outcome;
  std::vector<Build> done;
  outcome.counts = compile_all(configs, options, [&](Build b) { done.push_back(std::move(b)); });
  EXPECT_EQ(done.size(), configs.size());
  for (const KernelConfig& config : configs) {
    const auto found = std::ranges::find(done, config, &Build::config);
    if (found == done.end()) {
      ADD_FAILURE() << "a config was not reported";
    } else {
      outcome.builds.push_back(*found);
    }
  }
  return outcome;
}

}  // namespace hgemm::test
